package rest

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestInstallAnswersWithAllThatHostsSaid starts an install of hundreds of hosts,
// to which the service answers with the whole cluster: that is a success, and
// takes no memory.
func TestInstallAnswersWithAllThatHostsSaid(t *testing.T) {
	const megabytes = 80
	f := newFake(t)
	f.on("POST /v2/clusters/"+clusterID+"/actions/install", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"hosts":["`)
		piece := strings.Repeat("x", 1<<20)
		for range megabytes {
			_, _ = io.WriteString(w, piece)
		}
		_, _ = io.WriteString(w, `"]}`)
	})
	plane := f.plane(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Do(t, plane.Act(t.Context(), desired(t), model.Action{Kind: model.StartInstall, Target: clusterID}))
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > megabytes/4 {
		t.Errorf("an answer of %d MiB took %d MiB", megabytes, took)
	}
}

// TestLargeAnswers are given up before they cost the machine its memory, and the error
// says what is wrong with them.
func TestLargeAnswers(t *testing.T) {
	thing := `{"id":"` + clusterID + `","status":"ready"},`
	endless := map[string][2]string{ // how they begin, and how they go on
		"one word":    {`[{"id":"`, strings.Repeat("x", 1<<16)},
		"many things": {`[`, strings.Repeat(thing, 1000)},
		"blanks":      {``, strings.Repeat(" ", 1<<16)},
	}
	for name, parts := range endless {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET /v2/clusters", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, err := io.WriteString(w, parts[0])
				for err == nil {
					_, err = io.WriteString(w, parts[1])
				}
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := f.plane(t).ListClusters(t.Context())
			runtime.ReadMemStats(&after)
			fault := faultOf(t, err)
			said := map[string]string{"one word": "larger than 16 MiB", "many things": "more than 20000 things", "blanks": "not JSON"}[name]
			if !strings.Contains(err.Error(), said) || !strings.Contains(fault.Next.String(), "--service-url "+f.URL) || fault.Permanent != (name != "blanks") {
				t.Errorf("%v; Next: %s", err, fault.Next)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 160 {
				t.Errorf("it took %d MiB", took)
			}
		})
	}
}

// TestAnswersOfNoService are errors that name the URL, and no empty lists.
func TestAnswersOfNoService(t *testing.T) {
	for _, answer := range []string{`null`, `{}`, `[null]`, `[{}]`, `{"items":[]}`, `true`} {
		f := newFake(t)
		f.on("GET /v2/clusters", with(200, answer))
		f.on("GET /v2/infra-envs", with(200, answer))
		f.on("GET /v2/clusters/"+clusterID, with(200, answer))
		f.on("POST /v2/clusters", with(201, answer))
		p := f.plane(t)
		_, lists := p.ListClusters(t.Context())
		_, envs := p.ListInfraEnvs(t.Context(), "")
		_, one := p.getCluster(t.Context(), clusterID)
		made := p.Act(t.Context(), desired(t), model.Action{Kind: model.RegisterCluster, Name: "lab"})
		for _, err := range []error{lists, envs, one, made} {
			if fault := faultOf(t, err); !strings.Contains(fault.Next.String(), "--service-url "+f.URL) && !strings.Contains(err.Error(), "is not what the service sends") {
				t.Errorf("%s: %v; Next: %s", answer, err, fault.Next)
			}
		}
	}
}
