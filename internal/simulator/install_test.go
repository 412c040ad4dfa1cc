package simulator_test

import (
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestLibraryInstalls runs the library against the simulator, as the command line does,
// on the platforms that need machines of their own, and a second time, which writes
// nothing. All examples, and machines that boot late, are tried in test/real.
func TestLibraryInstalls(t *testing.T) {
	for example, platform := range map[string]spec.PlatformType{"ha-workers": spec.VSphere, "disconnected": spec.Nutanix} {
		t.Run(example+"/"+string(platform), func(t *testing.T) {
			t.Parallel()
			installs(t, example, platform, simulator.Config{})
		})
	}
}

// TestOlderServices installs with releases of the service that lack what later ones
// have.
func TestOlderServices(t *testing.T) {
	for release, example := range map[string]string{"2.11": "compact", "2.12": "sno", "2.13": "compact", "2.15": "sno"} {
		t.Run(release+"/"+example, func(t *testing.T) {
			t.Parallel()
			played, err := versions.ParseServiceRelease(release)
			if err != nil {
				t.Fatal(err)
			}
			installs(t, example, "", simulator.Config{Release: played})
		})
	}
}

// installs runs an example to the end twice, on its own platform or another.
func installs(t *testing.T, example string, platform spec.PlatformType, config simulator.Config) {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", example, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	if platform != "" {
		cluster.Spec.Platform.Type = platform
	}
	fast := clock.Scaled(1200)
	config.Clock, config.Seed, config.Cluster = fast, 1, cluster
	s, err := simulator.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast})
	if err != nil {
		t.Fatal(err)
	}
	for run := range 2 {
		acted := 0
		_, err = install.New(plane, install.Config{Clock: fast, Files: install.Directory(t.TempDir()), Events: func(e model.Event) {
			if e.Type == model.EventAction {
				acted++
			}
			if e.Severity != model.SeverityInfo {
				t.Logf("%s %s %s %s", e.Time.Format("15:04:05"), e.Type, e.Host, e.Message)
			}
		}}).Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "abc123"}})
		if err != nil {
			t.Fatal(err)
		}
		if run == 1 && acted > 3 { // the results, in another folder
			t.Errorf("the second run acts %d times", acted)
		}
	}
}
