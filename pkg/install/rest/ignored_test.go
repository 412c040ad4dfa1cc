package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// Validations that the file has ignored are written once: the cluster does not show
// them, and they are read by themselves, as often as they were written.
func TestIgnoredValidationsConverge(t *testing.T) {
	cluster := loadExample(t, "sno")
	cluster.Spec.IgnoreValidations.Hosts = []string{"ntp-synced"}
	fast := clock.Scaled(1200)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	wire, files := &wireCount{}, &memoryFiles{}
	for run, puts := range []int{1, 0} {
		plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: &http.Client{Transport: wire}})
		if err != nil {
			t.Fatal(err)
		}
		result, err := install.New(plane, install.Config{Clock: fast, Files: files}).Run(t.Context(), &model.Desired{Spec: cluster})
		if err != nil || result.Verdict != model.VerdictInstalled {
			t.Fatalf("run %d: verdict %q, error %v", run, result.Verdict, err)
		}
		if len(result.Plan.Warnings) > 0 {
			t.Errorf("run %d: %+v", run, result.Plan.Warnings)
		}
		_, writes, by := wire.take()
		if run == 1 && slices.ContainsFunc(writes, func(w string) bool { return !strings.Contains(w, "/events") }) {
			t.Errorf("the second run wrote %v", writes)
		}
		if got := by["PUT clusters/*/ignored-validations"]; got != puts {
			t.Errorf("run %d: written %d times", run, got)
		}
		if got := by["GET clusters/*/ignored-validations"]; got < 1 || got > 3 {
			t.Errorf("run %d: read %d times", run, got)
		}
	}
}
