//go:build e2e

package hub

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const fencedText = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: NAME}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  infraEnv: {ref: POOL/pool}
  topology: {controlPlane: 2, workers: 0, fencing: true}
  network:
    machine: [192.168.127.0/24]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}, fencing: {address: "redfish+https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}, ignitionEndpoint: {token: {env: PULL}}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:01"}, fencing: {address: "redfish+https://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}}}
`

// An Agent names the Secret of its fencing, and no namespace: the Secret stands
// beside the Agent, wherever that is. The token is named with its namespace.
func TestSecretsStandWhereTheAgentLooks(t *testing.T) {
	for name, pooled := range map[string]bool{"of the cluster": false, "of a pool": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			home := s.namespace
			if pooled {
				home = server.Start(t).Namespace(t)
			}
			s.desired.Spec = parseCluster(t, strings.NewReplacer("NAME", s.namespace, "POOL", home).Replace(fencedText))
			agent := object("agent-install.openshift.io/v1beta1", "Agent", home, "00000000-0000-0000-0000-00000000000a", map[string]any{"spec": map[string]any{"approved": false, "role": "auto-assign"}})
			agent, err := s.admin.Resource(kube.Agents.Resource()).Namespace(home).Create(t.Context(), agent, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			update := model.Action{
				Kind: model.UpdateHost, Scope: "host/cp-0", Name: "cp-0", Target: agent.GetName(), InfraEnv: home + "/pool",
				Settings: model.Settings{model.SettingFencing: model.ValueOf("new"), model.SettingEndpointToken: model.ValueOf("new")},
			}
			if err := s.plane.Act(t.Context(), s.desired, update); err != nil {
				t.Fatal(err)
			}
			s.calls.take()
			if err := s.plane.Act(t.Context(), s.desired, update); err != nil {
				t.Fatal(err)
			}
			if writes, _ := s.calls.take(); len(writes) > 0 {
				t.Errorf("said again, it writes %v", writes)
			}
			secret, err := s.admin.Resource(kube.Secrets.Resource()).Namespace(home).Get(t.Context(), s.namespace+"-cp-0-fencing", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			owners := secret.GetOwnerReferences()
			if goes := len(owners) == 1 && owners[0].UID == agent.GetUID(); goes != pooled || len(owners) > 1 {
				t.Errorf("owners %+v", owners)
			}
			if agent, err = s.admin.Resource(kube.Agents.Resource()).Namespace(home).Get(t.Context(), agent.GetName(), metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if ref, _, _ := unstructured.NestedString(agent.Object, "spec", "fencingCredentialsSecretRef"); ref != secret.GetName() {
				t.Errorf("the Agent names %q", ref)
			}
			token, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "ignitionEndpointTokenReference")
			if _, err := s.admin.Resource(kube.Secrets.Resource()).Namespace(token["namespace"]).Get(t.Context(), token["name"], metav1.GetOptions{}); err != nil {
				t.Errorf("the token: %v", err)
			}
		})
	}
}
