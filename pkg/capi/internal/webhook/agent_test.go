package webhook

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

func TestAgentClusterRefusals(t *testing.T) {
	type cluster = *agentv1.AgentCluster
	for _, c := range []refusal[cluster]{
		{"no port", func(c cluster) { c.Spec.ControlPlaneEndpoint.Host = "api.example.com" }, "spec.controlPlaneEndpoint.port", "6443"},
		{"no host", func(c cluster) { c.Spec.ControlPlaneEndpoint.Port = 6443 }, "spec.controlPlaneEndpoint.host", "omit the whole endpoint"},
		{"URL", func(c cluster) {
			c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "https://api.example.com", Port: 6443}
		}, "spec.controlPlaneEndpoint.host", "without scheme"},
		{"Ignition endpoint", func(c cluster) { c.Spec.IgnitionEndpoint = &agentv1.IgnitionEndpoint{URL: "fd00::1:22623"} }, "spec.ignitionEndpoint.url", "in brackets"},
		{"Ignition endpoint that cannot be repaired", func(c cluster) {
			c.Spec.IgnitionEndpoint = &agentv1.IgnitionEndpoint{URL: "https://fd00::g:30443/ignition"}
		}, "spec.ignitionEndpoint.url", "in brackets"},
		{"Ignition endpoint of another protocol", func(c cluster) {
			c.Spec.IgnitionEndpoint = &agentv1.IgnitionEndpoint{URL: "tftp://192.0.2.1/ignition"}
		}, "spec.ignitionEndpoint.url", "https://host:port/path"},
		{"empty failure domain", func(c cluster) { c.Spec.FailureDomains = []agentv1.AgentFailureDomain{{Name: "a"}} }, "spec.failureDomains[0].agentLabelSelector", "selects no Agent"},
		{"failure domain", func(c cluster) {
			c.Spec.FailureDomains = []agentv1.AgentFailureDomain{{Name: "a", AgentLabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}}
		}, "spec.failureDomains[0].agentLabelSelector.matchLabels", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := &agentv1.AgentCluster{}
			c.change(object)
			_, err := agentClusters().ValidateCreate(t.Context(), object)
			expectRefusal(t, err, c.field, c.text)
		})
	}
}

// TestIgnitionEndpointsOfHyperShiftAreTaken admits addresses as HyperShift writes them, of before it put brackets around
// those of IPv6, too.
func TestIgnitionEndpointsOfHyperShiftAreTaken(t *testing.T) {
	for _, url := range []string{
		"https://ignition.apps.example.com/ignition", "https://192.0.2.1:30443/ignition", "https://[fd00::1]:30443/ignition", "https://fd00::1:30443/ignition",
	} {
		object := &agentv1.AgentCluster{Spec: agentv1.AgentClusterSpec{IgnitionEndpoint: &agentv1.IgnitionEndpoint{URL: url}}}
		if _, err := agentClusters().ValidateCreate(t.Context(), object); err != nil {
			t.Errorf("%s is refused: %v", url, err)
		}
	}
}

func TestAgentClusterChanges(t *testing.T) {
	before := &agentv1.AgentCluster{}
	after := before.DeepCopy()
	after.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "2001:db8::1", Port: 6443}
	if _, err := agentClusters().ValidateUpdate(t.Context(), before, after); err != nil {
		t.Errorf("an endpoint cannot be set: %v", err)
	}
	other := after.DeepCopy()
	other.Spec.ControlPlaneEndpoint.Port = 443
	_, err := agentClusters().ValidateUpdate(t.Context(), after, other)
	expectRefusal(t, err, "spec.controlPlaneEndpoint", "set it back to [2001:db8::1]:6443")
	other = after.DeepCopy()
	other.Spec.InfraEnvRefs = []agentv1.InfraEnvReference{{Name: "pool"}}
	if _, err := agentClusters().ValidateUpdate(t.Context(), after, other); err != nil {
		t.Errorf("a pool cannot be added: %v", err)
	}
}

func TestAgentClusterTemplates(t *testing.T) {
	template := &agentv1.AgentClusterTemplate{}
	template.Spec.Template.Spec.InfraEnvRefs = []agentv1.InfraEnvReference{{Name: "pool"}}
	if _, err := agentClusterTemplates().ValidateCreate(t.Context(), template); err != nil {
		t.Errorf("a template is refused: %v", err)
	}
	changed := template.DeepCopy()
	changed.Spec.Template.Spec.InfraEnvRefs = nil
	_, err := agentClusterTemplates().ValidateUpdate(t.Context(), template, changed)
	expectRefusal(t, err, "spec.template", "create a template with another name")
	template.Spec.Template.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api", Port: 6443}
	_, err = agentClusterTemplates().ValidateCreate(t.Context(), template)
	expectRefusal(t, err, "spec.template.spec.controlPlaneEndpoint", "omit it")
}

func TestAgentMachineRefusals(t *testing.T) {
	type machine = *agentv1.AgentMachine
	for _, c := range []refusal[machine]{
		{"selector", func(m machine) {
			m.Spec.AgentLabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}}
		}, "spec.agentLabelSelector.matchExpressions[0].values", ""},
		{"architecture", func(m machine) { m.Spec.CPUArchitecture = "x86" }, "spec.cpuArchitecture", `did you mean "x86_64"?`},
		{"several architectures", func(m machine) { m.Spec.CPUArchitecture = "multi" }, "spec.cpuArchitecture", "it is one of x86_64, arm64, ppc64le, s390x"},
		{"no memory", func(m machine) { m.Spec.MinMemory = new(resource.MustParse("0")) }, "spec.minMemory", "such as 64Gi"},
		{"spread", func(m machine) {
			m.Spec.SpreadConstraints = []agentv1.AgentSpreadConstraint{{TopologyKey: "rack/"}}
		}, "spec.spreadConstraints[0].topologyKey", "topology.kubernetes.io/rack"},
		{"provider id", func(m machine) { m.Spec.ProviderID = "metal3://x" }, "spec.providerID", "omit it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := &agentv1.AgentMachine{}
			c.change(object)
			_, err := agentMachines().ValidateCreate(t.Context(), object)
			expectRefusal(t, err, c.field, c.text)
		})
	}
}

func TestAgentMachineChanges(t *testing.T) {
	free := &agentv1.AgentMachine{}
	free.Spec.CPUArchitecture = "aarch64"
	other := free.DeepCopy()
	other.Spec.CPUArchitecture = "x86_64"
	if _, err := agentMachines().ValidateUpdate(t.Context(), free, other); err != nil {
		t.Errorf("what has no host cannot be changed: %v", err)
	}
	reserved := free.DeepCopy()
	reserved.Status.AgentRef = &agentv1.AgentReference{Name: "agent"}
	other = reserved.DeepCopy()
	other.Spec.ProviderID = "agent://agent"
	if _, err := agentMachines().ValidateUpdate(t.Context(), reserved, other); err != nil {
		t.Errorf("the provider id cannot be set: %v", err)
	}
	another := other.DeepCopy()
	another.Spec.ProviderID = "agent://another"
	_, err := agentMachines().ValidateUpdate(t.Context(), other, another)
	expectRefusal(t, err, "spec.providerID", "set it back to agent://agent")
	another = other.DeepCopy()
	another.Spec.MinCPUs = new(int32(4))
	_, err = agentMachines().ValidateUpdate(t.Context(), other, another)
	expectRefusal(t, err, "spec.minCPUs", "delete the Machine to get another host")
}

// TestReservationsAreGivenUp: before a machine is handed over its controller takes a reservation back, as a whole.
func TestReservationsAreGivenUp(t *testing.T) {
	noted := map[string]string{machines.AnnotationReservedHost: "pool/agent", "other": "note"}
	for _, c := range []struct {
		name        string
		provisioned bool
		annotations map[string]string // afterwards
		change      func(*agentv1.AgentMachine)
		field, text string
	}{
		{name: "before it is handed over", annotations: map[string]string{"other": "note"}},
		{name: "the reservation stays", annotations: noted, field: "spec.providerID", text: "set it back to agent://agent"},
		{name: "after it was handed over", provisioned: true, field: "spec.providerID", text: "set it back to agent://agent"},
		{name: "for another host at once", change: func(m *agentv1.AgentMachine) { m.Spec.ProviderID = "agent://another" }, field: "spec.providerID", text: "set it back to agent://agent"},
		{name: "with another wish", change: func(m *agentv1.AgentMachine) { m.Spec.MinCPUs = new(int32(4)) }, field: "spec.minCPUs", text: "set the old value again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := &agentv1.AgentMachine{}
			before.Annotations, before.Spec.ProviderID = noted, "agent://agent"
			before.Status.AgentRef = &agentv1.AgentReference{Namespace: "pool", Name: "agent"}
			before.Status.Initialization.Provisioned = &c.provisioned
			after := before.DeepCopy()
			after.Annotations, after.Spec.ProviderID = c.annotations, ""
			if c.change != nil {
				c.change(after)
			}
			_, err := agentMachines().ValidateUpdate(t.Context(), before, after)
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			expectRefusal(t, err, c.field, c.text)
		})
	}
}

func TestAgentMachineTemplates(t *testing.T) {
	template := &agentv1.AgentMachineTemplate{}
	template.Spec.Template.Spec.ProviderID = "agent://agent"
	_, err := agentMachineTemplates().ValidateCreate(t.Context(), template)
	expectRefusal(t, err, "spec.template.spec.providerID", "omit it")

	template.Spec.Template.Spec.ProviderID = ""
	template.Spec.Template.Spec.MinMemory = new(resource.MustParse("64Gi"))
	if _, err := agentMachineTemplates().ValidateCreate(t.Context(), template); err != nil {
		t.Errorf("a template is refused: %v", err)
	}
	changed := template.DeepCopy()
	changed.Spec.Template.Spec.MinCPUs = new(int32(4))
	_, err = agentMachineTemplates().ValidateUpdate(t.Context(), template, changed)
	expectRefusal(t, err, "spec.template", "create a template with another name")
}
