//go:build e2e

package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// particularHosts is a compact cluster with one host that has everything that a host of a usual cluster can have.
func particularHosts(t testing.TB) *spec.Cluster {
	t.Helper()
	const all = `
    disk: {hints: {deviceName: /dev/sdb, minSizeGigabytes: 1000, rotational: true}}
    installerArgs: [--append-karg, console=ttyS1]
    labels: {example.com/rack: b, row: "1"}
    ignition: {ignition: {version: 3.2.0}, storage: {files: [{path: /etc/particular, contents: {source: "data:,b"}}]}}
    ignitionEndpoint: {token: {file: ../shared/bmc-password-only}, headers: {X-Rack: b}}`
	const mac = `match: {mac: "52:54:00:00:02:01"}`
	return fixture.Example(t, "compact", mac, mac+all, "  hosts: ", "  ignitionEndpoint: {url: \"https://api-int.example.com:22623/config\"}\n  ignoreValidations: {hosts: [ntp-synced]}\n  hosts: ")
}

// fencedHosts is a cluster of two machines that can power each other off.
func fencedHosts(t testing.TB) *spec.Cluster {
	t.Helper()
	cluster := fixture.Example(t, "compact", "  hosts: ", "  topology: {controlPlane: 2, workers: 0, fencing: true}\n  hosts: ",
		"role: control-plane\n", "role: control-plane\n    fencing: {address: \"redfish+https://10.0.0.1/redfish/v1/Systems/1\", credentials: {file: ../shared/bmc-password}, insecure: false}\n",
		"  - name: cp-2\n    role: control-plane\n    match: {mac: \"52:54:00:00:02:02\"}\n", "")
	return cluster
}

// onMetal3 is a hub that boots the machines itself.
func onMetal3() backend { return backend{name: "hub with metal3", hub: true, hive: true, metal3: true} }

// TestHostSettings installs machines with many settings in the file, on every backend, and by way of BareMetalHosts:
// the service has got the same for each. A second run writes nothing.
func TestHostSettings(t *testing.T) {
	server.Start(t) // skips where there is none
	for name, test := range map[string]struct {
		file func(testing.TB) *spec.Cluster
		said map[string]string // field of cp-1, or of the cluster → part of what it says
	}{
		"particular": {particularHosts, map[string]string{
			"role": "master", "installation_disk_path": "/dev/sdb", "installer_args": "console=ttyS1", "node_labels": "example.com/rack",
			"ignition_config_overrides": "/etc/particular", "ignition_endpoint_token_set": "true", "ignored": "ntp-synced",
		}},
		"fenced": {fencedHosts, map[string]string{"fencing_credentials": "redfish+https://10.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := append(backends(), onMetal3())
			told := make([]map[string]any, len(all))
			t.Run("on", func(t *testing.T) {
				for i, b := range all {
					t.Run(b.name, func(t *testing.T) {
						t.Parallel()
						told[i] = installsAsTold(t, b, test.file(t))
					})
				}
			})
			for i := range all {
				if told[0] == nil || told[i] == nil {
					continue // it has failed, and said why
				}
				if diff := cmp.Diff(told[0], told[i]); diff != "" {
					t.Errorf("-%s +%s\n%s", all[0].name, all[i].name, diff)
				}
			}
			if told[0] != nil {
				wantSaid(t, told[0], test.said)
			}
		})
	}
}

// installsAsTold installs twice, and returns what the service got.
func installsAsTold(t *testing.T, b backend, cluster *spec.Cluster) map[string]any {
	x := b.open(t, b.boots(t, setup{cluster: cluster}))
	dir := t.TempDir()
	first := x.run(t, dir, install.Config{Timeout: 3 * time.Hour, UserTimeout: -1})
	if first.err != nil || first.result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q: %v\n%s\n%s", first.result.Verdict, first.err, model.FaultOf(first.err).Next, first.story())
	}
	if b.metal3 {
		x.wereBooted(t)
	}
	x.Forget()
	if again := x.run(t, dir); again.err != nil || len(x.Written()) > 0 {
		t.Errorf("the second run: %v; writes %v", again.err, x.Written())
	}
	return x.told(t)
}

// boots gives machines to a hub that boots them: they stay dark until it has them.
func (b backend) boots(t testing.TB, s setup) setup {
	t.Helper()
	if !b.metal3 {
		return s
	}
	credentials := fixture.Example(t, "redfish").Spec.Hosts[0].BMC.Credentials
	s.cluster.Spec.Boot.Method = spec.BootMetal3
	for i := range s.cluster.Spec.Hosts {
		s.cluster.Spec.Hosts[i].BMC = &spec.BMC{Address: "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1", Credentials: credentials}
	}
	s.scenario = &scenario.Scenario{Name: "dark", Hosts: []scenario.Rule{{Do: scenario.DoNeverBoot, Args: scenario.Args{"for": 5 * time.Minute}}}}
	return s
}

// told are the settings of the hosts, by their names, and what of the cluster is about
// hosts, as the service has them.
func (x *site) told(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, c := range x.named(t, "/v2/clusters", x.cluster.Metadata.Name) {
		ignored, err := fetch[map[string]any](t.Context(), x.service.URL(), fmt.Sprintf("/v2/clusters/%v/ignored-validations", c["id"]))
		if err != nil {
			t.Fatal(err)
		}
		out["ignored"] = parsed(ignored["host-validation-ids"])
	}
	for _, env := range x.named(t, "/v2/infra-envs", x.cluster.Metadata.Name) {
		hosts, err := fetch[[]map[string]any](t.Context(), x.service.URL(), fmt.Sprintf("/v2/infra-envs/%v/hosts", env["id"]))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			settings := map[string]any{}
			for _, field := range []string{
				"role", "installation_disk_path", "installer_args", "node_labels", "ignition_config_overrides",
				"ignition_endpoint_token_set", "machine_config_pool_name", "fencing_credentials",
			} {
				settings[field] = parsed(h[field])
			}
			out[fmt.Sprint(h["requested_hostname"])] = settings
		}
	}
	return out
}

// parsed is a value, or what a text says that is JSON.
func parsed(value any) any {
	var content any
	if text, is := value.(string); is && json.Unmarshal([]byte(text), &content) == nil {
		return content
	}
	return value
}

// wantSaid checks what was sent to the service for one host, and for the cluster.
func wantSaid(t *testing.T, told map[string]any, said map[string]string) {
	t.Helper()
	settings, _ := told["cp-1"].(map[string]any)
	for field, part := range said {
		got := fmt.Sprint(settings[field])
		if of, there := told[field]; there {
			got = fmt.Sprint(of)
		}
		if !strings.Contains(got, part) {
			t.Errorf("%s is %s, without %q", field, got, part)
		}
	}
}

// wereBooted checks that every machine was booted by the hub, and is released.
func (x *site) wereBooted(t *testing.T) {
	t.Helper()
	machines := x.ours(t, hubapi.Resource(hubapi.KindBareMetalHost))
	if len(machines) != len(x.cluster.Spec.Hosts) {
		t.Errorf("%d BareMetalHosts", len(machines))
	}
	env, err := x.client.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(x.namespace).Get(t.Context(), x.cluster.Metadata.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	image, _, _ := unstructured.NestedString(env.Object, "status", "isoDownloadURL")
	for _, m := range machines {
		url, _, _ := unstructured.NestedString(m.Object, "spec", "image", "url")
		format, _, _ := unstructured.NestedString(m.Object, "spec", "image", "format")
		online, _, _ := unstructured.NestedBool(m.Object, "spec", "online")
		if url == "" || url != image || format != "live-iso" || !online {
			t.Errorf("%s: image %q (%s), where %q is the InfraEnv's; online: %v", m.GetName(), url, format, image, online)
		}
		if m.GetAnnotations()[hubapi.AnnotationBMHDetached] == "" {
			t.Errorf("%s is not let go of", m.GetName())
		}
		if !slices.ContainsFunc(x.cluster.Spec.Hosts, func(h spec.Host) bool { return h.Name == m.GetName() }) {
			t.Errorf("%s is no host of the file", m.GetName())
		}
	}
}
