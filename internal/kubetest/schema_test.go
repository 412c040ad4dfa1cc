//go:build e2e

package kubetest_test

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

// TestSchemas asks the API server about what the service knows and its published
// types do not, and about what the service would refuse.
func TestSchemas(t *testing.T) {
	c := hub.Start(t)
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	const (
		cluster = `clusterDeploymentRef: {name: c}, imageSetRef: {name: i}, networking: {networkType: %s}, provisionRequirements: {controlPlaneAgents: 2%s}`
		agent   = `approved: true, role: master`
	)
	in := func(text string, words ...string) string {
		for _, word := range words {
			text = strings.Replace(text, "%s", word, 1)
		}
		return text
	}
	tests := []struct {
		name, kind, spec string
		refusal          string // part of it; "" for none
	}{
		{"arbiter", hubapi.KindAgentClusterInstall, in(cluster, "OVNKubernetes", ", arbiterAgents: 1") + `, arbiter: {name: arbiter, hyperthreading: Disabled}`, ""},
		{"time", hubapi.KindAgentClusterInstall, in(cluster, "OVNKubernetes", "") + `, ntpSources: [ntp.example.com]`, ""},
		{"network", hubapi.KindAgentClusterInstall, in(cluster, "Cilium", ""), ""},
		{"unknown-network", hubapi.KindAgentClusterInstall, in(cluster, "Token", ""), "spec.networking.networkType"},
		{"encryption", hubapi.KindAgentClusterInstall, in(cluster, "None", "") + `, diskEncryption: {mode: tpmv2, enableOn: "masters,arbiters"}`, ""},
		{"encryption-of-each-role", hubapi.KindAgentClusterInstall, in(cluster, "None", "") + `, diskEncryption: {mode: tpmv2, enableOn: "masters,arbiters,workers"}`, ""},
		{"three-vips", hubapi.KindAgentClusterInstall, in(cluster, "None", "") + `, apiVIPs: [a, b, c]`, "spec.apiVIPs"},
		{"unknown-field", hubapi.KindAgentClusterInstall, in(cluster, "None", "") + `, additionalTrustBundle: x`, "additionalTrustBundle"},
		{"image", hubapi.KindInfraEnv, `pullSecretRef: {name: p}, agentApproval: {autoApprove: true}, ntpSources: [t], networkDiscoveryDelaySeconds: 30, imageType: minimal-iso, kernelArguments: [{operation: append, value: 'a="b c"'}]`, ""},
		{"no-pull-secret", hubapi.KindInfraEnv, `clusterRef: {name: c, namespace: n}`, "spec.pullSecretRef"},
		{"delay", hubapi.KindInfraEnv, `pullSecretRef: {name: p}, networkDiscoveryDelaySeconds: -1`, "networkDiscoveryDelaySeconds"},
		{"argument", hubapi.KindInfraEnv, `pullSecretRef: {name: p}, kernelArguments: [{operation: append, value: a b}]`, "kernelArguments"},
		{"host", hubapi.KindAgent, agent + `, fencingCredentialsSecretRef: f, installation_disk_path: /dev/sda`, ""},
		{"fencing-by-a-reference", hubapi.KindAgent, agent + `, fencingCredentialsSecretRef: {name: f}`, "spec.fencingCredentialsSecretRef"},
		{"no-role", hubapi.KindAgent, `approved: true`, "spec.role"},
		{"nmstate", hubapi.KindNMStateConfig, `interfaces: [{name: eth0, macAddress: "52:54:00:aa:bb:cc"}], config: {interfaces: [{name: eth0, mtu: 9000}], anything: {goes: [1]}}`, ""},
		{"mac", hubapi.KindNMStateConfig, `interfaces: [{name: eth0, macAddress: "52-54-00-aa-bb-cc"}]`, "macAddress"},
		{"label", hubapi.KindAgentClassification, `labelKey: size, labelValue: big, query: .cpu.count > 8`, ""},
		{"release", hubapi.KindClusterImageSet, `releaseImage: quay.example.com/r@sha256:1`, ""},
		{"machine", hubapi.KindBareMetalHost, `online: true, bootMode: UEFI, bmc: {address: redfish-virtualmedia+https://b/redfish/v1/Systems/1, credentialsName: s}, rootDeviceHints: {minSizeGigabytes: 100}`, ""},
		{"deployment", hubapi.KindClusterDeployment, `clusterName: c, baseDomain: d, platform: {agentBareMetal: {agentSelector: {}}}, installed: true, clusterMetadata: {clusterID: "", infraID: "", adminKubeconfigSecretRef: {name: k}, adminPasswordSecretRef: {name: p}}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kind := kindNamed(t, test.kind)
			object := &unstructured.Unstructured{Object: map[string]any{}}
			if err := yaml.Unmarshal([]byte(`{spec: {`+test.spec+`}}`), &object.Object); err != nil {
				t.Fatal(err)
			}
			sent := maps.Clone(object.Object)
			object.SetGroupVersionKind(kind.GroupVersionKind)
			object.SetName(test.name)
			var resource dynamic.ResourceInterface = client.Resource(kind.GroupVersionResource())
			if kind.Namespaced {
				resource = client.Resource(kind.GroupVersionResource()).Namespace(namespace)
			}
			options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}}
			kept, err := resource.Create(t.Context(), object, options)
			switch {
			case test.refusal == "" && err != nil:
				t.Fatal(err)
			case test.refusal == "":
				if lost := lost("", numbers(sent), numbers(kept.Object)); len(lost) > 0 {
					t.Errorf("not kept: %v", lost)
				}
			case err == nil:
				t.Error("accepted")
			case !strings.Contains(err.Error(), test.refusal):
				t.Errorf("refused without naming %s: %v", test.refusal, err)
			}
		})
	}
}

func kindNamed(t *testing.T, name string) hubapi.Kind {
	t.Helper()
	for _, kind := range hubapi.Kinds() {
		if kind.Kind == name {
			return kind
		}
	}
	t.Fatalf("no kind %s", name)
	return hubapi.Kind{}
}

// numbers has all numbers as YAML reads them.
func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, each := range v {
			out[key] = numbers(each)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = numbers(v[i])
		}
		return out
	case int64:
		return float64(v)
	}
	return value
}
