package agentmedia

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
)

type stepFunc = func(*Client, context.Context) (Result, error)

// TestInstall takes a medium through all of its steps, each of them twice.
func TestInstall(t *testing.T) {
	m := newMedium(t, auth.None)
	m.put("extra/50-motd.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: motd}\n")
	m.put("extra/notes.txt", "not a manifest")
	m.put("hostconfig/master-0/mac_addresses", "52:54:00:AA:00:01\n")
	m.put("hostconfig/master-0/role", "master\n")
	m.put("hostconfig/master-0/root-device-hints.yaml", "deviceName: /dev/sda\n")
	m.put("hostconfig/master-1/mac_addresses", "52:54:00:00:00:99\n52:54:00:aa:00:02\n")

	cluster := m.must((*Client).RegisterCluster, "registered")
	if got := m.read("etc/client_config"); got != "CLUSTER_ID="+cluster.ID+"\n" {
		t.Errorf("the client's file holds %q", got)
	}
	m.quiet((*Client).RegisterCluster)

	infraEnv := m.must((*Client).RegisterInfraEnv, "registered")
	if got := m.read("etc/client_config"); got != "INFRA_ENV_ID="+infraEnv.ID+"\n" {
		t.Errorf("the client's file holds %q", got)
	}
	m.quiet((*Client).RegisterInfraEnv)
	m.quiet((*Client).RegisterCluster)
	if got, want := m.read("etc/client_config"), "CLUSTER_ID="+cluster.ID+"\nINFRA_ENV_ID="+infraEnv.ID+"\n"; got != want {
		t.Errorf("the client's file holds %q, want %q", got, want)
	}
	bound := m.raw("/infra-envs")[0]
	if bound["cluster_id"] != cluster.ID {
		t.Errorf("the InfraEnv is of cluster %v", bound["cluster_id"])
	}

	m.boot(host.Day1)
	m.must((*Client).Configure, "configured")
	if _, err := os.Stat(m.env.Failures); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of failures is still there: %v", err)
	}
	m.quiet((*Client).Configure)
	m.must((*Client).StartInstall, "started")
	m.quiet((*Client).StartInstall)
	m.quiet((*Client).RegisterCluster)
	status, err := m.client().Status(t.Context())
	if err != nil || status.Trouble() != nil || status.Cluster.ID != cluster.ID || len(status.Hosts) != 3 {
		t.Errorf("status %+v, %v", status, err)
	}
	for _, line := range m.told {
		if strings.Contains(line, "dXNlcjpwYXNz") {
			t.Errorf("the pull secret is told: %s", line)
		}
	}
}

// TestKilledBetweenWrites ends the process around every write of the first two
// steps, and has a second process finish.
func TestKilledBetweenWrites(t *testing.T) {
	steps := map[string]stepFunc{"cluster": (*Client).RegisterCluster, "infraenv": (*Client).RegisterInfraEnv}
	for number := 1; number <= 5; number++ {
		for name, delivered := range map[string]bool{"before": false, "after": true} {
			t.Run(fmt.Sprintf("%s write %d", name, number), func(t *testing.T) {
				t.Parallel()
				m := newMedium(t, auth.None)
				m.put("extra/a.yaml", "a: 1\n")
				m.put("extra/b.yaml", "b: 1\n")
				ctx, kill := context.WithCancelCause(t.Context())
				killed := errors.New("killed")
				m.wire.trouble = func(n int) (bool, error) {
					if n != number {
						return true, nil
					}
					kill(killed)
					return delivered, killed
				}
				for _, step := range []string{"cluster", "infraenv"} {
					if _, err := steps[step](m.client(), ctx); err != nil && !errors.Is(err, killed) {
						t.Fatal(err)
					}
				}
				if context.Cause(ctx) == nil {
					t.Fatalf("there were not %d writes", number)
				}
				m.wire.trouble = nil
				for _, step := range []string{"cluster", "infraenv"} {
					if _, err := steps[step](m.client(), t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				m.quiet((*Client).RegisterCluster)
				m.quiet((*Client).RegisterInfraEnv)
				clusters, infraEnvs := m.raw("/clusters"), m.raw("/infra-envs")
				if len(clusters) != 1 || len(infraEnvs) != 1 || infraEnvs[0]["cluster_id"] != clusters[0]["id"] {
					t.Errorf("%d clusters and %d InfraEnvs", len(clusters), len(infraEnvs))
				}
				if !strings.Contains(fmt.Sprint(clusters[0]["install_config_overrides"]), "fips") {
					t.Errorf("the cluster has the overrides %v", clusters[0]["install_config_overrides"])
				}
			})
		}
	}
}

// TestUnansweredWrites loses answers on the way and goes on in the same process.
func TestUnansweredWrites(t *testing.T) {
	m := newMedium(t, auth.None)
	m.wire.trouble = func(n int) (bool, error) {
		if n == 1 || n == 3 {
			return true, errors.New("connection reset by peer")
		}
		return true, nil
	}
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
	if c, e := m.raw("/clusters"), m.raw("/infra-envs"); len(c) != 1 || len(e) != 1 {
		t.Errorf("%d clusters, %d InfraEnvs", len(c), len(e))
	}
}
