package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// bmcYAML makes the host of clusterYAML boot through a BMC.
const bmcYAML = clusterYAML + `    bmc: {address: "http://192.0.2.11", credentials: {username: root, password: {file: bmc-password}}}
`

// booted makes the folder of a cluster whose host was booted through its BMC,
// and returns the URL of a proxy that does not answer.
func booted(t *testing.T) string {
	t.Helper()
	here(t)
	for name, text := range map[string]string{"cluster.yaml": bmcYAML, "bmc-password": "secret"} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	must.Do(t, os.Mkdir("lab", 0o700))
	must.Get(serve.LoadKey(app.MediaKeyFile("lab")))(t)
	return "http://127.0.0.1:1" // where nothing listens
}

// TestDeleteEjectsFirst checks that a cluster is kept as long as its images are in drives that cannot be reached,
// unless it is deleted by its name.
func TestDeleteEjectsFirst(t *testing.T) {
	for name, c := range map[string]struct {
		arguments []string
		status    string // of the cluster, "" for one that is gone
		keyless   bool
		code      int
		calls     []string
		says      []string
	}{
		"unreachable": {
			[]string{"-f", "cluster.yaml"}, "ready", false, 1, nil,
			[]string{"clear the virtual drives of lab.example.com: eject the discovery image of node-1: ", "; nothing was deleted\n", "Next: check --bmc-proxy, ", "run oaictl delete cluster lab\n"},
		},
		"by its name": {
			[]string{"lab"}, "ready", false, 0, []string{"delete cluster c1", "delete infraenv e1"}, []string{"To eject them, oaictl needs the addresses of the BMCs: -f FILE"},
		},
		"being installed": { // the service's answer comes first
			[]string{"-f", "cluster.yaml"}, "installing", false, 1, []string{"delete cluster c1", "delete infraenv e1"}, []string{"clear the virtual drives of"},
		},
		"no key": {
			[]string{"-f", "cluster.yaml"}, "ready", true, 0, []string{"delete cluster c1", "delete infraenv e1"}, []string{"No discovery image was ejected"},
		},
		"gone, unreachable": {
			[]string{"-f", "cluster.yaml"}, "", false, 1, nil, []string{"clear the virtual drives of lab.example.com: ", "Next: check --bmc-proxy, "},
		},
		"gone, no key": {
			[]string{"-f", "cluster.yaml"}, "", true, 5, nil, []string{"No discovery image was ejected", "there is none that oaictl made, and nothing was deleted"},
		},
		"gone, by its name": {[]string{"lab"}, "", false, 5, nil, []string{"the service has none of that name"}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := booted(t)
			if c.keyless {
				must.Do(t, os.Remove(filepath.Join("lab", "media.key")))
			}
			service := lab()
			service.clusters[0].Status = c.status
			if c.status == "" {
				service.clusters = service.clusters[1:]
			}
			got := run(t, service, "", append([]string{"delete", "cluster", "--yes", "--bmc-proxy", proxy}, c.arguments...)...)
			if diff := cmp.Diff(c.calls, service.calls); got.code != c.code || diff != "" {
				t.Errorf("ends with %d, not %d: %s\n%s", got.code, c.code, got.errors, diff)
			}
			for _, words := range c.says {
				check.Contains(t, got.errors, words, "does not say")
			}
		})
	}
}

// TestEjectOfGoneAsks touches no BMC for a cluster that is gone before the user has said yes.
func TestEjectOfGoneAsks(t *testing.T) {
	proxy := booted(t)
	service := lab()
	service.clusters = nil
	got := run(t, service, "", "delete", "cluster", "-f", "cluster.yaml", "--bmc-proxy", proxy)
	if got.code != 2 || !strings.Contains(got.errors, "eject the discovery images of cluster lab.example.com") {
		t.Errorf("%+v", got)
	}
}

// TestNothingToEndEjects: where no install runs that could be cancelled or reset,
// images are taken out of the drives all the same; where one runs, they stay.
func TestNothingToEndEjects(t *testing.T) {
	for _, c := range []struct {
		verb, status string
		looks        bool
		says         string
	}{
		{"cancel", "insufficient", true, "its install has not begun, so there is nothing to cancel (the service calls it insufficient)"},
		{"cancel", "error", true, "the install has ended, so there is nothing to cancel (the service calls it error)"},
		{"cancel", "installed", false, "the install is done, so there is nothing to cancel (the service calls it installed)"},
		{"reset", "ready", true, "its install has not begun, so there is nothing to reset (the service calls it ready)"},
		{"reset", "installing", false, "the install runs (the service calls it installing)"},
	} {
		t.Run(c.verb+" "+c.status, func(t *testing.T) {
			proxy := booted(t)
			service := lab()
			service.clusters[0].Status = c.status
			refused := &model.Fault{Code: model.CodeFailure, Status: 409, Op: c.verb, On: "c1", Err: errors.New("in a wrong state")}
			service.refuses = map[string]error{c.verb + " c1": refused}
			got := run(t, service, "", c.verb, "-f", "cluster.yaml", "--yes", "--bmc-proxy", proxy)
			if looks := strings.Contains(got.errors, "clear the virtual drives of lab.example.com"); looks != c.looks {
				t.Errorf("looks at the drives: %v, not %v", looks, c.looks)
			}
			if got.code != 1 || !strings.Contains(got.errors, c.says) {
				t.Errorf("ends with %d and does not say %q:\n%s", got.code, c.says, got.errors)
			}
		})
	}
}

// TestAfterCancel: a cluster that was still being prepared is ready again, and cannot be reset.
func TestAfterCancel(t *testing.T) {
	for status, next := range map[string]string{
		"preparing-for-installation": "Next: to go on, run oaictl create cluster -f FILE; to give it up, run oaictl delete cluster lab\n",
		"installing":                 "Next: oaictl reset cluster lab\n",
	} {
		service := lab()
		service.clusters[0].Status = status
		if got := run(t, service, "", "cancel", "lab", "--yes"); got.code != 0 || !strings.HasSuffix(got.errors, next) {
			t.Errorf("%s: %+v", status, got)
		}
	}
}
