package machinecause_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The objects of a cluster lab with one Machine; the conditions are put in by a test.
const (
	poolMachine = `{kind: Machine, metadata: {name: w-1, namespace: lab}, spec: {clusterName: lab,
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: OpenshiftAssistedConfig, name: w-1}},
  infrastructureRef: {apiGroup: capi-provider.agent-install.openshift.io, kind: AgentMachine, name: w-1-x}}, status: {phase: Pending, conditions: [%s]}}`
	metalMachine = `{kind: Machine, metadata: {name: w-1, namespace: lab}, spec: {clusterName: lab,
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: OpenshiftAssistedConfig, name: w-1}},
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: w-1}}, status: {phase: Provisioning, conditions: [%s]}}`
	cluster      = `{kind: Cluster, metadata: {name: lab}, spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: OpenshiftAssistedControlPlane, name: lab}}, status: {conditions: [%s]}}`
	controlPlane = `{kind: OpenshiftAssistedControlPlane, metadata: {name: lab}, status: {conditions: [%s]}}`
	config       = `{kind: OpenshiftAssistedConfig, metadata: {name: w-1}, status: {conditions: [%s]}}`
	agentMachine = `{kind: AgentMachine, metadata: {name: w-1-x}, status: {conditions: [%s]}}`
	metal3       = `{kind: Metal3Machine, metadata: {name: w-1}, status: {conditions: [%s]}}`
)

// is writes a condition.
func is(kind, status, reason, message string) string {
	return fmt.Sprintf("{type: %s, status: %q, reason: %q, message: %q}", kind, status, reason, message)
}

func with(object string, conditions ...string) string {
	return fmt.Sprintf(object, strings.Join(append(conditions, is("Paused", "False", "NotPaused", "")), ", "))
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return u
}

// machineOf reads the first of the objects, with the others beside it.
func machineOf(t *testing.T, hosts []machinecause.Host, machine string, others ...string) machinecause.Machine {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, text := range others {
		u := objectOf(t, text)
		found[u.GetKind()+" "+u.GetName()] = u
	}
	return machinecause.Of(objectOf(t, machine), func(_ string, ref machinecause.Ref) (*unstructured.Unstructured, bool) {
		return found[ref.Kind+" "+ref.Name], true
	}, hosts)
}

func TestCauses(t *testing.T) {
	const (
		noneFits  = "3 Agents: 2 with too little memory, 1 bound to a cluster"
		noHost    = "the machine has not registered in the service yet"
		noRelease = "no ClusterImageSet is of version 4.20.32"
	)
	fine := []string{with(cluster, is("InfrastructureReady", "True", "Ready", "")), with(controlPlane, is("Available", "True", "Available", ""))}
	installing := []string{fine[0], with(controlPlane, is("Available", "False", "ControlPlaneInstalling", noRelease), is("MachinesReady", "False", "NotReady", "* Machine w-1: "+noneFits), is("ScalingUp", "True", "ScalingUp", "Scaling up"))}
	waits := []string{
		is("BootstrapConfigReady", "False", "WaitingForAssistedInstaller", "the cluster is not registered yet"), is("InfrastructureReady", "False", "WaitingForBootstrapData", "waiting for the bootstrap data of Machine w-1"),
		is("NodeHealthy", "Unknown", "InspectionFailed", "Waiting for Cluster control plane to be initialized"),
		is("Ready", "False", "NotReady", "* BootstrapConfigReady: the cluster is not registered yet\n* InfrastructureReady: waiting for the bootstrap data of Machine w-1\n* NodeHealthy: Waiting for Cluster control plane to be initialized"),
		is("UpToDate", "False", "NotUpToDate", "* Version v1, v2 required"),
	}
	for name, test := range map[string]struct {
		machine  string
		others   []string
		hostSays bool
		want     []string
	}{
		"a node": {with(poolMachine, is("Ready", "True", "Ready", ""), is("UpToDate", "False", "NotUpToDate", "x")), installing, false, nil},
		"no host of the pool fits": {
			with(poolMachine, is("BootstrapConfigReady", "True", "Ready", ""), is("InfrastructureReady", "False", "NoSuitableAgents", noneFits), is("NodeHealthy", "Unknown", "InspectionFailed", "Waiting for AgentMachine to report spec.providerID"), is("Ready", "False", "NotReady", "* InfrastructureReady: "+noneFits)),
			append(fine, with(config, is("Ready", "True", "Ready", "")), with(agentMachine, is("AgentReserved", "False", "NoSuitableAgents", noneFits), is("Ready", "False", "NoSuitableAgents", noneFits))),
			false, []string{"AgentMachine w-1-x AgentReserved NoSuitableAgents: " + noneFits},
		},
		"all wait for the control plane": {
			with(poolMachine, waits...),
			append(installing, with(config, is("DataSecretAvailable", "False", "WaitingForAssistedInstaller", "the cluster is not registered yet"), is("Ready", "False", "WaitingForAssistedInstaller", "the cluster is not registered yet")),
				with(agentMachine, is("AgentReserved", "False", "WaitingForBootstrapData", "waiting for the bootstrap data of Machine w-1"), is("Ready", "False", "WaitingForBootstrapData", "waiting for the bootstrap data of Machine w-1"))),
			false, []string{"OpenshiftAssistedControlPlane lab Available ControlPlaneInstalling: " + noRelease},
		},
		"all wait, and nobody says why": {
			with(poolMachine, waits...), append(fine, with(config, is("Ready", "False", "WaitingForAssistedInstaller", "the cluster is not registered yet"))),
			false, []string{"AgentMachine w-1-x  NotFound: AgentMachine w-1-x does not exist", "~OpenshiftAssistedConfig w-1 Ready WaitingForAssistedInstaller: the cluster is not registered yet", "~Machine w-1 NodeHealthy InspectionFailed: Waiting for Cluster control plane to be initialized"},
		},
		"the Cluster is paused": {
			with(poolMachine, waits...),
			[]string{"{kind: Cluster, metadata: {name: lab}, spec: {paused: true}}", with(config, is("Ready", "False", "WaitingForClusterInfrastructure", "waiting for the infrastructure of Cluster lab")), with(agentMachine, is("Ready", "False", "WaitingForClusterInfrastructure", "waiting for the infrastructure of Cluster lab"))},
			false, []string{"Cluster lab  Paused: the Cluster is paused (spec.paused): nothing is done for any of its Machines"},
		},
		"the machine does not boot": {
			with(metalMachine, is("BootstrapConfigReady", "True", "Ready", ""), is("InfrastructureReady", "True", "Ready", ""), is("NodeHealthy", "Unknown", "InspectionFailed", "Waiting for a Node with spec.providerID metal3://a to exist"), is("NodeReady", "Unknown", "InspectionFailed", "Waiting for a Node with spec.providerID metal3://a to exist")),
			append(fine, with(config, is("HostValidated", "False", "HostNotRegistered", noHost), is("Ready", "True", "Ready", "")), with(metal3, is("KubernetesNodeReady", "False", "WaitingForNode", ""), is("Ready", "True", "Ready", ""))),
			false, []string{"OpenshiftAssistedConfig w-1 HostValidated HostNotRegistered: " + noHost},
		},
		"Metal3 looks for the node already": {
			with(metalMachine, is("InfrastructureReady", "False", "NotReady", "* AssociateMetal3MachineMetaData: error retrieving node, requeuing"), is("NodeHealthy", "Unknown", "InspectionFailed", "Waiting for Cluster control plane to be initialized"),
				is("Ready", "False", "NotReady", "* InfrastructureReady:\n  * AssociateMetal3MachineMetaData: error retrieving node, requeuing\n* NodeHealthy: Waiting for Cluster control plane to be initialized")),
			[]string{fine[0], with(controlPlane, is("Available", "False", "ControlPlaneInstalling", "Installing")), with(config, is("HostValidated", "True", "ValidationsPassing", ""), is("Ready", "True", "Ready", "")), with(metal3, is("AssociateMetal3MachineMetaData", "False", "x", "error retrieving node, requeuing"), is("Ready", "False", "x", "* AssociateMetal3MachineMetaData: error retrieving node, requeuing"))},
			false, []string{"~OpenshiftAssistedControlPlane lab Available ControlPlaneInstalling: Installing"},
		},
		"the Machine still says what Metal3 said": {
			with(metalMachine, is("InfrastructureReady", "False", "NotReady", "* AssociateMetal3MachineMetaData: could not find node")),
			[]string{fine[0], with(controlPlane, is("Available", "False", "ControlPlaneInstalling", "Installing")), with(config, is("Ready", "True", "Ready", "")), with(metal3, is("Ready", "True", "Ready", ""))},
			false, []string{"~OpenshiftAssistedControlPlane lab Available ControlPlaneInstalling: Installing"},
		},
		"there is no BareMetalHost for it": {
			with(metalMachine, is("InfrastructureReady", "False", "NotReady", "* AssociateBareMetalHost: No available host found"), is("NodeHealthy", "Unknown", "InspectionFailed", "Waiting for Metal3Machine to report spec.providerID"),
				is("Ready", "False", "NotReady", "* InfrastructureReady:\n  * AssociateBareMetalHost: No available host found\n* NodeHealthy: Waiting for Metal3Machine to report spec.providerID")),
			append(fine, with(config, is("HostValidated", "False", "HostNotRegistered", noHost), is("Ready", "True", "Ready", "")), with(metal3, is("AssociateBareMetalHost", "False", "PauseAnnotation", "No available host found"), is("KubernetesNodeReady", "False", "Waiting", ""), is("Ready", "False", "NotReady", "* AssociateBareMetalHost: No available host found"))),
			false, []string{"Metal3Machine w-1 AssociateBareMetalHost PauseAnnotation: No available host found"},
		},
		"the host says it": {
			with(poolMachine, is("InfrastructureReady", "False", "ValidationsFailing", "memory")),
			append(fine, with(config, is("Ready", "True", "Ready", "")), with(agentMachine, is("AgentValidated", "False", "ValidationsFailing", "memory"), is("AgentRequirementsMet", "False", "AgentNotReady", "not ready"), is("Ready", "False", "ValidationsFailing", "memory"))),
			true, nil,
		},
		"the host says nothing": {
			with(poolMachine, is("InfrastructureReady", "False", "ValidationsFailing", "memory")),
			append(fine, with(config, is("Ready", "True", "Ready", "")), with(agentMachine, is("AgentValidated", "False", "ValidationsFailing", "memory"), is("AgentRequirementsMet", "False", "AgentNotReady", "not ready"), is("Ready", "False", "ValidationsFailing", "memory"))),
			false, []string{"AgentMachine w-1-x AgentValidated ValidationsFailing: memory"},
		},
		"its installation failed": {
			with(metalMachine, is("InfrastructureReady", "True", "Ready", ""), is("NodeHealthy", "Unknown", "InspectionFailed", "Waiting for a Node with spec.providerID metal3://a to exist")),
			append(fine, with(config, is("HostValidated", "False", "InstallationFailed", "no disk"), is("Ready", "False", "InstallationFailed", "no disk")), with(metal3, is("Ready", "True", "Ready", ""))),
			true, []string{"OpenshiftAssistedConfig w-1 HostValidated InstallationFailed: no disk"},
		},
		"nobody looks at it": {
			strings.Replace(poolMachine, "[%s]", "[]", 1), append(fine, strings.Replace(config, "[%s]", "[]", 1), with(agentMachine)),
			false, []string{
				"OpenshiftAssistedConfig w-1  NoConditions: it has no conditions yet: the controller of its kind does not run, or watches other namespaces",
			},
		},
		"a condition repeats others, under headings": {
			with(metalMachine, is("InfrastructureReady", "True", "Ready", ""), is("NodeHealthy", "False", "NodeConditionsFailed", "* Node.Ready: kubelet stopped"),
				is("Ready", "False", "NotReady", "* BootstrapConfigReady:\n  * HostValidated: no NTP\n* NodeHealthy:\n  * Node.Ready: kubelet stopped\n* Later: nobody has said this")),
			append(fine, with(config, is("HostValidated", "False", "InstallationFailed", "no NTP"), is("Ready", "False", "InstallationFailed", "no NTP")), with(metal3, is("Ready", "True", "Ready", ""))),
			false, []string{
				"OpenshiftAssistedConfig w-1 HostValidated InstallationFailed: no NTP", "Machine w-1 NodeHealthy NodeConditionsFailed: Node.Ready: kubelet stopped",
				"Machine w-1 Ready NotReady: Later: nobody has said this",
			},
		},
		"two disks are no repeat of each other": {
			with(poolMachine), append(fine, with(config, is("DataSecretAvailable", "False", "x", "disk sda: too small"), is("InfraEnvReady", "False", "x", "disk sdb: too small")), with(agentMachine)),
			false, []string{"OpenshiftAssistedConfig w-1 DataSecretAvailable x: disk sda: too small", "OpenshiftAssistedConfig w-1 InfraEnvReady x: disk sdb: too small"},
		},
		"it is deleted": {
			strings.Replace(with(poolMachine, is("Deleting", "True", "DrainingNode", "* Drain not completed yet")), "namespace: lab", `namespace: lab, deletionTimestamp: "2026-01-01T00:00:00Z"`, 1), fine,
			false, []string{"Machine w-1 Deleting DrainingNode: Drain not completed yet"},
		},
		"a token in a message": {
			with(poolMachine), append(fine, with(config, is("InfraEnvReady", "False", "InfraEnvFailed", "Get https://x/images?api_key=sesame: refused")), with(agentMachine)),
			false, []string{"OpenshiftAssistedConfig w-1 InfraEnvReady InfraEnvFailed: Get https://x/images?api_key=[redacted] refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := machineOf(t, nil, test.machine, test.others...)
			var got []string
			for _, c := range m.Causes(test.hostSays) {
				passes := ""
				if c.Passes {
					passes = "~"
				}
				got = append(got, fmt.Sprintf("%s%s %s %s: %s", passes, c.Of(), c.Condition, c.Reason, c.Message))
			}
			check.Same(t, test.want, got)
		})
	}
}

// TestLook: what is to be typed names the group, since other groups have kinds of the same names.
func TestLook(t *testing.T) {
	m := machineOf(t, nil, strings.Replace(poolMachine, "[%s]", "[]", 1), with(cluster), with(controlPlane), with(config), strings.Replace(with(agentMachine), "name: w-1-x", `name: w-1-x, annotations: {cluster.x-k8s.io/paused: ""}`, 1))
	causes := m.Causes(false)
	if len(causes) != 2 {
		t.Fatalf("%+v", causes)
	}
	for i, want := range [][2]string{
		{"kubectl -n lab describe agentmachine.capi-provider.agent-install.openshift.io w-1-x", "unless it is needed: kubectl -n lab annotate agentmachine.capi-provider.agent-install.openshift.io w-1-x cluster.x-k8s.io/paused-"},
		{"kubectl -n lab describe machine.cluster.x-k8s.io w-1", ""},
	} {
		check.Equal(t, [2]string{causes[i].Look.String(), causes[i].Remedy.String()}, want)
	}
}

// TestPaused: braces in what is to be typed stay.
func TestPaused(t *testing.T) {
	m := machineOf(t, nil, with(poolMachine), "{kind: Cluster, metadata: {name: lab}, spec: {paused: true}}")
	causes := m.Causes(false)
	const want = `unless it is being moved: kubectl -n lab patch cluster.cluster.x-k8s.io lab --type merge -p '{"spec":{"paused":false}}'`
	if len(causes) != 1 || causes[0].Remedy.String() != want {
		t.Errorf("%+v", causes)
	}
}

func TestHostOfMachine(t *testing.T) {
	host := func(id, env, name string, change ...func(*machinecause.Host)) machinecause.Host {
		h := machinecause.Host{Host: model.Host{ID: id, InfraEnvID: env, Hostname: name}, Namespace: "lab"}
		for _, c := range change {
			c(&h)
		}
		return h
	}
	reserved := func(owner string) func(*machinecause.Host) {
		return func(h *machinecause.Host) { h.AgentMachine = owner }
	}
	registered := func(day int) func(*machinecause.Host) {
		return func(h *machinecause.Host) { h.Registered = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	}
	elsewhere := func(cluster string) func(*machinecause.Host) {
		return func(h *machinecause.Host) { h.Namespace, h.ClusterID = "pool", cluster }
	}
	own := `{kind: OpenshiftAssistedConfig, metadata: {name: w-1}, status: {infraEnvRef: {namespace: lab, name: w-1}%s}}`
	for name, test := range map[string]struct {
		machine, config string
		hosts           []machinecause.Host
		want            string
	}{
		"reserved for its AgentMachine":     {poolMachine, with(config), []machinecause.Host{host("a", "lab/pool", "w-1"), host("b", "lab/pool", "x", reserved("lab/w-1-x")), host("c", "lab/pool", "w-1", reserved("other/w-1-x"))}, "b"},
		"none of the pool by its name":      {poolMachine, with(config), []machinecause.Host{host("a", "lab/pool", "w-1")}, ""},
		"that registered from its InfraEnv": {metalMachine, fmt.Sprintf(own, ""), []machinecause.Host{host("a", "lab/w-2", "w-1"), host("b", "lab/w-1", "localhost")}, "b"},
		"that registered anew":              {metalMachine, fmt.Sprintf(own, ""), []machinecause.Host{host("a", "lab/w-1", "w-1", registered(2)), host("b", "lab/w-1", "w-1", registered(1))}, "a"},
		"that the config names":             {metalMachine, fmt.Sprintf(own, ", agentRef: {name: b}"), []machinecause.Host{host("a", "lab/w-1", "w-1", registered(2)), host("b", "lab/w-1", "w-1", registered(1))}, "b"},
		"that has its name":                 {metalMachine, with(config), []machinecause.Host{host("a", "lab/old", "w-1"), host("b", "lab/old", "w-10")}, "a"},
		"bound to its cluster":              {metalMachine, with(config), []machinecause.Host{host("a", "pool/p", "w-1", elsewhere("other/lab")), host("b", "pool/p", "w-1", elsewhere("lab/lab"))}, "b"},
		"another's by its reservation":      {metalMachine, with(config), []machinecause.Host{host("a", "lab/pool", "w-1", reserved("lab/w-9"))}, ""},
		"none":                              {metalMachine, fmt.Sprintf(own, ""), nil, ""},
	} {
		m, got := machineOf(t, test.hosts, with(test.machine), test.config), ""
		if m.Host != nil {
			got = m.Host.ID
		}
		check.Equal(t, got, test.want, name)
	}
}

// TestFacts reads what a Machine says of itself, in the present version and in the one of before.
func TestFacts(t *testing.T) {
	old := `{kind: Machine, metadata: {name: cp-1, namespace: lab, labels: {cluster.x-k8s.io/control-plane: ""}}, spec: {clusterName: lab,
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, name: cp-1}},
  status: {phase: Running, nodeRef: {name: cp-1.lab}, conditions: [{type: Ready, status: "False"}], v1beta2: {conditions: [{type: Ready, status: "True"}]}}}`
	m := machineOf(t, nil, old, with(cluster), `{kind: Metal3Machine, metadata: {name: cp-1, annotations: {metal3.io/BareMetalHost: lab/bmh-1}}, spec: {image: {format: live-iso}}, status: {}}`)
	got := []string{m.ID(), m.Cluster, string(m.Role), m.Phase, m.Node, m.Infrastructure, m.BareMetalHost, m.InfraEnv}
	want := []string{"lab/cp-1", "lab/lab", "control-plane", "Running", "cp-1.lab", "Metal3Machine (live ISO)", "lab/bmh-1", ""}
	if diff := cmp.Diff(want, got); diff != "" || len(m.Causes(false)) != 0 {
		t.Errorf("%s %+v", diff, m.Causes(false))
	}
}
