package clusterspec

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFX/z0ah+fbuI7LXW5tFC4gxw1DoQCnu9xhS4IRmywpu me@example.com"

const controlPlane = `
metadata: {name: lab-plane, namespace: ns, annotations: {oaictl.io/run: abcdefghijkl}}
spec:
  replicas: 3
  distributionVersion: "4.20.3"
  config:
    clusterName: edge
    baseDomain: example.com
    apiVIPs: [192.168.127.100]
    ingressVIPs: [192.168.127.101]
    pullSecretRef: {name: pull}
    sshAuthorizedKey: ` + publicKey + `
    networkType: OVNKubernetes
    mtu: 1400
    additionalNTPSources: [ntp.example.com]
    hyperthreading: masters
    proxy: {httpProxy: "http://proxy.example.com:3128", noProxy: ".example.com,10.0.0.0/8"}
    imageRegistryRef: {name: mirrors}
    manifestsConfigMapRefs: [{name: extra}]
    installConfigOverrides: '{"fips": true}'
`

// objects are a Cluster with a control plane of three Machines and a worker, in their order.
func objects(t *testing.T) []client.Object {
	t.Helper()
	plane := &controlplanev1.OpenshiftAssistedControlPlane{}
	if err := yaml.UnmarshalStrict([]byte(controlPlane), plane); err != nil {
		t.Fatal(err)
	}
	list := []client.Object{
		&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "lab", Namespace: "ns"}, Spec: clusterv1.ClusterSpec{
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.Group, Kind: "OpenshiftAssistedControlPlane", Name: "lab-plane"},
			ClusterNetwork:  clusterv1.ClusterNetwork{Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.128.0.0/14"}}, Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"172.30.0.0/16"}}},
		}},
		plane,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "ns"}, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"quay.io":{"auth":"dTpw"}}}`)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra", Namespace: "ns"}, Data: map[string]string{"b.yaml": "kind: B\n", "a.yaml": "kind: A\n"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mirrors", Namespace: "ns"}, Data: map[string]string{"registries.conf": "[[registry]]\nlocation = \"quay.io/openshift-release-dev\"\n[[registry.mirror]]\nlocation = \"mirror.example.com/ocp\"\n"}},
		&clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "ns", Labels: map[string]string{clusterv1.ClusterNameLabel: "lab"}}, Spec: clusterv1.MachineDeploymentSpec{Replicas: ptr.To[int32](1)}},
	}
	for _, name := range []string{"cp-0", "cp-1", "cp-2", "w-0"} {
		labels := map[string]string{clusterv1.ClusterNameLabel: "lab"}
		var owners []metav1.OwnerReference
		if strings.HasPrefix(name, "cp") {
			labels[clusterv1.MachineControlPlaneLabel] = ""
		} else {
			owners = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "workers-x", UID: "u"}}
		}
		list = append(list,
			&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: labels, OwnerReferences: owners}, Spec: clusterv1.MachineSpec{
				ClusterName: "lab", Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.Group, Kind: bootstrapv1.ConfigKind, Name: name + "-config"}},
			}},
			&bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Name: name + "-config", Namespace: "ns"}, Spec: bootstrapv1.OpenshiftAssistedConfigSpec{
				AdditionalNTPSources: []string{"ntp2.example.com"}, NodeLabels: map[string]string{"rack": "a"},
				KernelArguments: []bootstrapv1.KernelArgument{{Operation: bootstrapv1.KernelArgumentAppend, Value: "quiet"}},
			}},
		)
	}
	return list
}

func sourceOf(t *testing.T, list []client.Object) *Source {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(kubescheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(list...).Build()
	return &Source{Client: c, Live: c, Hub: true, Keys: &recordmark.Keys{Cached: c, Live: c}}
}

var lab = clusterloop.Key{Namespace: "ns", Name: "lab"}

func TestDesire(t *testing.T) {
	d, err := sourceOf(t, objects(t)).Desire(t.Context(), lab, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := d.Spec
	is := func(what string, ok bool) {
		if !ok {
			t.Errorf("%s is not as the objects say", what)
		}
	}
	is("the name", c.Metadata.Name == "edge")
	is("the version", c.Spec.OpenShift.Version == "4.20.3")
	is("the platform", c.Spec.Platform.Type == spec.BareMetal)
	is("the pull secret", c.Spec.PullSecret.SecretRef != nil && c.Spec.PullSecret.SecretRef.Name == "pull")
	is("the pods' network", len(c.Spec.Network.Cluster) == 1 && c.Spec.Network.Cluster[0] == spec.ClusterNetwork{CIDR: "10.128.0.0/14", HostPrefix: 23})
	is("the services' network", slices.Equal(c.Spec.Network.Service, []string{"172.30.0.0/16"}))
	is("hyperthreading", slices.Equal(c.Spec.Hyperthreading, spec.RoleSet{"control-plane"}))
	is("the proxy", c.Spec.Proxy.HTTP.Reveal() == "http://proxy.example.com:3128" && slices.Equal(c.Spec.Proxy.No, spec.StringList{".example.com", "10.0.0.0/8"}))
	is("the mirrors", len(c.Spec.Registry.Mirrors) == 1 && c.Spec.Registry.Mirrors[0].Mirrors[0] == "mirror.example.com/ocp")
	is("fips", c.Spec.Overrides.InstallConfig["fips"] == true)
	capabilities, _ := c.Spec.Overrides.InstallConfig["capabilities"].(map[string]any)
	is("the capabilities", capabilities["baselineCapabilitySet"] == "None")
	var files []string
	for _, m := range c.ManifestFiles() {
		files = append(files, m.Name)
	}
	is("the manifests", slices.Contains(files, "a.yaml") && slices.Contains(files, "b.yaml"))
	if len(c.Spec.Hosts) != 4 {
		t.Fatalf("%d hosts", len(c.Spec.Hosts))
	}
	cp, w := &c.Spec.Hosts[0], &c.Spec.Hosts[3]
	is("a host", cp.Name == "cp-0" && cp.Role == spec.ControlPlane && cp.Match.InfraEnv == "cp-0-config" && cp.Hostname == "cp-0")
	is("a worker", w.Role == spec.Worker && w.Labels["rack"] == "a")
	is("the installer's arguments", slices.Equal(w.InstallerArgs, []string{"--append-karg", "quiet"}))
	is("the time servers of an image", w.Discovery != nil && slices.Equal(w.Discovery.NTP, []string{"ntp.example.com", "ntp2.example.com"}))
	is("the image", w.Discovery != nil && w.Discovery.Image == spec.ImageFull)
	is("the label of the Cluster", d.Options.Labels[clusterv1.ClusterNameLabel] == "lab")
	is("no nodes", !d.Options.AddNodes)
}

// TestDesireOfTheRest: the other fields of a control plane lead to the desired state, and an annotation of earlier
// providers to the field of the same meaning. A control plane without a pull secret gets an empty one of its own, and
// no Secret that others share.
func TestDesireOfTheRest(t *testing.T) {
	list := objects(t)
	plane := list[1].(*controlplanev1.OpenshiftAssistedControlPlane)
	plane.Annotations[controlplanev1.InstallConfigOverrideAnnotation] = `{"fips": false, "featureSet": "TechPreviewNoUpgrade"}`
	config := &plane.Spec.Config
	config.PullSecretRef, config.MastersSchedulable = nil, new(true)
	config.DiskEncryption = &controlplanev1.DiskEncryption{EnableOn: "masters,workers", Mode: "tang", TangServers: `[{"url":"http://tang.example.com:7500","thumbprint":"PLjNyRdGw03zlRoGjQYMahSZGu9abcdefgh"}]`}
	config.Capabilities = controlplanev1.Capabilities{BaselineCapability: "v4.20", AdditionalEnabledCapabilities: []string{"Storage", "Console"}}
	d, err := sourceOf(t, list).Desire(t.Context(), lab, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &d.Spec.Spec
	if c.PullSecret.SecretRef != nil || d.Spec.PullSecret().Reveal() != placeholderPullSecret {
		t.Errorf("the pull secret is %+v", c.PullSecret)
	}
	if c.SchedulableControlPlane == nil || !*c.SchedulableControlPlane {
		t.Error("no pods of workers run on the control plane")
	}
	if e := c.DiskEncryption; e == nil || e.Mode != "tang" || !slices.Equal(e.On, spec.RoleSet{"control-plane", "worker"}) || len(e.Tang) != 1 || e.Tang[0].URL != "http://tang.example.com:7500" {
		t.Errorf("encrypted is %+v", e)
	}
	overrides := c.Overrides.InstallConfig
	capabilities, _ := overrides["capabilities"].(map[string]any)
	added, _ := capabilities["additionalEnabledCapabilities"].([]any)
	if capabilities["baselineCapabilitySet"] != "v4.20" || !slices.Contains(added, any("Storage")) {
		t.Errorf("the capabilities are %v", capabilities)
	}
	if overrides["featureSet"] != "TechPreviewNoUpgrade" || overrides["fips"] != true {
		t.Errorf("overridden is %v", overrides)
	}
}

// TestWhatIsAdditionalTakesNothingAway: of the image of a machine whose config names certificates or time servers, those
// of the control plane are as well, before the installation and afterwards.
func TestWhatIsAdditionalTakesNothingAway(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "examples", "shared", "mirror-ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	certificate := func(of string) string { return "# " + of + "\n" + strings.TrimSpace(string(text)) }
	for name, test := range map[string]struct {
		objects  func(*testing.T) []client.Object
		observed *model.Observed
	}{
		"before":     {objects, nil},
		"afterwards": {moved, &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge"}, State: model.ClusterAddingHosts}}},
	} {
		for ntp, change := range map[string]func(*controlplanev1.OpenshiftAssistedControlPlaneConfigSpec){
			"additional time servers": func(*controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) {},
			"the only time servers": func(c *controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) {
				c.NTPSources, c.AdditionalNTPSources = c.AdditionalNTPSources, nil
			},
		} {
			t.Run(name+", "+ntp, func(t *testing.T) {
				list := test.objects(t)
				for _, o := range list {
					switch o := o.(type) {
					case *controlplanev1.OpenshiftAssistedControlPlane:
						o.Spec.Config.AdditionalTrustBundle = certificate("cluster")
						change(&o.Spec.Config)
					case *corev1.ConfigMap:
						if o.Name == "mirrors" {
							o.Data["ca-bundle.crt"] = certificate("registry")
						}
					case *bootstrapv1.OpenshiftAssistedConfig:
						switch o.Name {
						case "w-0-config":
							o.Spec.AdditionalTrustBundle = certificate("machine")
						case "cp-0-config":
							o.Spec.AdditionalNTPSources = nil
						}
					}
				}
				d, err := sourceOf(t, list).Desire(t.Context(), lab, test.observed)
				if err != nil {
					t.Fatal(err)
				}
				shared := certificate("cluster") + "\n" + certificate("registry")
				for env, want := range map[string]struct {
					bundle string
					ntp    []string
				}{
					"cp-0-config": {shared, []string{"ntp.example.com"}},
					"cp-1-config": {shared, []string{"ntp.example.com", "ntp2.example.com"}},
					"w-0-config":  {shared + "\n" + certificate("machine"), []string{"ntp.example.com", "ntp2.example.com"}},
				} {
					own := d.Spec.ForInfraEnv(env)
					if got := own.TrustBundle(); got != want.bundle+"\n" {
						t.Errorf("%s trusts\n%s", env, got)
					}
					network := own.Spec.Network
					only, added := want.ntp, []string(nil)
					if ntp == "additional time servers" {
						only, added = nil, want.ntp
					}
					if !slices.Equal(network.NTP, only) || !slices.Equal(network.Defaults.NTP, added) {
						t.Errorf("%s takes the time of %q alone, and of %q", env, network.NTP, network.Defaults.NTP)
					}
				}
			})
		}
	}
}

// TestSameTwice: the same objects give the same, so that nothing is written again and again.
func TestSameTwice(t *testing.T) {
	list := objects(t)
	list[1].(*controlplanev1.OpenshiftAssistedControlPlane).Spec.OpenshiftAssistedConfigSpec.NodeRegistration.KubeletExtraLabels = []string{"b=$METADATA_X", "a=$METADATA_Y"}
	for i := range list {
		if config, is := list[i].(*bootstrapv1.OpenshiftAssistedConfig); is {
			config.Spec.NodeRegistration.KubeletExtraLabels = []string{"b=$METADATA_X", "a=$METADATA_Y", "c=$METADATA_Z"}
		}
	}
	source := sourceOf(t, list)
	first, err := source.Desire(t.Context(), lab, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := source.Desire(t.Context(), lab, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range first.Spec.Spec.Hosts {
			a, _ := first.Spec.Spec.Hosts[i].Ignition.JSON()
			b, _ := again.Spec.Spec.Hosts[i].Ignition.JSON()
			if a != b {
				t.Fatalf("%s\n%s", a, b)
			}
		}
	}
}

// TestInstalled: hosts are added to an installed cluster, and a Machine without a record in the service is not
// installed again.
func TestInstalled(t *testing.T) {
	list := objects(t)
	for _, o := range list {
		if m, is := o.(*clusterv1.Machine); is {
			m.Spec.ProviderID = "metal3://ns/host/" + m.Name
		}
	}
	observed := &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge"}, State: model.ClusterAddingHosts}}
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		observed.InfraEnvs = append(observed.InfraEnvs, model.InfraEnv{ID: "ns/" + name, Name: name + "-config"})
		observed.Hosts = append(observed.Hosts, model.Host{ID: name, InfraEnvID: "ns/" + name, ClusterID: "ns/edge", State: model.HostInstalled})
	}
	d, err := sourceOf(t, list).Desire(t.Context(), lab, observed)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Options.AddNodes || len(d.Spec.Spec.Hosts) != 3 || d.Spec.Spec.Hosts[0].ProviderID != "metal3://ns/host/cp-0" {
		t.Errorf("%+v, %d hosts", d.Options, len(d.Spec.Spec.Hosts))
	}
}

func TestNotYet(t *testing.T) {
	for name, leaveOut := range map[string]func(client.Object) bool{
		"no Cluster":       func(o client.Object) bool { _, is := o.(*clusterv1.Cluster); return is },
		"no control plane": func(o client.Object) bool { _, is := o.(*controlplanev1.OpenshiftAssistedControlPlane); return is },
		"too few Machines": func(o client.Object) bool { return o.GetName() == "cp-1" },
		"no config of one": func(o client.Object) bool { return o.GetName() == "cp-1-config" },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sourceOf(t, slices.DeleteFunc(objects(t), leaveOut)).Desire(t.Context(), lab, nil)
			if !errors.Is(err, clusterloop.ErrNotYet) {
				t.Error(err)
			}
		})
	}
}

// TestRefusals: errors name the fields of the objects.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*controlplanev1.OpenshiftAssistedControlPlane)
		want   string
	}{
		"a key that is none": {func(p *controlplanev1.OpenshiftAssistedControlPlane) { p.Spec.Config.SSHAuthorizedKey = "none" }, "OpenshiftAssistedControlPlane spec.config.sshAuthorizedKey"},
		"addresses not paired": {func(p *controlplanev1.OpenshiftAssistedControlPlane) {
			p.Spec.Config.IngressVIPs = []string{"192.168.127.100"}
		}, "OpenshiftAssistedControlPlane spec.config.ingressVIPs"},
		"a bad network": {func(p *controlplanev1.OpenshiftAssistedControlPlane) { p.Spec.Config.ServiceNetwork = []string{"x"} }, "spec.config.serviceNetwork"},
	} {
		t.Run(name, func(t *testing.T) {
			list := objects(t)
			test.change(list[1].(*controlplanev1.OpenshiftAssistedControlPlane))
			_, err := sourceOf(t, list).Desire(t.Context(), lab, nil)
			refusal, is := errors.AsType[*clusterloop.Refusal](err)
			if !is || !strings.Contains(refusal.Error(), test.want) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	list := slices.DeleteFunc(objects(t), func(o client.Object) bool { return o.GetName() == "extra" })
	if _, err := sourceOf(t, list).Desire(t.Context(), lab, nil); err == nil || !strings.Contains(err.Error(), "spec.config.manifestsConfigMapRefs[0]: read ConfigMap extra") {
		t.Error(err)
	}
}

// TestWorkersAreCounted: wanted are the replicas of MachineDeployments, one where they do not say, of MachineSets that
// stand alone, and Machines that no controller replicates; of this Cluster, in its namespace.
func TestWorkersAreCounted(t *testing.T) {
	of := func(namespace, cluster, name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}, OwnerReferences: owners}
	}
	replicas := func(count int32) clusterv1.MachineSetSpec { return clusterv1.MachineSetSpec{Replicas: &count} }
	list := append(objects(t), // they have one worker
		&clusterv1.MachineDeployment{ObjectMeta: of("ns", "lab", "does-not-say")},
		&clusterv1.MachineDeployment{ObjectMeta: of("ns", "lab", "none"), Spec: clusterv1.MachineDeploymentSpec{Replicas: ptr.To[int32](0)}},
		&clusterv1.MachineDeployment{ObjectMeta: of("ns", "other", "of-another-cluster")},
		&clusterv1.MachineDeployment{ObjectMeta: of("elsewhere", "lab", "of-another-namespace")},
		&clusterv1.MachineSet{ObjectMeta: of("ns", "lab", "workers-x", metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Name: "workers", UID: "d"}), Spec: replicas(50)},
		&clusterv1.MachineSet{ObjectMeta: of("ns", "lab", "alone"), Spec: replicas(10)},
		&clusterv1.MachineSet{ObjectMeta: of("elsewhere", "lab", "alone"), Spec: replicas(1000)},
		&clusterv1.Machine{ObjectMeta: of("ns", "lab", "bare"), Spec: clusterv1.MachineSpec{ClusterName: "lab"}},
		&clusterv1.Machine{ObjectMeta: of("elsewhere", "lab", "bare"), Spec: clusterv1.MachineSpec{ClusterName: "lab"}},
	)
	c, err := sourceOf(t, list).Read(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	if c.Workers != 1+1+10+1 || len(c.Machines) != 5 {
		t.Errorf("%d workers are wanted, and there are %d Machines", c.Workers, len(c.Machines))
	}
}
