package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// machineOf is a Machine of a pool in namespace default, whose AgentMachine says what keeps it; host is the one that is
// reserved for it, nil for none.
func machineOf(name string, host *model.Host) machinecause.Machine {
	if host != nil {
		return machineWith(name, host, [3]string{"AgentValidated", "ValidationsFailing", host.Validations[1].Message})
	}
	return poolMachineThat(name, "2 Agents: 2 with too little memory")
}

// poolMachineThat is one without a host, with what its AgentMachine says of that.
func poolMachineThat(name, message string) machinecause.Machine {
	return machineWith(name, nil, [3]string{"AgentReserved", "NoSuitableAgents", message})
}

// machineWith has one condition of its AgentMachine that is False: type, reason and message.
func machineWith(name string, host *model.Host, says [3]string) machinecause.Machine {
	object := func(kind string, conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": kind, "metadata": map[string]any{"name": name, "namespace": "default"},
			"spec":   map[string]any{"clusterName": "lab", "infrastructureRef": map[string]any{"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": name}},
			"status": map[string]any{"phase": "Pending", "conditions": conditions},
		}}
	}
	condition := func(kind, status, reason, message string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	}
	agentMachine := object("AgentMachine", condition(says[0], "False", says[1], says[2]))
	var hosts []machinecause.Host
	if host != nil {
		hosts = []machinecause.Host{{Host: *host, Namespace: "default", AgentMachine: "default/" + name}}
	}
	return machinecause.Of(object("Machine", condition("Ready", "False", "NotReady", "")), func(_ string, ref machinecause.Ref) (*unstructured.Unstructured, bool) {
		return agentMachine, ref.Kind == "AgentMachine"
	}, hosts)
}

func TestWhyMachine(t *testing.T) {
	service := lab()
	other := machineOf("twice", nil)
	other.Namespace = "other"
	service.machines = []machinecause.Machine{machineOf("w-1", nil), machineOf("w-2", &service.hosts[0]), machineOf("twice", nil), other}
	for line, want := range map[string]struct {
		code        int
		out, errors string
	}{
		"why machine w-1": {0, `Machine default/w-1 is Pending: 1 thing in the way.
It has no host yet.

1. AgentMachine w-1: 2 Agents: 2 with too little memory
   Check: kubectl -n default describe agentmachine.capi-provider.agent-install.openshift.io w-1
`, ""},
		"why host w-1":                    {0, "Machine default/w-1 is Pending: 1 thing in the way.\n", "No host has the name w-1; this is the Machine with this name.\n"},
		"why machine default/w-1":         {0, "Machine default/w-1 is Pending: 1 thing in the way.\n", ""},
		"why machine w-2":                 {0, "Machine default/w-2 is Pending: 1 thing in the way.\nIts host is node-1, which is Blocked.\n", ""},
		"why machine w-3":                 {5, "", "find Machine w-3: there is no Machine with that name; there are w-1, w-2, twice, twice\nNext: oaictl get machines\n"},
		"why host w-3":                    {5, "", "find host w-3: there is none of that name, id or MAC address\nNext: oaictl get hosts\n"},
		"why machine twice":               {5, "", "find Machine twice: there are several: default/twice, other/twice\nNext: use the id, NAMESPACE/NAME\n"},
		"why host twice":                  {5, "", "find Machine twice: there are several: default/twice, other/twice\n"},
		"why host w-1 --cluster lab":      {5, "", "find host w-1: there is none of that name"},
		"why machine":                     {2, "", "why needs the NAME or ID of a machine"},
		"why machine w-1 --cluster lab":   {2, "", "--cluster names the cluster of a host"},
		"why machine w-1 -f cluster.yaml": {2, "", "why machine needs a name, not a file"},
		"why machine w-1 -o name":         {0, "NoSuitableAgents\n", ""},
		"get machines -o name":            {0, "machine/w-1\nmachine/w-2\nmachine/twice\nmachine/twice\n", ""},
		"get machines other":              {5, "", "list Machines of other: no Machine is of a Cluster of that name or id; there are Machines of default/lab\n"},
	} {
		t.Run(line, func(t *testing.T) {
			got := run(t, service, "", strings.Fields(line)...)
			if got.code != want.code || !strings.HasPrefix(got.out, want.out) || !strings.Contains(got.errors, want.errors) {
				t.Errorf("got %d\n%s%s", got.code, got.out, got.errors)
			}
		})
	}
	// what the host says is not said again by what waits for it
	if got := run(t, service, "", "why", "machine", "w-2"); strings.Contains(got.out, "AgentMachine") || strings.Count(got.out, "NTP") == 0 {
		t.Errorf("got %s", got.out)
	}
}

// TestWhyMachineSaysThingsOnce: a condition that only repeats a problem of the host, with what to do, is not a blocker
// of its own.
func TestWhyMachineSaysThingsOnce(t *testing.T) {
	service := lab()
	service.machines = []machinecause.Machine{machineOf("w-2", &service.hosts[0])}
	alone := run(t, service, "", "why", "machine", "w-2", "-o", "name")
	var why struct{ Blockers []struct{ Message string } }
	if err := json.Unmarshal([]byte(run(t, service, "", "why", "machine", "w-2", "-o", "json").out), &why); err != nil || len(why.Blockers) == 0 {
		t.Fatalf("%+v, %v", why, err)
	}
	said := [3]string{"InstanceReady", "ChassisOpen", why.Blockers[0].Message + ": see to it"}
	service.machines = []machinecause.Machine{machineWith("w-2", &service.hosts[0], said)}
	if got := run(t, service, "", "why", "machine", "w-2", "-o", "name"); got.out != alone.out {
		t.Errorf("%s, not %s", got.out, alone.out)
	}
	said[2] = "the chassis is open"
	service.machines = []machinecause.Machine{machineWith("w-2", &service.hosts[0], said)}
	if got := run(t, service, "", "why", "machine", "w-2", "-o", "name"); got.out != "ChassisOpen\n"+alone.out {
		t.Errorf("%s, not %s with one more", got.out, alone.out)
	}
}

// TestLongWaitIsShownOnce: of Machines that wait for the same thing the first says it, where it is long.
func TestLongWaitIsShownOnce(t *testing.T) {
	service := lab()
	service.machines = []machinecause.Machine{machineOf("w-1", nil), machineOf("w-2", nil)}
	if got := run(t, service, "", "get", "machines"); strings.Count(got.out, "2 Agents: 2 with too little memory") != 2 {
		t.Errorf("short: %s", got.out)
	}
	const long = "2 Agents: 2 with too little memory: each needs 16 GiB, and has 8 GiB"
	service.machines = []machinecause.Machine{poolMachineThat("w-1", long), poolMachineThat("w-2", long), poolMachineThat("w-3", "no Agents")}
	got := run(t, service, "", "get", "machines")
	if strings.Count(got.out, "16 GiB") != 1 || strings.Count(got.out, "the same as w-1") != 1 || !strings.Contains(got.out, "no Agents") {
		t.Errorf("long: %s", got.out)
	}
	if got := run(t, service, "", "get", "machines", "-o", "json"); strings.Contains(got.out, "the same as") {
		t.Errorf("as JSON: %s", got.out)
	}
}

// reached runs the program with what it reaches by its own flags.
func reached(t *testing.T, line string) outcome {
	t.Helper()
	var out, problems strings.Builder
	a := app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(line)...)), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, streams.Env{"TERM": "dumb"})
	code := execute(t.Context(), a)
	return outcome{code, out.String(), problems.String()}
}

// TestMachinesOverREST: there are none, which is reported before any request is made.
func TestMachinesOverREST(t *testing.T) {
	for line, host := range map[string]string{"get machines": "NAME", "get machines -w": "NAME", "why machine w-1": "w-1", "why machine ns/w-1": "w-1"} {
		got := reached(t, line+" --service-url http://127.0.0.1:1")
		next := "over REST, the hosts have the names of their Machines: oaictl --service-url http://127.0.0.1:1 why host " + host + "\n"
		if got.code != 2 || !strings.Contains(got.errors, "a REST service has no Machines of Cluster API") || !strings.Contains(got.errors, next) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

const clusterObjects = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {namespace: lab, name: lab}
spec:
  infrastructureRef: {apiGroup: capi-provider.agent-install.openshift.io, kind: AgentCluster, name: lab}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: OpenshiftAssistedControlPlane, name: lab}
status: {conditions: [{type: InfrastructureReady, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-08-01T12:00:00Z"}]}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: OpenshiftAssistedControlPlane
metadata: {namespace: lab, name: lab}
spec:
  distributionVersion: 4.20.32
  machineTemplate: {spec: {infrastructureRef: {apiGroup: capi-provider.agent-install.openshift.io, kind: AgentMachineTemplate, name: lab}}}
  config: {baseDomain: example.com, pullSecretRef: {name: pull-secret}}
status: {conditions: [{type: Available, status: "True", reason: Available, message: "", lastTransitionTime: "2026-08-01T12:00:00Z"}]}
`

const poolAgent = `
apiVersion: agent-install.openshift.io/v1beta1
kind: Agent
metadata:
  namespace: %s
  name: %s
  labels: {infraenvs.agent-install.openshift.io: pool%s}
  annotations: {agentMachineRefNamespace: lab, oaictl.io/agent-machine: lab/lab-w-2}
spec: {approved: true, role: auto-assign, hostname: %s}
status:
  debugInfo: {state: insufficient, stateInfo: Host cannot be installed}
  validationsInfo: {hardware: [{id: has-min-memory, status: failure, message: "Require at least 8.35 GiB RAM, found only 4.00 GiB"}]}
`
