package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestNamesOfTheFile shows hosts by a file that has other names for them than they report, and that has one host that
// has not come.
func TestNamesOfTheFile(t *testing.T) {
	here(t)
	text := strings.Replace(clusterYAML, "node-1\n", "alpha\n", 1) + `  - {name: beta, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
  - {name: gamma, role: control-plane, match: {mac: "52:54:00:00:00:10"}}
`
	text = strings.Replace(text, "{machine: [192.168.10.0/24]}", "{machine: [192.168.10.0/24], vips: {api: [192.168.10.2], ingress: [192.168.10.3]}}", 1)
	must.Do(t, os.WriteFile("cluster.yaml", []byte(text), 0o600))
	tests := map[string]string{
		"get hosts -f cluster.yaml": "NAME    ROLE            STATE     STAGE   %\n" +
			"alpha   control-plane   Blocked   -       -\nbeta    control-plane   Absent    -       -\ngamma   control-plane   Blocked   -       -\n",
		"get hosts -f cluster.yaml -o name":                                    "host/alpha\nhost/beta\nhost/gamma\n",
		"get hosts lab -o name":                                                "host/node-1\nhost/node-10\n",
		"describe cluster -f cluster.yaml -o jsonpath={.detail.hosts[*].name}": "alpha beta gamma",
		"get validations -f cluster.yaml -o jsonpath={.items[*].host}":         "alpha alpha gamma gamma",
	}
	for line, want := range tests {
		t.Run(line, func(t *testing.T) {
			got := run(t, lab(), "", strings.Fields(line)...)
			if got.code != 0 || got.errors != "" {
				t.Errorf("code %d, stderr %q", got.code, got.errors)
			}
			check.Same(t, want, got.out)
		})
	}
	t.Run("a machine that is no host of the file keeps its own name", func(t *testing.T) {
		service := lab()
		service.hosts[1].Inventory.Interfaces[0].MAC = "52:54:00:00:00:99"
		if got := run(t, service, "", "get", "hosts", "-f", "cluster.yaml", "-o", "name"); got.out != "host/alpha\nhost/beta\nhost/gamma\nhost/node-10\n" {
			t.Errorf("%+v", got)
		}
	})
}

// TestRoleOfTheFile: until a host has its role, that of the file stands in lists, and
// not what the service would choose.
func TestRoleOfTheFile(t *testing.T) {
	here(t)
	service := lab()
	service.hosts[0].Role, service.hosts[0].Suggested = spec.Auto, spec.Worker
	if got := run(t, service, "", "get", "hosts", "-f", "cluster.yaml", "-o", "jsonpath={.items[0].role}"); got.out != "control-plane" {
		t.Errorf("%+v", got)
	}
	if got := run(t, service, "", "get", "hosts", "lab", "-o", "jsonpath={.items[0].role}"); got.out != "worker" {
		t.Errorf("%+v", got)
	}
}

// TestDeleteLeavesABorrowedInfraEnv deletes a cluster whose file takes its
// hosts from an InfraEnv that is not its own, though it is called so.
func TestDeleteLeavesABorrowedInfraEnv(t *testing.T) {
	here(t)
	text := strings.Replace(clusterYAML, "  network:", "  infraEnv: {ref: lab-2}\n  network:", 1)
	must.Do(t, os.WriteFile("cluster.yaml", []byte(text), 0o600))
	service := lab()
	service.infraEnvs = append(service.infraEnvs, model.InfraEnv{ID: "e3", Name: "lab-2", Owned: true})
	got := run(t, service, "", "delete", "cluster", "-f", "cluster.yaml", "--yes")
	if diff := cmp.Diff([]string{"delete cluster c1", "delete infraenv e1"}, service.calls); got.code != 0 || diff != "" {
		t.Errorf("%+v\n%s", got, diff)
	}
}
