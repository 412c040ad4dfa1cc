package rest

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
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
	if err := plane.Act(t.Context(), desired(t), install.Action{Kind: install.StartInstall, Target: clusterID}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > megabytes/4 {
		t.Errorf("an answer of %d MiB took %d MiB", megabytes, took)
	}
}

// TestAnEndlessAnswer is given up.
func TestAnEndlessAnswer(t *testing.T) {
	f := newFake(t)
	f.on("GET /v2/clusters", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		piece := `{},` + strings.Repeat(" ", 1<<20)
		_, err := io.WriteString(w, "[")
		for err == nil {
			_, err = io.WriteString(w, piece)
		}
	})
	if _, err := f.plane(t).ListClusters(t.Context()); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("ListClusters: %v", err)
	}
}
