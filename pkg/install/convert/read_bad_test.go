package convert_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	installConfig = "apiVersion: v1\nmetadata: {name: c}\nbaseDomain: example.com\npullSecret: '{\"auths\":{\"a\":{\"auth\":\"YTpi\"}}}'\nnetworking: {machineNetwork: [{cidr: 10.0.0.0/24}]}\ncontrolPlane: {replicas: 1}\ncompute: [{replicas: 0}]\nplatform: {none: {}}\n"
	agentConfig   = "apiVersion: v1beta1\nkind: AgentConfig\nhosts: [{hostname: a, interfaces: [{name: e, macAddress: '52:54:00:00:00:01'}]}]\n"
	deployment    = "apiVersion: hive.openshift.io/v1\nkind: ClusterDeployment\nmetadata: {name: %s}\nspec: {clusterName: %s}\n"
	install       = "apiVersion: extensions.hive.openshift.io/v1beta1\nkind: AgentClusterInstall\nmetadata: {name: a}\nspec: {}\n"
	infraEnv      = "apiVersion: agent-install.openshift.io/v1beta1\nkind: InfraEnv\nmetadata: {name: a}\nspec: {}\n"
)

func TestReadRefusals(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	laughs := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'i'; i++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 10), ","))
	}
	tests := []struct {
		name  string
		files memory
		want  []string
	}{
		{"nothing there", memory{"in/x.txt": nil}, []string{"holds nothing that describes a cluster"}},
		{"empty", memory{"in/a.yaml": []byte("")}, []string{"holds nothing"}},
		{"not YAML", memory{"in/a.yaml": []byte("a: b: c\n")}, []string{"in/a.yaml:1:5", "is not valid YAML"}},
		{"a list", memory{"in/a.yaml": []byte("- a\n")}, []string{"in/a.yaml:1:1", "has to be a map, but is a list"}},
		{"unknown kind", memory{"in/a.yaml": []byte("apiVersion: apps/v1\nkind: Deployment\n")}, []string{`the kind "Deployment" does not describe a cluster`}},
		{"unknown kind beside", memory{"in/a.yaml": []byte(fmt.Sprintf(deployment, "a", "a") + "---\n" + install + "---\napiVersion: apps/v1\nkind: Deployment\n")}, []string{`in/a.yaml:11:1: kind: the kind "Deployment" is none`}},
		{"duplicate keys", memory{"in/install-config.yaml": []byte(installConfig + "baseDomain: again.example.com\n")}, []string{"in/install-config.yaml:9:1", `the key "baseDomain" appears here a second time, first in line 3`}},
		{"an alias of itself", memory{"in/a.yaml": []byte("baseDomain: x\nplatform: &a\n  b: *a\n")}, []string{"contains the alias itself"}},
		{"many aliases", memory{"in/a.yaml": []byte(laughs)}, []string{"grows too large"}},
		{"deep", memory{"in/a.yaml": []byte(deep)}, []string{"nested more than 100 levels"}},
		{"huge", memory{"in/a.yaml": []byte("a: " + strings.Repeat("x", 17<<20))}, []string{"more than 16 MiB"}},
		{"several clusters", memory{"in/a.yaml": []byte(fmt.Sprintf(deployment, "a", "a") + "---\n" + fmt.Sprintf(deployment, "b", "b") + "---\n" + install)}, []string{"in/a.yaml:6:1", "the ClusterDeployment b is of a second cluster: the first is a"}},
		{"two ways at once", memory{"in/install-config.yaml": []byte(installConfig), "in/cluster-manifests/a.yaml": []byte(install)}, []string{"stands beside an install-config"}},
		{"two Secrets without a name", memory{"in/a.yaml": []byte(install + "---\napiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: Secret\n")}, []string{"there are two objects Secret "}},
		{"half of it", memory{"in/agent-config.yaml": []byte(agentConfig)}, []string{"install-config.yaml is missing beside agent-config.yaml"}},
		{"wrong types", memory{"in/install-config.yaml": []byte(strings.NewReplacer("baseDomain: example.com", "baseDomain: 7", "machineNetwork: [{cidr: 10.0.0.0/24}]", "machineNetwork: 3").Replace(installConfig)), "in/agent-config.yaml": []byte(agentConfig)},
			[]string{"in/install-config.yaml:3:13: baseDomain: has to be text, but is a number; put it in quotes", "networking.machineNetwork: has to be a list, but is a number"}},
		{"wrong values, all at once", memory{"in/install-config.yaml": []byte(strings.NewReplacer("10.0.0.0/24", "10.0.0.7/24", "name: c", "name: C_").Replace(installConfig)), "in/agent-config.yaml": []byte(strings.Replace(agentConfig, "52:54", "zz:54", 1))},
			[]string{`in/install-config.yaml:2:18: metadata.name: "C_" cannot be`, "in/install-config.yaml:5:38: networking.machineNetwork[0].cidr", `in/agent-config.yaml:3:58: hosts[0].interfaces[0].macAddress: "zz:54`}},
		{"no version", memory{"in/install-config.yaml": []byte(installConfig), "in/agent-config.yaml": []byte(agentConfig)}, []string{"does not say which OpenShift is installed; add it to the command"}},
		{"unnamed machines", memory{"in/install-config.yaml": []byte(installConfig)}, []string{"names 0 hosts, but the cluster has 1 machine:"}},
		{"one value that two fields are made of", memory{"in/install-config.yaml": []byte(installConfig), "in/agent-config.yaml": []byte(strings.NewReplacer("52:54", "zz:54", "}]}]", "}], networkConfig: {interfaces: [{name: e, type: ethernet, state: up}]}}]").Replace(agentConfig))},
			[]string{`hosts[0].interfaces[0].macAddress: "zz:54`}},
		{"hosted", memory{"in/a.yaml": []byte("apiVersion: siteconfig.open-cluster-management.io/v1alpha1\nkind: ClusterInstance\nmetadata: {name: a}\nspec: {clusterName: a, clusterType: HostedControlPlane, nodes: []}\n")}, []string{"in/a.yaml:4:37", "has a hosted control plane"}},
		{"overrides that are no JSON", memory{"in/a.yaml": []byte("apiVersion: siteconfig.open-cluster-management.io/v1alpha1\nkind: ClusterInstance\nmetadata: {name: a}\nspec: {clusterName: a, installConfigOverrides: '{', nodes: []}\n")}, []string{"has to be JSON in a text"}},
		{"a private key", memory{"in/install-config.yaml": []byte(installConfig + "sshKey: '-----BEGIN OPENSSH PRIVATE KEY-----'\n"), "in/agent-config.yaml": []byte(agentConfig)}, []string{"is a private key"}},
		{"registries.conf of another kind", memory{"in/cluster-manifests/a.yaml": []byte(fmt.Sprintf(deployment, "a", "a") + "---\n" + install), "in/mirror/registries.conf": []byte("x = {\n")}, []string{"in/mirror/registries.conf:1:1", "line 1 of it is nothing that is known"}},
		{"a template", memory{"in/a.yaml": []byte("kind: ClusterDeployment\nmetadata: {name: x}\nspec:\n  baseDomain: {{ .Domain }}\n")}, []string{"in/a.yaml:4", "the file looks like a template: render it first"}},
		{"a template that is no YAML", memory{"in/a.yaml": []byte("kind: ClusterDeployment\n{{- if .Spec }}\nspec: {}\n{{- end }}\n")}, []string{"is not valid YAML", "the file looks like a template: render it first"}},
		{"the name of a set that is not among the files", memory{
			"in/cluster-manifests/a.yaml":   []byte(fmt.Sprintf(deployment, "a", "a") + "---\n" + strings.Replace(install, "spec: {}", "spec: {imageSetRef: {name: a-release}}", 1) + "---\n" + infraEnv),
			"in/hostconfig/a/mac_addresses": []byte("52:54:00:00:00:01"),
		}, []string{"the input does not say which OpenShift is installed"}},
		{"a host without addresses", memory{"in/cluster-manifests/a.yaml": []byte(fmt.Sprintf(deployment, "a", "a") + "---\n" + install), "in/hostconfig/a/role": []byte("master")}, []string{"has no mac_addresses"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := convert.Read(t.Context(), "in", convert.Options{Env: test.files.env()})
			var problems *spec.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in\n%v", want, err)
				}
			}
			for i, problem := range problems.List { // each is said once, also where two fields are made of one value
				if slices.ContainsFunc(problems.List[:i], func(before spec.Problem) bool { return before.String() == problem.String() }) {
					t.Errorf("it says twice %s", problem)
				}
			}
		})
	}
}

func TestReadHidesSecretsInErrors(t *testing.T) {
	for _, text := range []string{"pullSecret: hunter2: x\n", "baseDomain: x\nplatform: 1\npullSecret: [hunter2]\n", "baseDomain: x\nplatform: {}\nproxy: {httpProxy: 'http://u:hunter2@[::'}\n"} {
		files := memory{"in/install-config.yaml": []byte(text)}
		_, err := convert.Read(t.Context(), "in", convert.Options{Env: files.env()})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, name := range readCases(t) {
		got, err := convert.Detect(readPath(t, name), nil)
		want, _, _ := strings.Cut(name, "-")
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	check.Equal(t, must.Get(convert.Detect("-", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Cluster\n")))(t), convert.FormatCluster)
	if _, err := convert.Detect("-", []byte("a: 1\n")); err == nil {
		t.Error("anything was taken for a cluster")
	}
}

func TestReadLeavesClusterAlone(t *testing.T) {
	_, err := convert.Read(t.Context(), "../../../examples/sno/cluster.yaml", convert.Options{})
	if !errors.Is(err, convert.ErrIsCluster) {
		t.Errorf("got %v", err)
	}
}

func TestReadFindsTheOtherFile(t *testing.T) {
	for _, file := range []string{"install-config.yaml", "agent-config.yaml"} {
		o := readOptions("agent-sno")
		c := must.Get(convert.Read(t.Context(), "testdata/read/agent-sno/in/"+file, o))(t)
		if len(load(t, c).Spec.Hosts) != 1 {
			t.Errorf("%s: the hosts are not there", file)
		}
	}
}

// TestConvertedEnv has the document read without anything being written.
func TestConvertedEnv(t *testing.T) {
	c := converted(t, "ztp-folder")
	// One manifest is a file of the folder, the other sets the MTU.
	cluster := must.Get(spec.Parse(t.Context(), "elsewhere/cluster.yaml", c.Document, c.Env("elsewhere/cluster.yaml", spec.Env{})))(t)
	if len(cluster.ManifestFiles()) != 2 || cluster.PullSecret().IsZero() {
		t.Error("the files are not there")
	}
}

// fuzzOne reads any input: nothing panics, and what is converted loads.
func fuzzOne(f *testing.F, prefix string) {
	for _, name := range readCases(f) {
		if strings.HasPrefix(name, prefix) {
			var all []byte
			for file, data := range memoryOf(f, name) {
				if strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") {
					all = append(append(all, data...), "\n---\n"...)
				}
			}
			f.Add(all)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := convert.Options{Data: data, Name: "c", AcceptUnknownHosts: true, Env: memory{}.env()}
		if prefix == "agent" { // which never says it; what the others say may win
			o.Version = "4.20"
		}
		c, err := convert.Read(t.Context(), "-", o)
		if err != nil {
			return
		}
		if _, err := spec.Parse(t.Context(), "cluster.yaml", c.Document, c.Env("cluster.yaml", spec.Env{})); err != nil {
			t.Fatalf("the document does not load:\n%v\n%s", err, c.Document)
		}
	})
}

func FuzzReadAgent(f *testing.F)           { fuzzOne(f, "agent") }
func FuzzReadZTP(f *testing.F)             { fuzzOne(f, "ztp") }
func FuzzReadClusterInstance(f *testing.F) { fuzzOne(f, "clusterinstance") }
func FuzzReadAICLI(f *testing.F)           { fuzzOne(f, "aicli") }
func FuzzReadCAPI(f *testing.F)            { fuzzOne(f, "capi") }

// FuzzReadInner reads any document inside of an input: registries.conf, and JSON in a text.
func FuzzReadInner(f *testing.F) {
	f.Add([]byte("unqualified-search-registries = [\n\"a\", # b\n]\n[[registry]]\nlocation = 'a.io/b'\n[[registry.mirror]]\nlocation = \"c.io\"\n"))
	f.Add([]byte(`{"ignition":{"version":"3.2.0"},"a":["\/","\ud83d\ude00",1e3,null,true]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := must.Get(json.Marshal(string(data)))(t)
		objects := strings.Replace(oneNode+oneMachine, "spec: {clusterRef:", "spec: {ignitionConfigOverride: "+string(text)+", clusterRef:", 1)
		for _, files := range []memory{
			{"in/cluster-manifests/a.yaml": []byte(oneNode + oneMachine), "in/mirror/registries.conf": data},
			{"in/cluster-manifests/a.yaml": []byte(objects)},
		} {
			c, err := convert.Read(t.Context(), "in", convert.Options{Env: files.env()})
			if err != nil {
				continue
			}
			if _, err := spec.Parse(t.Context(), "cluster.yaml", c.Document, c.Env("cluster.yaml", spec.Env{})); err != nil {
				t.Fatalf("the document does not load:\n%v\n%s", err, c.Document)
			}
		}
	})
}

// thousand is an agent-config of a thousand hosts with static networks.
func thousand() memory {
	var hosts strings.Builder
	hosts.WriteString("apiVersion: v1beta1\nkind: AgentConfig\nrendezvousIP: 10.0.1.0\nhosts:\n")
	for i := range 1000 {
		mac, role := fmt.Sprintf("52:54:00:00:%02x:%02x", i/256, i%256), "worker"
		if i < 3 {
			role = "master"
		}
		fmt.Fprintf(&hosts, `- hostname: node-%d
  role: %s
  interfaces:
  - {name: eth0, macAddress: "%s"}
  networkConfig:
    interfaces:
    - name: eth0
      type: ethernet
      state: up
      mac-address: "%s"
      ipv4:
        enabled: true
        dhcp: false
        address:
        - {ip: 10.0.%d.%d, prefix-length: 16}
      ipv6:
        enabled: false
    dns-resolver:
      config:
        server: [10.0.0.1]
    routes:
      config:
      - destination: 0.0.0.0/0
        next-hop-address: 10.0.0.1
        next-hop-interface: eth0
`, i, role, mac, mac, 1+i/250, 1+i%250)
	}
	config := strings.NewReplacer("10.0.0.0/24", "10.0.0.0/16", "replicas: 1", "replicas: 3", "replicas: 0", "replicas: 997", "{none: {}}", "{baremetal: {apiVIPs: [10.0.0.5], ingressVIPs: [10.0.0.6]}}",
		"networking: {", "networking: {clusterNetwork: [{cidr: 172.16.0.0/12, hostPrefix: 23}], serviceNetwork: [172.32.0.0/16], ").Replace(installConfig)
	return memory{"in/install-config.yaml": []byte(config), "in/agent-config.yaml": []byte(hosts.String())}
}

func TestReadThousandHosts(t *testing.T) {
	c := must.Get(convert.Read(t.Context(), "in", convert.Options{Version: "4.20", Env: thousand().env()}))(t)
	if n := len(load(t, c).Spec.Hosts); n != 1000 {
		t.Errorf("there are %d hosts", n)
	}
}

// BenchmarkReadThousandHosts converts: what is read holds the text of cluster.yaml.
func BenchmarkReadThousandHosts(b *testing.B) {
	files := thousand()
	for b.Loop() {
		must.Get(convert.Read(b.Context(), "in", convert.Options{Version: "4.20", Env: files.env()}))(b)
	}
	if each := b.Elapsed() / time.Duration(b.N); each > time.Second {
		b.Errorf("a conversion takes %s; the bound is %s", each, time.Second)
	}
}
