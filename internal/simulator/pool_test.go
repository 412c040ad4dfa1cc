package simulator_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestLateBinding installs hosts of a pool: one that oaictl makes, and one that
// was there before and that the file refers to.
func TestLateBinding(t *testing.T) {
	for _, ref := range []string{"", "rack-7"} {
		t.Run("ref "+ref, func(t *testing.T) {
			t.Parallel()
			cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", "compact", "cluster.yaml"), spec.OSEnv())
			if err != nil {
				t.Fatal(err)
			}
			cluster.Spec.InfraEnv = spec.InfraEnv{Bind: spec.BindLate, Ref: ref}
			time := clock.Scaled(1200)
			s, err := simulator.Start(t.Context(), simulator.Config{Clock: time, Seed: 1, Cluster: cluster})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if ref != "" {
				call(t, http.MethodPost, s.URL()+"/api/assisted-install/v2/infra-envs", map[string]any{
					"name": ref, "openshift_version": "4.20", "pull_secret": cluster.PullSecret().Reveal(),
				})
			}
			plane, err := rest.New(rest.Config{URL: s.URL(), Clock: time})
			if err != nil {
				t.Fatal(err)
			}
			_, err = install.New(plane, install.Config{Clock: time}).Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "abc123"}})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
