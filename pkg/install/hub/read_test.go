package hub

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// fullText says something in every field that becomes a setting of a cluster.
const fullText = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab, tags: [blue]}
spec:
  openshift: {version: "4.20.3", arch: x86_64, releaseImage: "quay.io/ocp/release:4.20.3-x86_64"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 3, workers: 0}
  network:
    type: OVNKubernetes
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    loadBalancer: user-managed
    userManaged: false
    ntp: [ntp.example.com]
    defaults: {gateway: 192.168.127.1, dns: [192.168.127.1]}
  platform: {type: baremetal}
  proxy: {http: "http://proxy.example.com:3128", https: "http://proxy.example.com:3128", no: [.example.com, 10.0.0.0/8]}
  diskEncryption: {mode: tang, on: [control-plane, worker], tang: [{url: "http://tang.example.com", thumbprint: PLjNyRdGw03zlRoGjQYMahSZGu9}]}
  hyperthreading: [control-plane]
  schedulableControlPlane: true
  fips: true
  boot: {image: minimal}
  registry:
    mirrors: [{source: quay.io/ocp, mirrors: [mirror.example.com/ocp]}]
  discovery: {kernelArgs: [console=ttyS0], ignition: {ignition: {version: 3.2.0}}, networkDelay: 30s}
  ignitionEndpoint: {url: "https://api-int.lab.example.com:22623/config"}
  hub:
    agentLabels: {zone: a}
    nodeLabels: {example.com/site: north, example.com/row: ""}
    classifications: [{label: size, value: Large, query: .cpu.count > 16}, {label: gpu, value: "yes", query: (.gpus | length) > 0}]
    ironic: {agent: true, image: "quay.io/metal3/ironic-agent:v1", ipFamilies: [v6, v4]}
    ipxe: boot-order
  ignoreValidations: {cluster: [all], hosts: [ntp-synced, mtu-valid]}
  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}, net: {ip: 192.168.127.10/24}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:01"}, net: {ip: 192.168.127.11/24}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
`

// made are the objects of a file as a hub would keep them.
func made(t *testing.T, p *Plane, at *kube.Namespace, c *spec.Cluster) *render.Objects {
	t.Helper()
	hold := true
	objects := must.Get(render.Hub(c, render.Options{Namespace: at.Name, Secrets: true, Hold: &hold}))(t)
	for i, u := range objects.All() {
		u = u.DeepCopy()
		u.SetResourceVersion(string(rune('1' + i)))
		put(t, at, u)
	}
	if objects.ImageSet != nil {
		p.imageSets[objects.ImageSet.GetName()] = recordOf(objects.ImageSet)
	}
	return objects
}

// What the objects are made of is read back from them: a second run decides
// nothing, field by field.
func TestSettingsAreReadBack(t *testing.T) {
	p, at := filledPlane(t, "lab")
	c := parseCluster(t, fullText)
	objects := made(t, p, at, c)
	o := must.Get(p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil))(t)
	if o.Cluster == nil || !o.Cluster.Owned || o.Cluster.Hold != "" {
		t.Fatalf("cluster %+v", o.Cluster)
	}
	plan := install.Decide(&model.Desired{Spec: c}, o, model.Memory{}, o.At)
	for _, a := range plan.Actions {
		t.Errorf("it would %s: %+v", a.Kind, a.Changes)
	}
	for _, w := range plan.Warnings {
		t.Errorf("warning %s: %s", w.Key, w.Message)
	}
	if diff := cmp.Diff(map[string]string{"openshift/50-x.yaml": model.Digest([]byte("a: b\n")), "manifests/60-y.yaml": model.Digest([]byte("c: d\n"))}, o.Cluster.Manifests); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	// Each setting of the file is one that the hub has a field for, and differs from another value.
	blank := &model.Observed{At: o.At, Others: nil}
	register := install.Decide(&model.Desired{Spec: c}, blank, model.Memory{}, o.At).Actions[0]
	for key, value := range register.Settings {
		if key == model.SettingArch {
			continue // no field of a cluster's
		}
		got, said := o.Cluster.Settings[key]
		if !said {
			t.Errorf("%s is not read back; the file says %s", key, value)
		}
		if paths := hubobjects.InstallTable().PathsOf(model.Settings{key: value}); len(paths) > 0 {
			live := objectOf(objects.Cluster, hubapi.KindAgentClusterInstall).DeepCopy()
			for _, path := range paths {
				unstructured.RemoveNestedField(live.Object, path...)
			}
			if other := hubobjects.InstallTable().Settings(live.Object)[key]; other == got {
				t.Errorf("%s is read from somewhere else than where it is written", key)
			}
		}
	}
}

// TestAgentSettingsAreToldApart from others: every one of them that the file
// changes is written.
func TestAgentSettingsAreToldApart(t *testing.T) {
	for key, edit := range map[model.Setting][2]string{
		model.SettingAgentLabels:     {"{zone: a}", "{zone: b}"},
		model.SettingNodeLabels:      {`example.com/row: ""`, `example.com/row: x`},
		model.SettingClassifications: {".cpu.count > 16", ".cpu.count > 32"},
		model.SettingIronic:          {"[v6, v4]", "[v6]"},
		model.SettingIPXE:            {"boot-order", "always"},
	} {
		p, at := filledPlane(t, "lab")
		made(t, p, at, parseCluster(t, fullText))
		o := must.Get(p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil))(t)
		plan := install.Decide(&model.Desired{Spec: parseCluster(t, strings.Replace(fullText, edit[0], edit[1], 1))}, o, model.Memory{}, o.At)
		if len(plan.Actions) != 1 || len(plan.Actions[0].Settings) != 1 || plan.Actions[0].Settings[key] == "" {
			t.Errorf("%s: %+v", key, plan.Actions)
		}
	}
}

func TestExpiry(t *testing.T) {
	const token = "eyJhbGciOiJFUzI1NiJ9.eyJleHAiOjE3NjM3MDAwMDB9.x" // exp 1763700000
	for address, want := range map[string]int64{
		"http://x/images/1/pxe-initrd?image_token=" + token: 1763700000,
		"http://x/byapikey/" + token + "/4.20/full.iso":     1763700000,
		"http://x/byid/1/4.20/full.iso":                     0,
		"://":                                               0,
	} {
		got := expiry(address)
		if (want == 0) != got.IsZero() || want != 0 && got.Unix() != want {
			t.Errorf("%s ends %s", address, got)
		}
		if strings.Contains(redact.Text(address), token) {
			t.Errorf("the token stands in %s", redact.Text(address))
		}
	}
}

// TestWriteThatDidNotTake: what an admission webhook has put back is seen by the next
// observation, and decided again.
func TestWriteThatDidNotTake(t *testing.T) {
	p, at := filledPlane(t, "lab")
	live := objectOf(made(t, p, at, parseCluster(t, fullText)).Cluster, hubapi.KindAgentClusterInstall).DeepCopy()
	live.SetResourceVersion("9")
	p.api.Dynamic.(*fake.FakeDynamicClient).PrependReactor("patch", "agentclusterinstalls", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, live, nil
	})
	desired := &model.Desired{Spec: parseCluster(t, fullText)}
	desired.Spec.Spec.Network.NTP = []string{"other.example.com"}
	for look := range 2 {
		o := must.Get(p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil))(t)
		plan := install.Decide(desired, o, model.Memory{}, o.At)
		i := slices.IndexFunc(plan.Actions, func(a model.Action) bool { return a.Kind == model.UpdateCluster })
		if i < 0 || plan.Actions[i].Settings[model.SettingNTP] != model.ValueOf(desired.Spec.Spec.Network.NTP) {
			t.Fatalf("look %d: %+v", look+1, plan.Actions)
		}
		must.Do(t, p.Act(t.Context(), desired, plan.Actions[i]))
	}
}

// wantNothing observes with a plane that remembers nothing and decides.
func wantNothing(t *testing.T, p *Plane, c *spec.Cluster) model.Plan {
	t.Helper()
	o := must.Get(p.Observe(t.Context(), model.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, InfraEnv: c.Spec.InfraEnv.Ref}, nil))(t)
	plan := install.Decide(&model.Desired{Spec: c}, o, model.Memory{}, o.At)
	for _, a := range plan.Actions {
		t.Errorf("it would %s: %+v", a.Kind, a.Changes)
	}
	for _, b := range plan.Blockers {
		t.Errorf("blocked: %s", b.Message)
	}
	return plan
}

// For every example, a process that did not make its objects reads the same settings from them.
func TestExamplesAreReadBackByAFreshProcess(t *testing.T) {
	examples, err := filepath.Glob("../../../examples/*/cluster.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	read := 0
	for _, path := range examples {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			c := must.Get(spec.Load(t.Context(), path, spec.OSEnv()))(t)
			if len(c.Spec.Operators)+len(c.Spec.Bundles)+len(c.Spec.Overrides.Host)+len(c.Spec.Overrides.InfraEnv) > 0 || c.Spec.InfraEnv.Ref != "" {
				t.Skip("not all of it has a place on a hub, or in the namespace")
			}
			p, at := filledPlane(t, c.Metadata.Name)
			made(t, p, at, c)
			wantNothing(t, p, c)
			read++
		})
	}
	if read < 5 {
		t.Errorf("%d examples only", read)
	}
}

// Roles that mean the same machines are equal, even if they are written in other words.
func TestHyperthreadingIsReadBackByAFreshProcess(t *testing.T) {
	for _, roles := range []string{"all", "none", "[control-plane, worker]", "[worker]", "[control-plane, worker, arbiter]"} {
		t.Run(roles, func(t *testing.T) {
			text := strings.Replace(fullText, "hyperthreading: [control-plane]", "hyperthreading: "+roles, 1)
			p, at := filledPlane(t, "lab")
			c := parseCluster(t, text)
			made(t, p, at, c)
			wantNothing(t, p, c)
			other := parseCluster(t, fullText)
			o := must.Get(p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil))(t)
			plan := install.Decide(&model.Desired{Spec: other}, o, model.Memory{}, o.At)
			if len(plan.Actions) != 1 || len(plan.Actions[0].Changes) != 1 || plan.Actions[0].Changes[0].Field != string(model.SettingHyperthreading) {
				t.Errorf("other roles: %+v", plan.Actions)
			}
		})
	}
}

// Time servers beside those of DHCP are a matter of the images: one that the
// file only refers to is not changed, and nothing is sent for it.
func TestTimeServersOfAPool(t *testing.T) {
	for name, test := range map[string]struct {
		pool []any
		warn bool
	}{"the same": {[]any{"ntp.example.com"}, false}, "others": {[]any{"10.0.0.1"}, true}, "none": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(clusterText, "name: %s", "name: lab", 1)
			text = strings.Replace(text, `  discovery: {kernelArgs: [console=ttyS0], networkDelay: 30s}`, "  infraEnv: {ref: pool}", 1)
			text = strings.Replace(text, `version: "4.20"`, `version: "4.20.3", releaseImage: "quay.io/ocp/release:4.20.3-x86_64"`, 1)
			p, at := filledPlane(t, "lab")
			c := parseCluster(t, text)
			made(t, p, at, c)
			fields := map[string]any{"pullSecretRef": map[string]any{"name": "x"}}
			if test.pool != nil {
				fields["additionalNTPSources"] = test.pool
			}
			pool := object("agent-install.openshift.io/v1beta1", "InfraEnv", "lab", "pool", map[string]any{"spec": fields})
			pool.SetResourceVersion("1")
			put(t, at, pool)
			plan := wantNothing(t, p, c)
			warned := false
			for _, w := range plan.Warnings {
				warned = warned || strings.Contains(w.Message, string(model.SettingExtraNTP))
			}
			if warned != test.warn {
				t.Errorf("warnings %+v", plan.Warnings)
			}
		})
	}
}

// Every row that the service has of an InfraEnv's image, and what is reported for it.
func TestImageOf(t *testing.T) {
	for name, test := range map[string]struct {
		status              metav1.ConditionStatus
		reason, message     string
		url                 string
		want                model.ImageState
		says, doesNotRepeat string
	}{
		"not looked at":     {want: model.ImagePending},
		"no cluster yet":    {status: metav1.ConditionUnknown, reason: "MissingClusterDeployment", message: "ClusterDeployment not found", want: model.ImagePending, says: "not found"},
		"in progress":       {status: metav1.ConditionTrue, reason: "ImageCreated", message: "Image has been created", want: model.ImagePending},
		"there":             {status: metav1.ConditionTrue, reason: "InfraEnvAvailable", url: "http://x/full.iso", want: model.ImageReady},
		"no image service":  {status: metav1.ConditionTrue, reason: "InfraEnvAvailable", want: model.ImagePending, says: "enable-image-service"},
		"refused":           {status: metav1.ConditionFalse, reason: "ImageCreationError", message: "bad nmstate", want: model.ImageFailed, says: "bad nmstate"},
		"a password in it":  {status: metav1.ConditionFalse, reason: "ImageCreationError", message: "proxy http://me:hunter2@proxy:3128 is no URL", want: model.ImageFailed, says: "proxy:3128", doesNotRepeat: "hunter2"},
		"unknown to oaictl": {status: metav1.ConditionFalse, reason: "Other", message: "what", want: model.ImagePending, says: "what"},
	} {
		env := &agentinstall.InfraEnv{}
		env.Status.ISODownloadURL = test.url
		if test.status != "" {
			env.Status.Conditions = []hubapi.Condition{{Type: hubapi.ConditionImageCreated, Status: test.status, Reason: test.reason, Message: test.message}}
		}
		got := imageOf(env)
		if got.State != test.want || !strings.Contains(got.Info, test.says) || (got.Info == "") != (test.says == "") || test.doesNotRepeat != "" && strings.Contains(got.Info, test.doesNotRepeat) {
			t.Errorf("%s: got %s, %q", name, got.State, got.Info)
		}
	}
}
