package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestForeignAnswersWithinARun: what answers in place of the service, in the middle of an installation, is named with its
// address at once. A run puts up with it for ten minutes and not until its time is up.
func TestForeignAnswersWithinARun(t *testing.T) {
	cluster, page := "GET /v2/clusters/"+clusterID, "<html><title>Sign in</title></html>"
	for _, test := range []struct{ path, answer, want string }{
		{cluster, "null", "the answer is null"}, {cluster, "{}", "it has no id or status"}, {cluster, "[]", "not what the service sends"},
		{cluster, page, "Sign in"},
		{cluster + "/hosts", "null", "the answer is null"}, {cluster + "/hosts", "{}", "it has no id or status"},
		{cluster + "/hosts", "[{}]", "it has no id or status"}, {"GET /v2/infra-envs", "null", "the answer is null"},
	} {
		for name, brief := range map[string]bool{"for good": false, "for a while": true} {
			t.Run(test.path+" "+test.answer+" "+name, func(t *testing.T) {
				w := newWorld(t, 1)
				w.cluster["status"] = "installing"
				w.mu.Lock()
				right := w.answers[test.path]
				w.mu.Unlock()
				began, warnings, again := w.clock.Now(), []string(nil), false
				report := func(e model.Event) {
					switch {
					case e.Reason == "ServiceUnreachable":
						warnings = append(warnings, e.Message+" "+e.Next.String())
						if brief {
							w.on(test.path, right)
						}
					case e.Reason == "ServiceAnswers":
						again = true
					case e.Reason == "NothingNew" && len(warnings) == 0:
						w.on(test.path, with(200, test.answer))
					}
				}
				c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
				c.Spec.BaseDomain = "example.com"
				client := install.New(w.plane(t), install.Config{Clock: w.clock, Timeout: 2 * time.Hour, UserTimeout: -1, Events: report})
				_, err := client.Run(t.Context(), &model.Desired{Spec: c, Options: model.Options{Run: "r1"}})
				after := w.clock.Now().Sub(began)
				if len(warnings) != 1 || !strings.Contains(warnings[0], w.URL) || !strings.Contains(warnings[0], test.want) ||
					!strings.Contains(warnings[0], "--service-url") {
					t.Errorf("told: %q", warnings)
				}
				if brief {
					if !again || model.FaultOf(err).Code != model.CodeTimeout {
						t.Errorf("it answers again: %v, and the run ends after %s with %v", again, after, err)
					}
					return
				}
				if model.FaultOf(err).Code != model.CodeFailure || after < 10*time.Minute || after > 40*time.Minute {
					t.Errorf("ends with %d after %s", model.FaultOf(err).Code, after)
				}
				for _, want := range []string{w.URL, test.want, "the installation goes on without oaictl"} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v lacks %q", err, want)
					}
				}
				next := model.FaultOf(err).Next.String()
				if !strings.Contains(next, "--service-url "+w.URL) || !strings.Contains(next, "run the same command again") {
					t.Errorf("next: %s", next)
				}
			})
		}
	}
}

// TestForeignAnswersAfterSilence: only answers in a row that are not the service's count. A service that was silent for
// long, and that a proxy answers for while it starts, ends no run.
func TestForeignAnswersAfterSilence(t *testing.T) {
	path := "GET /v2/clusters/" + clusterID
	w := newWorld(t, 1)
	w.cluster["status"] = "installing"
	began, right := w.clock.Now(), w.answers[path]
	w.on(path, func(out http.ResponseWriter, r *http.Request) {
		switch after := w.clock.Now().Sub(began); {
		case after >= 5*time.Minute && after < 25*time.Minute:
			with(503, "starting")(out, r)
		case after >= 25*time.Minute && after < 30*time.Minute:
			with(200, "null")(out, r)
		default:
			right(out, r)
		}
	})
	c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
	c.Spec.BaseDomain = "example.com"
	client := install.New(w.plane(t), install.Config{Clock: w.clock, Timeout: 2 * time.Hour, UserTimeout: -1})
	_, err := client.Run(t.Context(), &model.Desired{Spec: c, Options: model.Options{Run: "r1"}})
	if after := w.clock.Now().Sub(began); model.FaultOf(err).Code != model.CodeTimeout || after < 2*time.Hour {
		t.Errorf("the run ends with %v after %s", err, after)
	}
}
