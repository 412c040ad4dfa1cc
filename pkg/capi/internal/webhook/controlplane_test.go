package webhook

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
)

// compact is a control plane of three machines that is all right.
func compact() *controlplanev1.OpenshiftAssistedControlPlane {
	c := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "lab", Namespace: "default"}}
	c.Spec.Replicas = new(int32(3))
	c.Spec.DistributionVersion = "4.20.3"
	c.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Metal3MachineTemplate", Name: "lab",
	}
	c.Spec.Config.BaseDomain, c.Spec.Config.PullSecretRef = "example.com", &corev1.LocalObjectReference{Name: "pull-secret"}
	c.Spec.Config.APIVIPs = []string{"192.168.127.100"}
	c.Spec.Config.IngressVIPs = []string{"192.168.127.101"}
	c.Spec.Config.MachineNetwork = []controlplanev1.MachineNetworkEntry{{CIDR: "192.168.127.0/24"}}
	return c
}

// refusal is a change that is refused, and what the refusal says.
type refusal[T any] struct {
	name   string
	change func(T)
	field  string
	text   string
}

func TestControlPlaneRefusals(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	for _, c := range []refusal[plane]{
		{"no version", func(c plane) { c.Spec.DistributionVersion = "" }, "spec.distributionVersion", "write the complete version of OpenShift, such as 4.20.3"},
		{"version too old", func(c plane) { c.Spec.DistributionVersion = "4.13.9" }, "spec.distributionVersion", "OpenShift 4.13.9 is too old for these providers: use 4.14.0 or newer"},
		{"version 3", func(c plane) { c.Spec.DistributionVersion = "3.11.0" }, "spec.distributionVersion", "use 4.14.0 or newer"},
		{"minor version", func(c plane) { c.Spec.DistributionVersion = "4.20" }, "spec.distributionVersion", "write all three numbers, such as 4.20.3"},
		{"version with v", func(c plane) { c.Spec.DistributionVersion = "v4.20.3" }, "spec.distributionVersion", "write all three numbers, such as 4.20.3"},
		{"version from the future", func(c plane) { c.Spec.DistributionVersion = "4.77.0" }, "spec.distributionVersion", "there is no OpenShift 4.77.0"},
		{"Kubernetes version", func(c plane) { c.Spec.Version = "latest" }, "spec.version", "write it as v1.33.4"},
		{"no domain", func(c plane) { c.Spec.Config.BaseDomain = "" }, "spec.config.baseDomain", "is missing"},
		{"domain of one part", func(c plane) { c.Spec.Config.BaseDomain = "example" }, "spec.config.baseDomain", "use a domain of at least two parts"},
		{"name with underscore", func(c plane) { c.Spec.Config.ClusterName = "my_lab" }, "spec.config.clusterName", "cannot be a part of a DNS name"},
		{"name with dot", func(c plane) { c.Spec.Config.ClusterName = "my.lab" }, "spec.config.clusterName", "which only platform None allows"},
		{"Cluster's name with dot", func(c plane) {
			c.Labels = map[string]string{clusterv1.ClusterNameLabel: "my.lab"}
		}, "spec.config.clusterName", `"my.lab" has a dot`},
		{"Cluster's name too long", func(c plane) {
			c.Labels = map[string]string{clusterv1.ClusterNameLabel: strings.Repeat("a", 60)}
		}, "spec.config.clusterName", "is 60 characters long: use at most 54"},
		{"no machines", func(c plane) { c.Spec.Replicas = new(int32(0)) }, "spec.replicas", "use 1, 2 with an arbiter or fencing, 3, 4 or 5"},
		{"six machines", func(c plane) { c.Spec.Replicas = new(int32(6)) }, "spec.replicas", "a cluster cannot have 6 control plane machines"},
		{"two machines", func(c plane) { c.Spec.Replicas = new(int32(2)) }, "spec.replicas", "set config.arbiterReplicas: 1, or config.fencing"},
		{"five machines of 4.17", func(c plane) { c.Spec.Replicas = new(int32(5)); c.Spec.DistributionVersion = "4.17.0" }, "spec.replicas", "need OpenShift 4.18"},
		{"arbiter beside three", func(c plane) { c.Spec.Config.ArbiterReplicas = new(int32(1)) }, "spec.config.arbiterReplicas", "an arbiter needs 2 control plane machines"},
		{"fencing beside three", func(c plane) { c.Spec.Config.Fencing = &controlplanev1.Fencing{} }, "spec.config.fencing", "fencing needs 2 control plane machines"},
		{"arbiter and fencing", func(c plane) {
			c.Spec.Replicas, c.Spec.Config.ArbiterReplicas, c.Spec.Config.Fencing = new(int32(2)), new(int32(1)), &controlplanev1.Fencing{}
		}, "spec.replicas", "not both"},
		{"single node with addresses", func(c plane) { c.Spec.Replicas = new(int32(1)) }, "spec.config.apiVIPs", "a single node has no virtual addresses"},
		{"single node that waits for workers", func(c plane) {
			c.Spec.Replicas, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs, c.Spec.Config.RequiredWorkers = new(int32(1)), nil, nil, new(int32(1))
		}, "spec.replicas", "leave config.requiredWorkers out"},
		{"one address alone", func(c plane) { c.Spec.Config.IngressVIPs = nil }, "spec.config.apiVIPs", "give the same number of addresses for both"},
		{"two addresses of a family", func(c plane) {
			c.Spec.Config.MachineNetwork = append(c.Spec.Config.MachineNetwork, controlplanev1.MachineNetworkEntry{CIDR: "fd00::/64"})
			c.Spec.Config.APIVIPs = []string{"192.168.127.100", "192.168.127.102"}
			c.Spec.Config.IngressVIPs = []string{"192.168.127.101", "fd00::1"}
		}, "spec.config.apiVIPs", "one of each address family"},
		{"address outside", func(c plane) { c.Spec.Config.APIVIPs = []string{"10.1.2.3"} }, "spec.config.apiVIPs[0]", "is not in the machine network"},
		{"no address", func(c plane) { c.Spec.Config.IngressVIPs = []string{"api.example.com"} }, "spec.config.ingressVIPs[0]", "api.example.com"},
		{"same address", func(c plane) { c.Spec.Config.IngressVIPs = c.Spec.Config.APIVIPs }, "spec.config.ingressVIPs[0]", "unless config.loadBalancer.type is UserManaged"},
		{"addresses with platform None", func(c plane) { c.Spec.Config.Platform.Type = controlplanev1.NonePlatform }, "spec.config.apiVIPs", "omit them"},
		{"platform BareMetal without addresses", func(c plane) {
			c.Spec.Config.Platform.Type, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = controlplanev1.BareMetalPlatform, nil, nil
		}, "spec.config.apiVIPs", "set config.apiVIPs and config.ingressVIPs"},
		{"user-managed network", func(c plane) {
			c.Spec.Config.Platform.Type, c.Spec.Config.UserManagedNetworking = controlplanev1.NutanixPlatform, new(true)
			c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = nil, nil
		}, "spec.config.userManagedNetworking", "set config.loadBalancer.type: UserManaged"},
		{"network with host bits", func(c plane) { c.Spec.Config.MachineNetwork[0].CIDR = "192.168.127.1/24" }, "spec.config.machineNetwork[0].cidr", "192.168.127.0/24"},
		{"no network", func(c plane) { c.Spec.Config.ServiceNetwork = []string{"172.30.0.0"} }, "spec.config.serviceNetwork[0]", "172.30.0.0"},
		{"networks overlap", func(c plane) { c.Spec.Config.ServiceNetwork = []string{"192.168.0.0/16"} }, "spec.config.serviceNetwork[0]", "overlaps the machine network"},
		{"addresses among the services", func(c plane) {
			c.Spec.Config.MachineNetwork, c.Spec.Config.ServiceNetwork = nil, []string{"192.168.127.96/28"}
			c.Spec.Config.IngressVIPs = []string{"192.168.127.200"}
		}, "spec.config.apiVIPs[0]", "192.168.127.100 is in the service network 192.168.127.96/28"},
		{"host prefix", func(c plane) {
			c.Spec.Config.ClusterNetwork = []controlplanev1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 27}}
		}, "spec.config.clusterNetwork[0].hostPrefix", "use at most 25"},
		{"ended network type", func(c plane) { c.Spec.Config.NetworkType = "OpenShiftSDN" }, "spec.config.networkType", "use OVNKubernetes"},
		{"MTU of Calico", func(c plane) { c.Spec.Config.NetworkType, c.Spec.Config.MTU = "Calico", 1400 }, "spec.config.mtu", "omit it here"},
		{"time server", func(c plane) { c.Spec.Config.AdditionalNTPSources = []string{"time server"} }, "spec.config.additionalNTPSources[0]", "time server"},
		{"two lists of time servers", func(c plane) {
			c.Spec.Config.NTPSources, c.Spec.Config.AdditionalNTPSources = []string{"10.0.0.1"}, []string{"10.0.0.2"}
		}, "spec.config.additionalNTPSources", "adds servers to spec.config.ntpSources"},
		{"release image with scheme", func(c plane) { c.Spec.Config.ReleaseImage = "https://quay.io/x" }, "spec.config.releaseImage", "without a scheme"},
		{"release image and image set", func(c plane) {
			c.Spec.Config.ReleaseImage, c.Spec.Config.ImageSetRef = "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64", &corev1.LocalObjectReference{Name: "x"}
		}, "spec.config.imageSetRef", "keep one of them"},
		{"architecture", func(c plane) { c.Spec.Config.CPUArchitecture = "x86" }, "spec.config.cpuArchitecture", `did you mean "x86_64"?`},
		{"architecture of the machines", func(c plane) { c.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = "arm65" }, "spec.openshiftAssistedConfigSpec.cpuArchitecture", `did you mean "arm64"?`},
		{"two architectures", func(c plane) {
			c.Spec.Config.CPUArchitecture, c.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = "x86_64", "arm64"
		}, "spec.openshiftAssistedConfigSpec.cpuArchitecture", "spec.config.cpuArchitecture: multi"},
		{"s390x on bare metal", func(c plane) { c.Spec.Config.CPUArchitecture = "s390x" }, "spec.config.platform.type", "set config.platform.type: None"},
		{"proxy", func(c plane) { c.Spec.Config.Proxy = &bootstrapv1.Proxy{HTTPProxy: "proxy:3128"} }, "spec.config.proxy.httpProxy", "http://"},
		{"no proxy", func(c plane) {
			c.Spec.Config.Proxy = &bootstrapv1.Proxy{HTTPProxy: "http://proxy:3128", NoProxy: "a b"}
		}, "spec.config.proxy.noProxy", "neither a host"},
		{"tang without servers", func(c plane) {
			c.Spec.Config.DiskEncryption = &controlplanev1.DiskEncryption{EnableOn: "all", Mode: "tang"}
		}, "spec.config.diskEncryption.tangServers", "list the Tang servers"},
		{"tang servers", func(c plane) {
			c.Spec.Config.DiskEncryption = &controlplanev1.DiskEncryption{EnableOn: "all", Mode: "tang", TangServers: "http://tang"}
		}, "spec.config.diskEncryption.tangServers", "is not a JSON list of servers"},
		{"no mode", func(c plane) { c.Spec.Config.DiskEncryption = &controlplanev1.DiskEncryption{EnableOn: "masters"} }, "spec.config.diskEncryption.mode", "write tpmv2, or tang"},
		{"mirror with scheme", func(c plane) {
			c.Spec.Config.Mirrors = []controlplanev1.Mirror{{Source: "quay.io/a", Mirrors: []string{"https://mirror/a"}}}
		}, "spec.config.mirrors[0].mirrors[0]", `write "mirror/a"`},
		{"certificates", func(c plane) { c.Spec.Config.AdditionalTrustBundle = "none" }, "spec.config.additionalTrustBundle", "PEM"},
		{"private key", func(c plane) { c.Spec.Config.SSHAuthorizedKey = "-----BEGIN OPENSSH PRIVATE KEY-----" }, "spec.config.sshAuthorizedKey", "give the public one"},
		{"capability", func(c plane) { c.Spec.Config.Capabilities.AdditionalEnabledCapabilities = []string{"Marketplace"} }, "spec.config.capabilities.additionalEnabledCapabilities[0]", `did you mean "marketplace"?`},
		{"baseline", func(c plane) { c.Spec.Config.Capabilities.BaselineCapability = "all" }, "spec.config.capabilities.baselineCapability", "write None, vCurrent, or a version"},
		{"baseline of a newer release", func(c plane) { c.Spec.Config.Capabilities.BaselineCapability = "v4.21" }, "spec.config.capabilities.baselineCapability", "not newer than the release"},
		{"operator's properties", func(c plane) {
			c.Spec.Config.Operators = []controlplanev1.Operator{{Name: "lvm", Properties: "[]"}}
		}, "spec.config.operators[0].properties", "is not a JSON object"},
		{"bundle", func(c plane) { c.Spec.Config.Bundles = []controlplanev1.Bundle{{Name: "Virtualization"}} }, "spec.config.bundles[0].name", "lower-case"},
		{"validation that is never ignored", func(c plane) { c.Spec.Config.IgnoreValidations.Hosts = []string{"connected"} }, "spec.config.ignoreValidations.hosts[0]", "does not let connected be ignored"},
		{"overrides", func(c plane) { c.Spec.Config.InstallConfigOverrides = "fips: true" }, "spec.config.installConfigOverrides", "is not a JSON object"},
		{"pull secret in overrides", func(c plane) { c.Spec.Config.InstallConfigOverrides = `{"pullSecret": "x"}` }, "spec.config.installConfigOverrides.pullSecret", ""},
		{"overrides by annotation", func(c plane) {
			c.Annotations = map[string]string{controlplanev1.InstallConfigOverrideAnnotation: "{"}
		}, "metadata.annotations[controlplane.cluster.x-k8s.io/install-config-override]", "is not a JSON object"},
		{"Ignition endpoint", func(c plane) { c.Spec.Config.IgnitionEndpoint = &controlplanev1.IgnitionEndpoint{URL: "api-int:22623"} }, "spec.config.ignitionEndpoint.url", "write it as http://HOST:PORT"},
		{"negative wait", func(c plane) { c.Spec.Config.WorkerWait = &metav1.Duration{Duration: -time.Minute} }, "spec.config.workerWait", "write how long to wait"},
		{"gate", func(c plane) { c.Spec.Upgrade.Acknowledge = []string{"4.19"} }, "spec.upgrade.acknowledge[0]", "write its key"},
		{"surge", func(c plane) {
			c.Spec.Rollout.Strategy = controlplanev1.RolloutStrategy{Type: controlplanev1.RollingUpdateStrategy, RollingUpdate: controlplanev1.RollingUpdate{MaxSurge: new(intstr.FromInt32(2))}}
		}, "spec.rollout.strategy.rollingUpdate.maxSurge", "use 1 or 0"},
		{"rollout of a single node", func(c plane) {
			c.Spec.Replicas, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = new(int32(1)), nil, nil
			c.Spec.Rollout.Strategy.Type = controlplanev1.RollingUpdateStrategy
		}, "spec.rollout.strategy.type", "set OnDelete"},
		{"one hostname for three", func(c plane) { c.Spec.OpenshiftAssistedConfigSpec.Hostname = "cp-0" }, "spec.openshiftAssistedConfigSpec.hostname", "gives the same name to 3 machines"},
		{"label", func(c plane) { c.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"a b": "c"} }, "spec.machineTemplate.metadata.labels", "a b"},
		{"machine", func(c plane) { c.Spec.OpenshiftAssistedConfigSpec.NodeLabels = map[string]string{"rack": "a b"} }, "spec.openshiftAssistedConfigSpec.nodeLabels.rack", "cannot be the value of a label"},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := compact()
			c.change(object)
			_, err := controlPlanes().ValidateCreate(t.Context(), object)
			expectRefusal(t, err, c.field, c.text)
		})
	}
}

// expectRefusal expects an error that names one field, and says something of it in the words of
// the objects.
func expectRefusal(t *testing.T, err error, field, text string) {
	t.Helper()
	status, is := errors.AsType[*apierrors.StatusError](err)
	if !is {
		t.Fatalf("it was admitted: %v", err)
	}
	var said []string
	found := false
	for _, cause := range status.ErrStatus.Details.Causes {
		said = append(said, cause.Field+": "+cause.Message)
		found = found || cause.Field == field && strings.Contains(cause.Message, text)
		for _, foreign := range []string{"spec.network.", "spec.topology", "spec.openshift.", "spec.hosts", "`oaictl", "cluster.yaml", "platform: none", "invalid value: {"} {
			if strings.Contains(strings.ToLower(cause.Field+" "+cause.Message), foreign) {
				t.Errorf("%s: %s has words of another format", cause.Field, cause.Message)
			}
		}
	}
	if !found {
		t.Errorf("nothing says %s: …%s…\n%s", field, text, strings.Join(said, "\n"))
	}
	if len(said) > 1 {
		t.Errorf("one thing is wrong, but %d were told:\n%s", len(said), strings.Join(said, "\n"))
	}
}

func TestControlPlanesThatAreAdmitted(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	for name, change := range map[string]func(plane){
		"compact": func(plane) {},
		"four":    func(c plane) { c.Spec.Replicas = new(int32(4)) },
		"OKD":     func(c plane) { c.Spec.DistributionVersion = "4.19.0-okd-scos.5" },
		"nightly": func(c plane) { c.Spec.DistributionVersion = "4.21.0-0.nightly-2025-11-01-000000" },
		"none":    func(c plane) { c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = nil, nil },
		"arbiter": func(c plane) { c.Spec.Replicas, c.Spec.Config.ArbiterReplicas = new(int32(2)), new(int32(1)) },
		"fencing": func(c plane) { c.Spec.Replicas, c.Spec.Config.Fencing = new(int32(2)), &controlplanev1.Fencing{} },
		"aarch64": func(c plane) { c.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = "aarch64" },
		"multi": func(c plane) {
			c.Spec.Config.CPUArchitecture = "multi"
			c.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = "arm64"
		},
		"no disks": func(c plane) { c.Spec.Config.DiskEncryption = &controlplanev1.DiskEncryption{EnableOn: "none"} },
		"single node": func(c plane) {
			c.Spec.Replicas, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = new(int32(1)), nil, nil
		},
		"Cluster of a name that the cluster does not have": func(c plane) {
			c.Labels, c.Spec.Config.ClusterName = map[string]string{clusterv1.ClusterNameLabel: "my.lab"}, "lab"
		},
		// The Cluster says its pods' and services' networks.
		"addresses among the default services": func(c plane) {
			c.Spec.Config.MachineNetwork, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = nil, []string{"172.30.0.100"}, []string{"172.30.0.101"}
		},
		"IPv6": func(c plane) {
			c.Spec.Config.MachineNetwork[0].CIDR, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = "2001:db8::/64", []string{"2001:db8::100"}, []string{"2001:db8::101"}
		},
		"network of the default pods": func(c plane) {
			c.Spec.Config.MachineNetwork[0].CIDR, c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = "10.128.0.0/24", []string{"10.128.0.100"}, []string{"10.128.0.101"}
		},
		"oci": func(c plane) {
			c.Spec.Config.APIVIPs, c.Spec.Config.IngressVIPs = nil, nil
			c.Spec.Config.Platform = controlplanev1.Platform{Type: controlplanev1.ExternalPlatform, External: &controlplanev1.ExternalPlatformSpec{PlatformName: "oci", CloudControllerManager: "External"}}
		},
		"vSphere": func(c plane) { c.Spec.Config.Platform.Type = controlplanev1.VSpherePlatform },
		"everything": func(c plane) {
			c.Spec.Version = "v1.33.4"
			c.Spec.Config.ClusterName, c.Spec.Config.Tags = "lab", []string{"one", "two words"}
			c.Spec.Config.Hyperthreading, c.Spec.Config.FIPS, c.Spec.Config.MastersSchedulable = "masters,workers", new(true), new(true)
			c.Spec.Config.DiskEncryption = &controlplanev1.DiskEncryption{EnableOn: "masters,workers", Mode: "tang", TangServers: `[{"url":"http://tang.example.com:7500","thumbprint":"PLjNyRdGw03zlRoGjQYMahSZGu9abcdefgh"}]`}
			c.Spec.Config.ServiceNetwork = []string{"172.31.0.0/16"}
			c.Spec.Config.ClusterNetwork = []controlplanev1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14", HostPrefix: 23}}
			c.Spec.Config.LoadBalancer = &controlplanev1.LoadBalancer{Type: controlplanev1.UserManagedLoadBalancer}
			c.Spec.Config.Operators = []controlplanev1.Operator{{Name: "lvm", Properties: `{"a": 1}`}, {Name: "odf"}, {Name: "numaresources"}}
			c.Spec.Config.Bundles = []controlplanev1.Bundle{{Name: "virtualization", Optional: []string{"kmm"}}}
			c.Spec.Config.Capabilities = controlplanev1.Capabilities{BaselineCapability: "v4.20", AdditionalEnabledCapabilities: []string{"Console", "baremetal"}}
			c.Spec.Config.InstallConfigOverrides = `{"featureSet": "TechPreviewNoUpgrade"}`
			c.Spec.Config.IgnoreValidations.Cluster = []string{"all"}
			c.Spec.Config.Mirrors = []controlplanev1.Mirror{{Source: "quay.io/openshift-release-dev/ocp-release", Mirrors: []string{"mirror.example.com:5000/ocp"}}}
			c.Spec.Upgrade.Acknowledge = []string{"ack-4.19-kube-1.33-api-removals-in-4.20"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := compact()
			change(object)
			warnings, err := controlPlanes().ValidateCreate(t.Context(), object)
			if err != nil || len(warnings) > 0 {
				t.Errorf("it is refused: %v, warnings %q", err, warnings)
			}
		})
	}
}

func TestControlPlaneWarnings(t *testing.T) {
	object := compact()
	object.Spec.DistributionVersion = "4.29.0"
	object.Spec.Config.Operators = []controlplanev1.Operator{{Name: "lvm"}, {Name: "brand-new"}}
	object.Spec.Config.Capabilities.AdditionalEnabledCapabilities = []string{"BrandNew"}
	warnings, err := controlPlanes().ValidateCreate(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], `additionalEnabledCapabilities[0]: OpenShift has no capability "BrandNew"`) || !strings.Contains(warnings[1], `operators[1].name: the operator "brand-new" is not known to these providers`) {
		t.Errorf("warnings are %q", warnings)
	}
}

// TestControlPlaneDoubts warns of what is taken and most likely does nothing, or not what was meant.
func TestControlPlaneDoubts(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	for name, test := range map[string]struct {
		change func(plane)
		says   string
	}{
		"no pull secret":          {func(c plane) { c.Spec.Config.PullSecretRef = nil }, "spec.config.pullSecretRef: is missing"},
		"a channel":               {func(c plane) { c.Spec.Upgrade.Channel = "stable" }, `spec.upgrade.channel: the public update service has no channel "stable"`},
		"a validation of a host":  {func(c plane) { c.Spec.Config.IgnoreValidations.Hosts = []string{"all", "has-luck"} }, "spec.config.ignoreValidations.hosts[1]: no validation of a host"},
		"one of the wrong list":   {func(c plane) { c.Spec.Config.IgnoreValidations.Cluster = []string{"has-min-cpu-cores"} }, "spec.config.ignoreValidations.cluster[0]: no validation of a cluster"},
		"OKD without pull secret": {func(c plane) { c.Spec.Config.PullSecretRef, c.Spec.DistributionVersion = nil, "4.19.0-okd-scos.5" }, ""},
		"known ones": {func(c plane) {
			c.Spec.Upgrade.Channel, c.Spec.Config.IgnoreValidations.Hosts = "eus-4.20", []string{"has-min-cpu-cores"}
		}, ""},
	} {
		object := compact()
		test.change(object)
		warnings, err := controlPlanes().ValidateCreate(t.Context(), object)
		if err != nil || (len(warnings) == 1) != (test.says != "") || test.says != "" && !strings.HasPrefix(warnings[0], test.says) {
			t.Errorf("%s: %q, %v", name, warnings, err)
		}
	}
}

func TestControlPlaneDefaults(t *testing.T) {
	c := &controlplanev1.OpenshiftAssistedControlPlane{}
	c.Spec.Version = "1.33.4"
	if err := (controlPlaneDefaulter{}).Default(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if *c.Spec.Replicas != 3 || c.Spec.Version != "v1.33.4" {
		t.Errorf("defaults are %d replicas and version %s", *c.Spec.Replicas, c.Spec.Version)
	}
	banana := c.DeepCopy()
	banana.Spec.Version = "banana"
	if err := (controlPlaneDefaulter{}).Default(t.Context(), banana); err != nil || banana.Spec.Version != "banana" {
		t.Errorf("what is no version becomes %s: %v", banana.Spec.Version, err)
	}
	again := c.DeepCopy()
	if err := (controlPlaneDefaulter{}).Default(t.Context(), again); err != nil || *again.Spec.Replicas != 3 || again.Spec.Version != c.Spec.Version {
		t.Errorf("defaults change what they made: %+v, %v", again.Spec, err)
	}
}

func TestControlPlaneChanges(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	installed := func(c plane) {
		c.Status.Initialization.ControlPlaneInitialized = new(true)
		c.Status.DistributionVersion = "4.20.3"
	}
	installing := func(c plane) { c.Status.Installation.State = "Installing" }
	discovering := func(c plane) {
		c.Status.Installation.State, c.Annotations = "Discovering", map[string]string{"oaictl.io/run": "abc"}
	}
	nameTaken := func(plane) {}
	takenOver := func(c plane) { c.Annotations = map[string]string{"oaictl.io/cluster-id": "ns/lab"} }
	for _, c := range []struct {
		name   string
		state  func(plane)
		change func(plane)
		field  string // "" for what is admitted
		text   string
	}{
		{"domain", discovering, func(c plane) { c.Spec.Config.BaseDomain = "example.org" }, "spec.config.baseDomain", "create another cluster"},
		{"name", discovering, func(c plane) { c.Spec.Config.ClusterName = "other" }, "spec.config.clusterName", "create another cluster"},
		{"name that was taken", nameTaken, func(c plane) { c.Spec.Config.ClusterName = "other" }, "", ""},
		{"domain before it is known", nameTaken, func(c plane) { c.Spec.Config.BaseDomain = "example.org" }, "", ""},
		{"name of one that is taken over", takenOver, func(c plane) { c.Spec.Config.ClusterName = "other" }, "spec.config.clusterName", "create another cluster"},
		{"addresses while discovering", discovering, func(c plane) { c.Spec.Config.APIVIPs = []string{"192.168.127.200"} }, "", ""},
		{"addresses while installing", installing, func(c plane) { c.Spec.Config.APIVIPs = []string{"192.168.127.200"} }, "spec.config.apiVIPs", "the installation has started"},
		{"domain while installing", installing, func(c plane) { c.Spec.Config.BaseDomain = "example.org" }, "spec.config.baseDomain", "the installation has started"},
		{"FIPS when installed", installed, func(c plane) { c.Spec.Config.FIPS = new(true) }, "spec.config.fips", "make the change in the cluster itself"},
		{"false is nothing", installed, func(c plane) { c.Spec.Config.FIPS = new(false) }, "", ""},
		{"hold when installed", installed, func(c plane) { c.Spec.Config.HoldInstallation = true }, "", ""},
		{"pull secret when installed", installed, func(c plane) { c.Spec.Config.PullSecretRef = &corev1.LocalObjectReference{Name: "new"} }, "", ""},
		{"upgrade", installed, func(c plane) { c.Spec.DistributionVersion = "4.20.4" }, "", ""},
		{"older version", installed, func(c plane) { c.Spec.DistributionVersion = "4.19.9" }, "spec.distributionVersion", "the cluster runs 4.20.3, and OpenShift cannot be downgraded: set 4.20.3 or a newer version"},
		{"older version while discovering", discovering, func(c plane) { c.Spec.DistributionVersion = "4.19.9" }, "", ""},
		{"more machines", installed, func(c plane) { c.Spec.Replicas = new(int32(5)) }, "", ""},
		{"fewer machines", installed, func(c plane) { c.Spec.Replicas = new(int32(2)) }, "spec.replicas", "need a third vote"},
		{"another template", installed, func(c plane) { c.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "new" }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := compact()
			c.state(before)
			after := before.DeepCopy()
			c.change(after)
			_, err := controlPlanes().ValidateUpdate(t.Context(), before, after)
			if c.field == "" {
				if err != nil {
					t.Errorf("it is refused: %v", err)
				}
				return
			}
			expectRefusal(t, err, c.field, c.text)
		})
	}
}

// TestOverridesByAnnotation: the annotations of a control plane, and of its template of Machines, are given to the configs
// of its machines, and are refused where those would be. Of two that say the same the control plane's counts.
func TestOverridesByAnnotation(t *testing.T) {
	const own, machines = "metadata.annotations[%s]", "spec.machineTemplate.metadata.annotations[%s]"
	const newer, broken = `{"ignition": {"version": "3.5.0"}}`, "{]"
	discovery, install := bootstrapv1.DiscoveryIgnitionOverrideAnnotation, bootstrapv1.IgnitionOverrideAnnotation
	for name, c := range map[string]struct {
		own, machines   map[string]string
		at, field, text string // at is "" for what is admitted
	}{
		"sound":                         {map[string]string{discovery: newer, install: soundIgnition}, map[string]string{discovery: soundIgnition, install: soundIgnition}, "", "", ""},
		"other annotations":             {map[string]string{"a": broken}, map[string]string{"b": broken}, "", "", ""},
		"no JSON":                       {map[string]string{install: broken}, nil, own, install, "is not an Ignition config"},
		"discovery":                     {map[string]string{discovery: broken}, nil, own, discovery, "is not an Ignition config"},
		"newer than the service takes":  {map[string]string{install: newer}, nil, own, install, "up to 3.2.0"},
		"of machines":                   {nil, map[string]string{install: broken}, machines, install, "is not an Ignition config"},
		"of machines, discovery":        {map[string]string{install: soundIgnition}, map[string]string{discovery: broken}, machines, discovery, "is not an Ignition config"},
		"of machines, without effect":   {map[string]string{install: soundIgnition}, map[string]string{install: broken}, "", "", ""},
		"taken back for machines":       {map[string]string{install: ""}, map[string]string{install: broken}, "", "", ""},
		"in place of those of machines": {map[string]string{install: broken}, map[string]string{install: soundIgnition}, own, install, "is not an Ignition config"},
	} {
		t.Run(name, func(t *testing.T) {
			expect := func(err error, below string) {
				t.Helper()
				if c.at != "" {
					expectRefusal(t, err, below+fmt.Sprintf(c.at, c.field), c.text)
				} else if err != nil {
					t.Errorf("it is refused: %v", err)
				}
			}
			before := compact()
			plane := before.DeepCopy()
			plane.Annotations, plane.Spec.MachineTemplate.ObjectMeta.Annotations = c.own, c.machines
			_, err := controlPlanes().ValidateCreate(t.Context(), plane)
			expect(err, "")
			_, err = controlPlanes().ValidateUpdate(t.Context(), before, plane)
			expect(err, "")

			template := &controlplanev1.OpenshiftAssistedControlPlaneTemplate{}
			template.Spec.Template.ObjectMeta.Annotations = c.own
			template.Spec.Template.Spec.MachineTemplate.ObjectMeta.Annotations = c.machines
			_, err = controlPlaneTemplates().ValidateCreate(t.Context(), template)
			expect(err, "spec.template.")
		})
	}
}

// TestOverridesThatAreThereHoldNothingUp: a control plane that was taken with a wrong override can be changed in all other
// ways, and be corrected.
func TestOverridesThatAreThereHoldNothingUp(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	key := bootstrapv1.IgnitionOverrideAnnotation
	before := compact()
	before.Annotations = map[string]string{key: "{]"}
	before.Spec.MachineTemplate.ObjectMeta.Annotations = map[string]string{bootstrapv1.DiscoveryIgnitionOverrideAnnotation: "{]"}
	for name, change := range map[string]func(plane){
		"a finalizer":        func(c plane) { c.Finalizers = []string{controlplanev1.ControlPlaneFinalizer} },
		"another annotation": func(c plane) { c.Annotations["oaictl.io/machines-made"] = "3" },
		"a status":           func(c plane) { c.Status.Installation.State = "Installing" },
		"more machines":      func(c plane) { c.Spec.Replicas = new(int32(5)) },
		"a correction":       func(c plane) { c.Annotations[key] = soundIgnition },
		"none any more":      func(c plane) { delete(c.Annotations, key) },
	} {
		after := before.DeepCopy()
		change(after)
		if _, err := controlPlanes().ValidateUpdate(t.Context(), before, after); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	after := before.DeepCopy()
	after.Annotations[key] = "{}"
	_, err := controlPlanes().ValidateUpdate(t.Context(), before, after)
	expectRefusal(t, err, "metadata.annotations["+key+"]", "is not an Ignition config")
}

// TestNothingThatIsThereIsHeldUp changes what is wrong already in ways that do not make it
// worse.
func TestNothingThatIsThereIsHeldUp(t *testing.T) {
	wrong := compact()
	wrong.Spec.Config.APIVIPs = nil

	finalizer := wrong.DeepCopy()
	finalizer.Finalizers = []string{controlplanev1.ControlPlaneFinalizer}
	if _, err := controlPlanes().ValidateUpdate(t.Context(), wrong, finalizer); err != nil {
		t.Errorf("a finalizer cannot be written: %v", err)
	}
	other := wrong.DeepCopy()
	other.Spec.Config.HoldInstallation = true
	if _, err := controlPlanes().ValidateUpdate(t.Context(), wrong, other); err != nil {
		t.Errorf("another field cannot be changed: %v", err)
	}
	worse := wrong.DeepCopy()
	worse.Spec.Config.BaseDomain = "example"
	_, err := controlPlanes().ValidateUpdate(t.Context(), compact(), worse)
	if err == nil {
		t.Error("an update makes it worse")
	}
	leaving := wrong.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	leaving.Spec.Config.BaseDomain = ""
	if _, err := controlPlanes().ValidateUpdate(t.Context(), wrong, leaving); err != nil {
		t.Errorf("what is being deleted cannot be changed: %v", err)
	}
	if _, err := controlPlanes().ValidateDelete(t.Context(), wrong); err != nil {
		t.Errorf("it cannot be deleted: %v", err)
	}
}

// TestWhatIsMovedHereIsTaken: what is wrong with the objects of an installed cluster, of another provider say, does not
// keep them from being moved. They get warnings, and new objects with the same errors are refused.
func TestWhatIsMovedHereIsTaken(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	for field, change := range map[string]func(plane){
		"spec.config.apiVIPs": func(c plane) { c.Spec.Config.IngressVIPs = nil },
		"spec.config.capabilities.additionalEnabledCapabilities[0]": func(c plane) { c.Spec.Config.Capabilities.AdditionalEnabledCapabilities = []string{"Marketplace"} },
		"spec.config.proxy.httpProxy":                               func(c plane) { c.Spec.Config.Proxy = &bootstrapv1.Proxy{HTTPProxy: "proxy:3128"} },
		"spec.distributionVersion":                                  func(c plane) { c.Spec.DistributionVersion = "4.13.9" },
	} {
		object := compact()
		change(object)
		if _, err := controlPlanes().ValidateCreate(t.Context(), object); err == nil {
			t.Errorf("%s: a new one is admitted", field)
		}
		object.Annotations = map[string]string{clusterspec.AnnotationOpenShiftID: "8f5c"}
		warnings, err := controlPlanes().ValidateCreate(t.Context(), object)
		if err != nil || len(warnings) == 0 || !strings.HasPrefix(warnings[0], field+": ") {
			t.Errorf("%s: %v, warnings %q", field, err, warnings)
		}
	}
	for owner, admitted := range map[metav1.OwnerReference]bool{
		{}: false,
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "w-1"}:                                  true,
		{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Name: "w-1"}:                                       true,
		{APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine", Name: "w-1"}:                                   false,
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "w"}:                                 false,
		{APIVersion: "controlplane.cluster.x-k8s.io/v1beta1", Kind: "OpenshiftAssistedControlPlane", Name: "lab-cp"}: false,
	} {
		config := &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}}
		config.Spec.Proxy = &bootstrapv1.Proxy{HTTPProxy: "proxy:3128"}
		warnings, err := configs().ValidateCreate(t.Context(), config)
		if (err == nil) != admitted || admitted && (len(warnings) != 1 || !strings.HasPrefix(warnings[0], "spec.proxy.httpProxy: ")) {
			t.Errorf("of %s %s: %v, warnings %q", owner.APIVersion, owner.Kind, err, warnings)
		}
	}
}

// TestOnlyAnInstalledClusterIsTakenUnchecked: a control plane that no longer says that its cluster is installed has to
// be right as a new one has to, and one that still says so is not refused.
func TestOnlyAnInstalledClusterIsTakenUnchecked(t *testing.T) {
	wrong := compact()
	wrong.Spec.Config.BaseDomain = "example"
	moved := wrong.DeepCopy()
	moved.Annotations = map[string]string{clusterspec.AnnotationOpenShiftID: "8f5c"}
	_, err := controlPlanes().ValidateUpdate(t.Context(), moved, wrong)
	expectRefusal(t, err, "spec.config.baseDomain", "use a domain of at least two parts")
	if _, err := controlPlanes().ValidateUpdate(t.Context(), wrong, moved); err != nil {
		t.Errorf("an older one is not noted to be installed: %v", err)
	}
	another := moved.DeepCopy()
	another.Spec.Config.HoldInstallation = true
	if _, err := controlPlanes().ValidateUpdate(t.Context(), moved, another); err != nil {
		t.Errorf("what is wrong with an installed one holds it up: %v", err)
	}
	right := compact()
	right.Annotations = moved.Annotations
	if _, err := controlPlanes().ValidateUpdate(t.Context(), right, compact()); err != nil {
		t.Errorf("of one that is right it is not taken off: %v", err)
	}
}

func TestControlPlaneTemplates(t *testing.T) {
	made := func() *controlplanev1.OpenshiftAssistedControlPlaneTemplate {
		template := &controlplanev1.OpenshiftAssistedControlPlaneTemplate{ObjectMeta: metav1.ObjectMeta{Name: "compact"}}
		template.Spec.Template.Spec.Config.Platform.Type = controlplanev1.BareMetalPlatform
		return template
	}
	if warnings, err := controlPlaneTemplates().ValidateCreate(t.Context(), made()); err != nil || len(warnings) > 0 {
		t.Errorf("a template without what patches add is refused: %v, %q", err, warnings)
	}
	type template = *controlplanev1.OpenshiftAssistedControlPlaneTemplate
	for _, c := range []refusal[template]{
		{"version", func(c template) { c.Spec.Template.Spec.DistributionVersion = "4.9.0" }, "spec.template.spec.distributionVersion", "use 4.14.0 or newer"},
		{"address", func(c template) {
			c.Spec.Template.Spec.Config.APIVIPs, c.Spec.Template.Spec.Config.IngressVIPs = []string{"a"}, []string{"192.0.2.1"}
		}, "spec.template.spec.config.apiVIPs[0]", "a"},
		{"machine", func(c template) { c.Spec.Template.Spec.OpenshiftAssistedConfigSpec.IgnitionOverride = "{}" }, "spec.template.spec.openshiftAssistedConfigSpec.ignitionOverride", "is not an Ignition config"},
		{"label", func(c template) {
			c.Spec.Template.ObjectMeta.Labels = map[string]string{"rack": "/"}
		}, "spec.template.metadata.labels", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := made()
			c.change(object)
			_, err := controlPlaneTemplates().ValidateCreate(t.Context(), object)
			expectRefusal(t, err, c.field, c.text)
		})
	}
	changed := made()
	changed.Spec.Template.Spec.DistributionVersion = "4.20.3"
	_, err := controlPlaneTemplates().ValidateUpdate(t.Context(), made(), changed)
	expectRefusal(t, err, "spec.template", "create a template with another name")
}
