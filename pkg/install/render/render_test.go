package render_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// TestHubIsOfNoOrder: where a host stands in the file means nothing.
func TestHubIsOfNoOrder(t *testing.T) {
	clusters := map[string]func() *spec.Cluster{}
	for _, name := range sample.Examples(t) {
		clusters[name] = func() *spec.Cluster { return sample.Example(t, name) }
	}
	for name, text := range sample.Clusters() {
		clusters[name] = func() *spec.Cluster { return sample.Parse(t, text) }
	}
	for name, load := range clusters {
		turned := load()
		slices.Reverse(turned.Spec.Hosts)
		if diff := cmp.Diff(rendered(t, load(), render.Options{Secrets: true}), rendered(t, turned, render.Options{Secrets: true})); diff != "" {
			t.Errorf("%s (-file +turned):\n%s", name, diff)
		}
	}
}

// TestNoSecretUnasked: unless they are asked for, no secret is in the objects, and each that has to be there is named.
func TestNoSecretUnasked(t *testing.T) {
	text := strings.Replace(sample.EveryField(), "user:pass@", "", 1)
	for _, c := range []*spec.Cluster{sample.Parse(t, text), sample.Parse(t, sample.EveryOtherField)} {
		made := must.Get(render.Hub(c, render.Options{}))(t)
		var out strings.Builder
		must.Do(t, made.WriteYAML(&out))
		for _, secret := range []string{"calvin", "t0ken", "dXNlcjpwYXNz", `{"auths"`} {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
				if strings.Contains(out.String()+strings.Join(made.Notes, "\n"), strings.TrimRight(form, "=")) {
					t.Errorf("%s: %s can be read", c.Metadata.Name, secret)
				}
			}
		}
		for _, host := range c.Spec.Hosts {
			if host.BMC == nil || host.BMC.Credentials.SecretRef != nil {
				continue
			}
			if name := hubobjects.BMCSecretName(c, &host); !slices.ContainsFunc(made.Notes, func(n string) bool { return strings.Contains(n, name) }) {
				t.Errorf("%s is not told of", name)
			}
		}
	}
}

func TestHubRefuses(t *testing.T) {
	const sno = "{openshift: {version: \"4.20\"}, baseDomain: example.com, pullSecret: {env: PULL}, network: {machine: [192.168.127.0/24]}, topology: {controlPlane: 1}, acceptUnknownHosts: true"
	host := func(rest string) string {
		return `, boot: {method: metal3}, hosts: [{name: a, match: {serial: S1}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}` + rest + `}]`
	}
	large := manifestFile(t, t.TempDir(), "large.yaml", 1<<20)
	for name, tc := range map[string]struct{ metadata, spec, field, message string }{
		"two tags":               {metadata: ", tags: [a, b]", field: "metadata.tags", message: "one tag"},
		"a tag with a space":     {metadata: ", tags: [a b]", field: "metadata.tags[0]", message: "label"},
		"one name, two folders":  {spec: `, manifests: [{name: a.yaml, content: "a: b"}, {name: a.yaml, folder: openshift, content: "a: b"}]`, field: "spec.manifests[1]", message: "manifests, too"},
		"a dot first":            {spec: `, manifests: [{name: .a.yaml, content: "a: b"}]`, field: "spec.manifests[0]", message: "dot"},
		"no name of a key":       {spec: `, manifests: [{name: "a+b.yaml", content: "a: b"}]`, field: "spec.manifests[0]", message: "ConfigMap"},
		"too large":              {spec: `, manifests: [` + large + `]`, field: "spec.manifests[0]", message: "bytes"},
		"a disconnected image":   {spec: `, boot: {image: disconnected}`, field: "spec.boot.image", message: "disconnected"},
		"a password":             {spec: `, proxy: {http: "http://u:calvin@proxy.example.com"}`, field: "spec.proxy.http", message: "plain text"},
		"an image of the pool's": {spec: `, infraEnv: {ref: pool}, discovery: {kernelArgs: [a=b]}`, field: "spec.discovery.kernelArgs", message: "pool"},
		"another key":            {spec: `, pullSecret: {secretRef: {name: p, key: k}}`, field: "spec.pullSecret.secretRef.key", message: ".dockerconfigjson"},
		"no MAC":                 {spec: host(""), field: "spec.hosts[0].match.mac", message: "BareMetalHost"},
		"a long label":           {spec: host(`, labels: {a23456789012345678901: x}`), field: "spec.hosts[0].labels.a23456789012345678901", message: "too long"},
		"another namespace":      {spec: host("") + `, infraEnv: {ref: other/pool}`, field: "spec.infraEnv.ref", message: "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			base := sno
			if strings.Contains(tc.spec, "pullSecret") {
				base = strings.Replace(sno, "pullSecret: {env: PULL}, ", "", 1)
			}
			_, err := render.Hub(sample.Parse(t, "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab"+tc.metadata+"}\nspec: "+base+tc.spec+"}\n"), render.Options{})
			problems, ok := err.(*spec.Problems)
			if !ok {
				t.Fatalf("not refused: %v", err)
			}
			i := slices.IndexFunc(problems.List, func(p spec.Problem) bool { return p.Field == tc.field && strings.Contains(p.Message, tc.message) })
			if i < 0 || problems.List[i].Line == 0 || strings.Contains(err.Error(), "calvin") {
				t.Errorf("%s is not named: %v", tc.field, err)
			}
		})
	}
}

// TestHubRefusesHints that are not read by the service, of a cluster that was built in code.
func TestHubRefusesHints(t *testing.T) {
	c := sample.Parse(t, `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24], vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}
  acceptUnknownHosts: true
  boot: {method: metal3}
  hosts:
  - {name: a, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}}
  - {name: w, role: worker, match: {mac: "52:54:00:00:00:01"}, disk: {hints: {wwnWithExtension: "0x5001b448b1a00002"}}}
`)
	made, err := render.Hub(c, render.Options{Later: true})
	if err != nil {
		t.Fatal(err)
	}
	if note := "no object has the disk hints of w: oaictl reads them, and writes the disk on its Agent"; !slices.Contains(made.Notes, note) {
		t.Errorf("the notes are %q, without %q", made.Notes, note)
	}
	c.Spec.Hosts[0].Disk.Hints.WWNWithExtension = "0x5001b448b1a00002"
	_, err = render.Hub(c, render.Options{Later: true})
	check.Says(t, err, "spec.hosts[0].disk.hints.wwnWithExtension: is not supported by the Assisted Installer", "not refused")
}

// TestMachinesNameTheirCluster where nothing else says it: not where the InfraEnv
// that they boot is bound to it, which the service refuses.
func TestMachinesNameTheirCluster(t *testing.T) {
	for name, test := range map[string]struct {
		infraEnv string
		bound    bool
		want     string
	}{
		"an InfraEnv of their own":   {},
		"late binding":               {infraEnv: "infraEnv: {bind: late}, ", want: "lab/lab"},
		"late, and bound all along":  {infraEnv: "infraEnv: {bind: late}, ", bound: true},
		"a pool":                     {infraEnv: "infraEnv: {ref: pool}, ", want: "lab/lab"},
		"somebody's, that is bound":  {infraEnv: "infraEnv: {ref: rack}, ", bound: true},
		"one of their own, observed": {bound: true},
	} {
		c := sample.Parse(t, `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {openshift: {version: "4.20"}, baseDomain: example.com, pullSecret: {env: PULL}, network: {machine: [192.168.127.0/24]}, topology: {controlPlane: 1}, `+
			test.infraEnv+`boot: {method: metal3}, hosts: [{name: a, match: {mac: "52:54:00:00:00:01"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}}]}`)
		objects, err := render.Hub(c, render.Options{Bound: test.bound})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := objects.Hosts[0].BareMetalHost.GetAnnotations()[hubapi.AnnotationBMACClusterReference]; got != test.want {
			t.Errorf("%s: they name %q, want %q", name, got, test.want)
		}
	}
}

// TestMirrorsAreOfTheirCluster: clusters of one namespace have a ConfigMap each, which no other one takes for its own.
func TestMirrorsAreOfTheirCluster(t *testing.T) {
	for name, mirror := range map[string]string{"a": "one.example.com", "b": "two.example.com"} {
		c := sample.Parse(t, `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: `+name+`}
spec: {openshift: {version: "4.20"}, baseDomain: example.com, pullSecret: {env: PULL}, network: {machine: [192.168.127.0/24]}, topology: {controlPlane: 1}, acceptUnknownHosts: true,
  registry: {mirrors: [{source: quay.io/ocp, mirrors: [`+mirror+`]}]}}`)
		text := rendered(t, c, render.Options{Namespace: "shared"})
		if n := strings.Count(text, "mirrorRegistryRef:\n    name: "+name+"-mirrors\n"); n != 2 { // the AgentClusterInstall and the InfraEnv
			t.Errorf("%s refers to other mirrors:\n%s", name, text)
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			if strings.Contains(document, "registries.conf:") && (!strings.Contains(document, "name: "+name+"-mirrors\n") || !strings.Contains(document, mirror)) {
				t.Errorf("%s has the mirrors\n%s", name, document)
			}
		}
	}
}

// manifestFile writes a manifest of some size and is its path.
func manifestFile(t *testing.T, folder, name string, size int) string {
	t.Helper()
	path := filepath.Join(folder, name)
	must.Do(t, os.WriteFile(path, []byte("a: "+strings.Repeat("x", size-4)+"\n"), 0o600))
	return path
}

// TestMetal3Address: what people write of a BMC becomes what metal3 takes.
func TestMetal3Address(t *testing.T) {
	for address, want := range map[string]string{
		`"https://10.0.0.1/redfish/v1/Systems/1"`:              "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1",
		`"http://10.0.0.1:8000/redfish/v1/Systems/1"`:          "redfish-virtualmedia+http://10.0.0.1:8000/redfish/v1/Systems/1",
		`"ilo5-virtualmedia://10.0.0.1/redfish/v1/Systems/1"`:  "ilo5-virtualmedia://10.0.0.1/redfish/v1/Systems/1",
		`bmc.example.com, system: System.Embedded.1`:           "redfish-virtualmedia://bmc.example.com/redfish/v1/Systems/System.Embedded.1",
		`"fd00::1", system: "1"`:                               "redfish-virtualmedia://[fd00::1]/redfish/v1/Systems/1",
		`"https://10.0.0.1/redfish/v1", system: "1"`:           "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1",
		`"https://10.0.0.1/redfish/v1/Systems/1", system: "1"`: "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1",
		`10.0.0.1`: "", // which system is not said
		`"https://10.0.0.1/redfish/v1/Systems/1", system: "another"`: "",
	} {
		c := sample.Parse(t, strings.Replace(sample.External, `"redfish://[fd00::1]:8443/redfish/v1/Systems/1"`, address, 1))
		objects, err := render.Hub(c, render.Options{})
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), "bmc.") {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		bmc := objects.Hosts[0].BareMetalHost.Object["spec"].(map[string]any)["bmc"].(map[string]any)
		if bmc["address"] != want {
			t.Errorf("%s became %s, not %q", address, bmc["address"], want)
		}
	}
}

// TestManyManifests: what is too much for one ConfigMap goes into several. Each of them fits, and nothing is left out.
func TestManyManifests(t *testing.T) {
	folder := t.TempDir()
	for i := range 9 {
		manifestFile(t, folder, fmt.Sprintf("m%d.yaml", i), 300<<10)
	}
	c := sample.Parse(t, strings.Replace(sample.EveryOtherField, "  boot:", "  manifests: ["+folder+"]\n  boot:", 1))
	objects := must.Get(render.Hub(c, render.Options{}))(t)
	var names, keys []string
	for _, o := range objects.Cluster {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		names = append(names, o.GetName())
		size := 0
		for key, value := range o.Object["data"].(map[string]any) {
			keys = append(keys, key)
			size += len(key) + len(value.(string))
		}
		if size > 1<<20 {
			t.Errorf("%s has %d bytes", o.GetName(), size)
		}
	}
	if want := []string{"duo-manifests", "duo-manifests-2", "duo-manifests-3"}; !slices.Equal(names, want) || len(keys) != 9 {
		t.Errorf("%v with %v", names, keys)
	}
}

func TestHubOptions(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		options render.Options
		hold    any
		set     string
	}{
		"what the file says": {render.Options{}, true, "lab.lab-release"},
		"held":               {render.Options{Hold: &yes}, true, "lab.lab-release"},
		"let go":             {render.Options{Hold: &no, Namespace: "other"}, false, "other.lab-release"},
		"as it was formerly": {render.Options{ImageSet: "lab-release"}, true, "lab-release"},
		"another set":        {render.Options{ImageSet: "mine"}, true, "mine"},
	} {
		tc.options.Secrets = true
		objects := must.Get(render.Hub(sample.Parse(t, sample.EveryField()), tc.options))(t)
		install := objects.Cluster[len(objects.Cluster)-1]
		got := install.Object["spec"].(map[string]any)
		if set := got["imageSetRef"].(map[string]any)["name"]; got["holdInstallation"] != tc.hold || set != tc.set || (objects.ImageSet != nil) != (tc.set != "mine") {
			t.Errorf("%s: hold %v, set %v", name, got["holdInstallation"], set)
		}
		for _, o := range objects.All()[1:] {
			if want := objects.Namespace.GetName(); o.GetKind() != "ClusterImageSet" && o.GetNamespace() != want {
				t.Errorf("%s: %s %s stands in %q", name, o.GetKind(), o.GetName(), o.GetNamespace())
			}
			if o.GetLabels()["oaictl.io/cluster"] != "lab" {
				t.Errorf("%s: %s %s has no label", name, o.GetKind(), o.GetName())
			}
		}
	}
}

// fleet are 100 clusters of 5 hosts with static networks.
func fleet(t testing.TB) []*spec.Cluster {
	t.Helper()
	var all []*spec.Cluster
	for i := range 100 {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: c%d}\nspec:\n  openshift: {version: \"4.20\"}\n  baseDomain: example.com\n  pullSecret: {env: PULL}\n", i)
		text.WriteString("  network: {machine: [192.168.127.0/24], vips: {api: [192.168.127.100], ingress: [192.168.127.101]}, defaults: {gateway: 192.168.127.1, dns: [192.168.127.1]}}\n  hosts:\n")
		for j := range 5 {
			role := "control-plane"
			if j > 2 {
				role = "worker"
			}
			fmt.Fprintf(&text, "  - {name: h%d, role: %s, match: {mac: \"52:54:00:00:%02x:%02x\"}, net: {ip: 192.168.127.%d/24}}\n", j, role, i, j, 10+j)
		}
		c := must.Get(spec.Parse(t.Context(), "cluster.yaml", []byte(text.String()), sample.Env()))(t)
		all = append(all, c)
	}
	return all
}

// BenchmarkRender is 100 clusters of 5 hosts, made and written.
func BenchmarkRender(b *testing.B) {
	clusters := fleet(b)
	for b.Loop() {
		for _, c := range clusters {
			objects := must.Get(render.Hub(c, render.Options{Secrets: true}))(b)
			var out strings.Builder
			must.Do(b, objects.WriteYAML(&out))
		}
	}
}

// TestRenderIsQuick: 100 clusters of 5 hosts take well below what a person
// notices; the limit leaves room for a busy machine.
func TestRenderIsQuick(t *testing.T) {
	clusters := fleet(t)
	begin := time.Now()
	for _, c := range clusters {
		rendered(t, c, render.Options{Secrets: true})
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
