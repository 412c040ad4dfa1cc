package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// crowded is a service whose names, ids and texts are as long as those of a real one.
func crowded() *fake {
	const cluster, image = "0f7f3d0e-93f6-4a2f-8a9e-1f7f9b6f2f11", "a3f0c7de-6d3a-4f4b-9d5b-25fe6f9d2a10"
	service := lab()
	c := &service.clusters[0]
	c.ID, c.Name, c.BaseDomain, c.Version, c.State = cluster, "datacenter-7", "bare.metal.example.com", "4.20.0-rc.12", model.ClusterFinalizing
	c.StatusInfo = "Waiting for the cluster operators to be available and for the console to answer"
	e := &service.infraEnvs[0]
	e.ID, e.ClusterID, e.Name = image, cluster, "datacenter-7"
	e.Image.Expires, e.Image.Created = noon().Add(time.Hour), noon()
	for i := range service.hosts {
		h := &service.hosts[i]
		h.ID, h.ClusterID, h.InfraEnvID = strings.Repeat("d", 35)+string(rune('0'+i)), cluster, image
		h.Hostname, h.Role, h.State, h.Bootstrap = "control-plane-"+string(rune('0'+i)), spec.ControlPlane, model.HostInstalling, true
		h.Progress = model.HostProgress{Stage: "Waiting for control plane", Info: "waiting for the other machines of the control plane to join", Percent: 45}
		h.StatusInfo = "Installation is in progress, and takes longer than it usually does on this machine"
		h.Validations = append(h.Validations, model.Validation{
			ID: "sufficient-network-latency-requirement-for-role", Category: "network", Status: "failure",
			Message: "Network latency requirements are not met for the hosts control-plane-0, control-plane-1 and control-plane-2: 140 ms",
		})
	}
	for i := range service.events {
		service.events[i].Message = "Host control-plane-0: updated status from installing to installing-in-progress (Waiting for control plane)"
	}
	service.machines = []machinecause.Machine{{
		Namespace: "clusters", Name: "datacenter-7-control-plane-x7k2p", Cluster: "clusters/datacenter-7", Phase: "Provisioning", Host: &service.hosts[0],
	}}
	return service
}

// TestTablesFitAScreen holds every list to 80 columns, as long as a name is no longer than a person gives.
func TestTablesFitAScreen(t *testing.T) {
	var lines []string
	root := rootCommand(app.New(app.Identify([]string{"oaictl"}), streams.Streams{}, streams.Env{}))
	group, _, err := root.Find([]string{"get"})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range group.Commands() {
		if strings.Contains(list.Use, "[CLUSTER|ID") || !strings.Contains(list.Use, "CLUSTER|ID") {
			if list.Name() != "events" {
				lines = append(lines, "get "+list.Name())
			}
		}
		if strings.Contains(list.Use, "CLUSTER") || list.Name() == "clusters" {
			lines = append(lines, "get "+list.Name()+" datacenter-7")
		}
	}
	if len(lines) < 8 {
		t.Fatalf("only %q", lines)
	}
	for _, kind := range explain.Kinds() {
		lines = append(lines, "explain "+string(kind))
	}
	for _, line := range lines {
		got := run(t, crowded(), "", strings.Fields(line)...)
		if got.code != 0 || strings.Count(got.out, "\n") < 2 {
			t.Errorf("%s: %+v", line, got)
		}
		for row := range strings.Lines(got.out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(row, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", line, n, row)
			}
		}
	}
	// What a table cuts, or has no column for, -o wide shows whole.
	for line, words := range map[string][]string{
		"get clusters -o wide":                 {"0f7f3d0e-93f6-4a2f-8a9e-1f7f9b6f2f11", "bare.metal.example.com", "CREATED", "until the console", "STATUS"},
		"get hosts -o wide":                    {"control-plane (bootstrap)", "waiting for the other machines of the control plane to join", "SINCE", "CLUSTER"},
		"get nodes datacenter-7 -o wide":       {"CONFIG", "REQUESTS", "VERSION", "CREATED"},
		"get infraenvs -o wide":                {"MADE", "ARCH", "0f7f3d0e-93f6-4a2f-8a9e-1f7f9b6f2f11"},
		"get validations datacenter-7 -o wide": {"control-plane-0, control-plane-1 and control-plane-2: 140 ms", "CATEGORY"},
		"get events datacenter-7 -o wide":      {"installing-in-progress (Waiting for control plane)"},
	} {
		got := run(t, crowded(), "", strings.Fields(line)...)
		for _, word := range words {
			if word == "until the console" {
				word = "for the console to answer"
			}
			if !strings.Contains(got.out, word) {
				t.Errorf("%s does not say %q:\n%s", line, word, got.out)
			}
		}
	}
}

// nodesFile writes a file of kind Nodes with one host for the cluster that the service calls so.
func nodesFile(t *testing.T, cluster string) string {
	t.Helper()
	text := `apiVersion: oaictl.io/v1alpha1
kind: Nodes
spec:
  cluster: ` + cluster + `
  hosts:
  - {name: spare, role: worker, match: {mac: "52:54:00:00:00:10"}}
  - {name: later, role: worker, match: {mac: "52:54:00:00:00:20"}}
`
	must.Do(t, os.WriteFile("nodes.yaml", []byte(text), 0o600))
	return "nodes.yaml"
}

// TestVerbsTakeNodesFile: where a verb is about a cluster, a file with hosts for it names it as well as its own file,
// and names its hosts.
func TestVerbsTakeNodesFile(t *testing.T) {
	here(t)
	nodesFile(t, "lab")
	for line, words := range map[string][]string{
		"get hosts -f nodes.yaml -o name":                                   {"host/spare", "host/later", "host/node-1"},
		"get hosts -f nodes.yaml":                                           {"later", "Absent"},
		"get nodes -f nodes.yaml -o name":                                   {"node/spare", "node/later"},
		"get clusters -f nodes.yaml -o name":                                {"cluster/lab"},
		"get validations -f nodes.yaml":                                     {"spare"},
		"get events -f nodes.yaml":                                          {"one"},
		"describe -f nodes.yaml":                                            {"c1", "spare"},
		"describe host spare -f nodes.yaml":                                 {"52:54:00:00:00:10"},
		"why -f nodes.yaml":                                                 {"lab.example.com is Blocked"},
		"why host spare -f nodes.yaml":                                      {"node-10 is Blocked", "lab.example.com is blocked"},
		"download iso -f nodes.yaml --url":                                  {"http://images/e1"},
		"download kubeconfig -f nodes.yaml --to -":                          {"kubeconfig of c1"},
		"logs -f nodes.yaml --to -":                                         {"logs of c1"},
		"logs host spare -f nodes.yaml --to -":                              {"logs of c1 h10"},
		"plan -f nodes.yaml":                                                {"lab.example.com: "},
		"wait -f nodes.yaml --for hosts=2 -o jsonpath={.cluster}":           {"lab"},
		"remove-node node-1 -f nodes.yaml --dry-run -o jsonpath={.verdict}": {""},
	} {
		got := run(t, lab(), "", strings.Fields(line)...)
		if got.code != 0 && !strings.HasPrefix(line, "remove-node") || strings.Contains(got.errors, "kind") {
			t.Errorf("%s: %d %s", line, got.code, got.errors)
		}
		for _, word := range words {
			if !strings.Contains(got.out, word) {
				t.Errorf("%s does not say %q:\n%s", line, word, got.out)
			}
		}
	}
	if got := run(t, lab(), "", "approve", "spare", "-f", "nodes.yaml"); strings.Contains(got.errors, "kind") || strings.Contains(got.errors, "no host") {
		t.Errorf("approve: %+v", got)
	}
	// A file with hosts for a cluster says nothing about the cluster: no verb that changes the whole of it takes one.
	for _, line := range []string{"delete cluster -f nodes.yaml --yes", "cancel -f nodes.yaml --yes", "reset -f nodes.yaml --yes"} {
		service := lab()
		got := run(t, service, "", strings.Fields(line)...)
		if got.code != 3 || !strings.Contains(got.errors, "Nodes") || slices.ContainsFunc(service.calls, func(c string) bool { return c != "" }) {
			t.Errorf("%s: %+v %q", line, got, service.calls)
		}
	}
	nodesFile(t, "elsewhere")
	if got := run(t, lab(), "", "why", "-f", "nodes.yaml"); got.code != 5 || !strings.Contains(got.errors, "elsewhere") {
		t.Errorf("a cluster that is not there: %+v", got)
	}
}
