package rest_test

import (
	"net/http"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// What the file overrides of InfraEnvs in the service's own words wins over what
// else it says, also when something else of the InfraEnv is changed later.
func TestInfraEnvOverridesStay(t *testing.T) {
	cluster := loadExample(t, "sno")
	cluster.Spec.Network.Defaults.NTP = []string{"a.example.com"}
	cluster.Spec.Overrides.InfraEnv = map[string]any{"additional_ntp_sources": "b.example.com"}
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
	wire := &wireCount{}
	plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: &http.Client{Transport: wire}})
	if err != nil {
		t.Fatal(err)
	}
	desired := &model.Desired{Spec: cluster}
	result, err := install.New(plane, install.Config{Clock: fast, Files: &memoryFiles{}}).Run(t.Context(), desired)
	if err != nil || result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q, error %v", result.Verdict, err)
	}
	if _, _, by := wire.take(); by["PATCH infra-envs/*"] != 0 {
		t.Errorf("the InfraEnv was written %d times after it was registered", by["PATCH infra-envs/*"])
	}
	if len(result.Plan.Warnings) > 0 {
		t.Errorf("told of %+v", result.Plan.Warnings)
	}
	env := result.Observed.InfraEnvs[0]
	err = plane.Act(t.Context(), desired, model.Action{
		Kind: model.UpdateInfraEnv, Target: env.ID, Name: env.Name,
		Settings: model.Settings{model.SettingExtraNTP: model.ValueOf([]string{"a.example.com"}), model.SettingKernelArguments: model.ValueOf([]string{"quiet"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	observed, err := plane.Observe(t.Context(), model.Query{ID: result.Observed.Cluster.ID, Detail: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := observed.InfraEnvs[0].Settings
	if now[model.SettingExtraNTP] != `["b.example.com"]` || now[model.SettingKernelArguments] != `["quiet"]` {
		t.Errorf("the InfraEnv has %v", now)
	}
}
