package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

const soundIgnition = `{"ignition": {"version": "3.1.0"}}`

func TestConfigRefusals(t *testing.T) {
	type config = *bootstrapv1.OpenshiftAssistedConfig
	for _, c := range []refusal[config]{
		{"architecture", func(c config) { c.Spec.CPUArchitecture = "amd65" }, "spec.cpuArchitecture", "is not known here"},
		{"several architectures", func(c config) { c.Spec.CPUArchitecture = "multi" }, "spec.cpuArchitecture", "a machine has one architecture"},
		{"hostname", func(c config) { c.Spec.Hostname = "Worker_0" }, "spec.hostname", "cannot be a hostname"},
		{"localhost", func(c config) { c.Spec.Hostname = "localhost" }, "spec.hostname", "use a name that no other host has"},
		{"label key", func(c config) { c.Spec.NodeLabels = map[string]string{"a b": "c"} }, "spec.nodeLabels.a b", "cannot be the key of a label"},
		{"role label", func(c config) { c.Spec.NodeLabels = map[string]string{"node-role.kubernetes.io/infra": ""} }, "spec.nodeLabels[node-role.kubernetes.io/infra]", "omit it"},
		{"taint key", func(c config) { c.Spec.Taints = []bootstrapv1.Taint{{Key: "a b", Effect: "NoSchedule"}} }, "spec.taints[0].key", "cannot be the key of a taint"},
		{"taint effect", func(c config) { c.Spec.Taints = []bootstrapv1.Taint{{Key: "a", Effect: "Never"}} }, "spec.taints[0].effect", "Never"},
		{"disk", func(c config) { c.Spec.RootDeviceHints = &bootstrapv1.RootDeviceHints{DeviceName: "sda"} }, "spec.rootDeviceHints.deviceName", `write "/dev/sda"`},
		{"disk to keep", func(c config) { c.Spec.KeepDisks = []string{"/dev/sdb", "sdc"} }, "spec.keepDisks[1]", "/dev/disk/by-id/"},
		{"installer argument", func(c config) { c.Spec.InstallerArgs = []string{"--insecure"} }, "spec.installerArgs[0]", "the service does not accept the flag"},
		{"machine config pool", func(c config) { c.Spec.MachineConfigPool = "My Pool" }, "spec.machineConfigPool", "machine config pool"},
		{"discovery kernel argument", func(c config) { c.Spec.DiscoveryKernelArguments = []string{"a", "b c"} }, "spec.discoveryKernelArguments[1]", "is not one kernel argument"},
		{"kernel argument", func(c config) {
			c.Spec.KernelArguments = []bootstrapv1.KernelArgument{{Operation: "append", Value: "a b"}}
		}, "spec.kernelArguments[0].value", "takes no blanks"},
		{"kernel argument's operation", func(c config) {
			c.Spec.KernelArguments = []bootstrapv1.KernelArgument{{Operation: "prepend", Value: "a"}}
		}, "spec.kernelArguments[0].operation", "is not append, delete or replace"},
		{"address", func(c config) { c.Spec.AllowedAddresses = []string{"192.0.2"} }, "spec.allowedAddresses[0]", "192.0.2"},
		{"Agent's label", func(c config) { c.Spec.AgentLabels = map[string]string{"oaictl.io/x": "y"} }, "spec.agentLabels.oaictl.io/x", "use another key"},
		{"negative delay", func(c config) { c.Spec.NetworkDelay = &metav1.Duration{Duration: -time.Second} }, "spec.networkDelay", "write how long to wait"},
		{"broken delay", func(c config) { c.Spec.NetworkDelay = &metav1.Duration{Duration: 1500 * time.Millisecond} }, "spec.networkDelay", "write it as 30s"},
		{"version of the live system", func(c config) { c.Spec.OSImageVersion = "rhcos" }, "spec.osImageVersion", `such as "4.20"`},
		{"proxy", func(c config) { c.Spec.Proxy = &bootstrapv1.Proxy{HTTPSProxy: "ftp://proxy"} }, "spec.proxy.httpsProxy", "http"},
		{"time server", func(c config) { c.Spec.AdditionalNTPSources = []string{"a b"} }, "spec.additionalNTPSources[0]", "a b"},
		{"certificates", func(c config) { c.Spec.AdditionalTrustBundle = "x" }, "spec.additionalTrustBundle", "PEM"},
		{"key", func(c config) { c.Spec.SSHAuthorizedKey = "ssh-ed25519" }, "spec.sshAuthorizedKey", "ssh-keygen"},
		{"selector", func(c config) {
			c.Spec.NMStateConfigLabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		}, "spec.nmStateConfigLabelSelector.matchExpressions[0].operator", ""},
		{"kubelet's label", func(c config) { c.Spec.NodeRegistration.KubeletExtraLabels = []string{"a=b", "c d=e"} }, "spec.nodeRegistration.kubeletExtraLabels[1]", "is no label"},
		{"node name", func(c config) { c.Spec.NodeRegistration.Name = "a b" }, "spec.nodeRegistration.name", "is no hostname"},
		{"root as sentinel directory", func(c config) { c.Spec.BootstrapCommandSentinelDir = "/.." }, "spec.bootstrapCommandSentinelDir", ""},
		{"Ignition that is no JSON", func(c config) { c.Spec.IgnitionOverride = "storage:" }, "spec.ignitionOverride", "is not an Ignition config that a machine can use"},
		{"Ignition of a newer specification", func(c config) { c.Spec.IgnitionOverride = `{"ignition": {"version": "3.5.0"}}` }, "spec.ignitionOverride", "up to 3.2.0"},
		{"Ignition with a wrong mode", func(c config) {
			c.Spec.DiscoveryIgnitionOverride = `{"ignition": {"version": "3.1.0"}, "storage": {"files": [{"path": "etc/x"}]}}`
		}, "spec.discoveryIgnitionOverride", "storage.files[0].path"},
		{"Ignition by annotation", func(c config) { c.Annotations = map[string]string{bootstrapv1.IgnitionOverrideAnnotation: "{}"} }, "metadata.annotations[" + bootstrapv1.IgnitionOverrideAnnotation + "]", "is not an Ignition config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := &bootstrapv1.OpenshiftAssistedConfig{}
			c.change(object)
			_, err := configs().ValidateCreate(t.Context(), object)
			expectRefusal(t, err, c.field, c.text)

			// A template is held to the same rules.
			template := &bootstrapv1.OpenshiftAssistedConfigTemplate{}
			template.Spec.Template.Spec, template.Spec.Template.ObjectMeta.Annotations = object.Spec, object.Annotations
			_, err = configTemplates().ValidateCreate(t.Context(), template)
			expectRefusal(t, err, "spec.template."+c.field, c.text)
		})
	}
}

func TestConfigThatSaysEverything(t *testing.T) {
	c := &bootstrapv1.OpenshiftAssistedConfig{Spec: bootstrapv1.OpenshiftAssistedConfigSpec{
		Proxy:                    &bootstrapv1.Proxy{HTTPProxy: "http://proxy:3128", NoProxy: "*"},
		AdditionalNTPSources:     []string{"ntp.example.com", "192.0.2.1"},
		CPUArchitecture:          "aarch64",
		KernelArguments:          []bootstrapv1.KernelArgument{{Operation: "append", Value: "a"}, {Operation: "replace", Value: "console=ttyS0"}, {Operation: "delete", Value: "quiet"}},
		DiscoveryKernelArguments: []string{`a="b c"`},
		OSImageVersion:           "4.20", ImageType: "minimal-iso", NetworkDelay: &metav1.Duration{Duration: 30 * time.Second},
		PreBootstrapCommands: []string{"true"}, BootstrapCommandSentinelDir: "/var/lib/x", PostBootstrapKubeconfigPath: "/etc/kubernetes/kubeconfig",
		NodeRegistration: bootstrapv1.NodeRegistrationOptions{
			Name: "$METADATA_NAME", KubeletExtraLabels: []string{"metal3.io/uuid=${METADATA_UUID}", "a="}, ProviderID: "metal3://$METADATA_METAL3_NAMESPACE/$METADATA_METAL3_NAME",
		},
		RootDeviceHints: &bootstrapv1.RootDeviceHints{DeviceName: "/dev/sda", HCTL: "0:0:0:0", MinSizeGigabytes: 100, Rotational: new(false)},
		KeepDisks:       []string{"/dev/sdb"}, NodeLabels: map[string]string{"example.com/rack": "r1"}, Taints: []bootstrapv1.Taint{{Key: "a", Effect: "NoExecute"}},
		AgentLabels: map[string]string{"site": "a"}, MachineConfigPool: "gpu", InstallerArgs: []string{"--append-karg", "x"},
		IgnitionOverride: soundIgnition, DiscoveryIgnitionOverride: soundIgnition, AllowedAddresses: []string{"192.0.2.7", "2001:db8::7"},
	}}
	if warnings, err := configs().ValidateCreate(t.Context(), c); err != nil || len(warnings) > 0 {
		t.Errorf("it is refused: %v, warnings %q", err, warnings)
	}
}

func TestConfigChanges(t *testing.T) {
	before := &bootstrapv1.OpenshiftAssistedConfig{}
	change := func(edit func(*bootstrapv1.OpenshiftAssistedConfigSpec)) error {
		after := before.DeepCopy()
		edit(&after.Spec)
		_, err := configs().ValidateUpdate(t.Context(), before, after)
		return err
	}
	hostname := func(s *bootstrapv1.OpenshiftAssistedConfigSpec) { s.Hostname = "worker-0" }
	if err := change(hostname); err != nil {
		t.Errorf("a config that nobody has used cannot be corrected: %v", err)
	}
	before.Status.Initialization.DataSecretCreated = new(true)
	expectRefusal(t, change(hostname), "spec.hostname", "replace the Machine with one")
	for _, edit := range []func(*bootstrapv1.OpenshiftAssistedConfigSpec){
		func(s *bootstrapv1.OpenshiftAssistedConfigSpec) { s.NodeLabels = map[string]string{"a": "b"} },
		func(s *bootstrapv1.OpenshiftAssistedConfigSpec) {
			s.Taints = []bootstrapv1.Taint{{Key: "a", Effect: "NoSchedule"}}
		},
		func(s *bootstrapv1.OpenshiftAssistedConfigSpec) { s.AllowedAddresses = []string{"192.0.2.7"} },
	} {
		if err := change(edit); err != nil {
			t.Errorf("what is applied to a node cannot be changed: %v", err)
		}
	}
}

func TestTemplatesAreNotChangedInPlace(t *testing.T) {
	before := &bootstrapv1.OpenshiftAssistedConfigTemplate{}
	after := before.DeepCopy()
	after.Spec.Template.Spec.CPUArchitecture = "arm64"
	_, err := configTemplates().ValidateUpdate(t.Context(), before, after)
	expectRefusal(t, err, "spec.template", "create a template with another name")

	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: new(true)}}
	ctx := admission.NewContextWithRequest(t.Context(), request)
	if _, err := configTemplates().ValidateUpdate(ctx, before, after); err == nil {
		t.Error("anybody's dry run changes a template")
	}
	after.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	if _, err := configTemplates().ValidateUpdate(ctx, before, after); err != nil {
		t.Errorf("a topology cannot try out a template: %v", err)
	}
	if _, err := configTemplates().ValidateUpdate(t.Context(), before, after); err == nil {
		t.Error("the annotation alone lets a template be changed")
	}
	labelled := before.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	if _, err := configTemplates().ValidateUpdate(t.Context(), before, labelled); err != nil {
		t.Errorf("a template cannot be labelled: %v", err)
	}
}

func TestConfigTemplateWarnsOfOneHostname(t *testing.T) {
	template := &bootstrapv1.OpenshiftAssistedConfigTemplate{}
	template.Spec.Template.Spec.Hostname = "worker-0"
	warnings, err := configTemplates().ValidateCreate(t.Context(), template)
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "spec.template.spec.hostname: ") {
		t.Errorf("warnings are %q, error %v", warnings, err)
	}
}

func TestConfigTemplateDefaults(t *testing.T) {
	const annotation = clusterv1.MachineSetSkipPreflightChecksAnnotation
	template := &bootstrapv1.OpenshiftAssistedConfigTemplate{}
	if err := (configTemplateDefaulter{}).Default(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	if got := template.Annotations[annotation]; got != "ControlPlaneIsStable" {
		t.Errorf("preflight checks that are skipped are %q", got)
	}
	template.Annotations[annotation] = ""
	if err := (configTemplateDefaulter{}).Default(t.Context(), template); err != nil || template.Annotations[annotation] != "" {
		t.Errorf("what a person said is overwritten: %q, %v", template.Annotations[annotation], err)
	}
}

// TestManyProblems shows some of the problems of an object that has thousands, in a request and its answer of a few kilobytes.
func TestManyProblems(t *testing.T) {
	c := &bootstrapv1.OpenshiftAssistedConfig{}
	c.Spec.IgnitionOverride = `{"ignition":{"version":"3.1.0"},"storage":{"files":[{}` + strings.Repeat(",{}", 2000) + `]}}`
	_, err := configs().ValidateCreate(t.Context(), c)
	if err == nil || len(err.Error()) > 64<<10 || !strings.Contains(err.Error(), "more problems are not shown") {
		t.Errorf("%d bytes: %.300v", len(fmt.Sprint(err)), err)
	}
}

// TestFieldsOfTheFileAreNamedByTheObjects replaces the fields that a text about cluster.yaml names.
func TestFieldsOfTheFileAreNamedByTheObjects(t *testing.T) {
	for text, want := range map[string]string{
		"set spec.fips":                  "set spec.config.fips",
		"as spec.hosts[0].hostname says": "as hostname of the OpenshiftAssistedConfig says",
		"as spec.hosts[0].name says":     "as the name of the Machine says",
		"there is no spec.unheard":       "there is no spec.unheard",
	} {
		if got := newWanted().inObjects(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
