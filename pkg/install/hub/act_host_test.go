//go:build e2e

package hub

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install"
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

// What a node inherits from an InfraEnv, even one that another client made, is neither removed nor written as the
// host's own.
func TestInheritedNodeLabels(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	name := s.boots(0)
	s.says("insufficient")
	s.until("the host", func(o *model.Observed) bool { return len(o.Hosts) == 1 && o.Cluster.Status == "insufficient" })
	s.settle()
	inherits := `{"metadata":{"annotations":{"agent.agent-install.openshift.io/inherited-node-labels":"example.com/row,example.com/site"}},"spec":{"nodeLabels":{"example.com/site":"north","example.com/row":"1"}}}`
	if _, err := s.client(kube.Agents).Patch(t.Context(), name, types.MergePatchType, []byte(inherits), metav1.PatchOptions{FieldManager: "assisted-service"}); err != nil {
		t.Fatal(err)
	}
	s.until("its labels", func(o *model.Observed) bool { return o.Hosts[0].Inherited["example.com/site"] == "north" })
	for _, test := range []struct {
		labels map[string]string // of the host in the file
		writes int
		want   map[string]string
	}{
		{map[string]string{"rack": "a"}, 0, map[string]string{"rack": "a", "example.com/site": "north", "example.com/row": "1"}},
		{map[string]string{"store": "2"}, 1, map[string]string{"store": "2", "example.com/site": "north", "example.com/row": "1"}},
		{map[string]string{"store": "2", "example.com/site": "north"}, 0, map[string]string{"store": "2", "example.com/site": "north", "example.com/row": "1"}},
		{map[string]string{}, 1, map[string]string{"example.com/site": "north", "example.com/row": "1"}},
	} {
		s.calls.take()
		s.desired.Spec.Spec.Hosts[0].Labels = test.labels
		s.settle()
		if writes, _ := s.calls.take(); len(writes) != test.writes {
			t.Errorf("for %v it writes %v", test.labels, writes)
		}
		got, _, _ := unstructured.NestedStringMap(s.get(kube.Agents, name).Object, "spec", "nodeLabels")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("for %v (-want +got):\n%s", test.labels, diff)
		}
	}
}

// A role or a name that another client gives to a host is not overwritten silently: the run reports it with its field
// manager, and it stays. What the service filled in, and what oaictl wrote itself, does not count as another client's.
func TestContestedAgent(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	name := s.boots(0)
	s.says("insufficient")
	s.until("the host", func(o *model.Observed) bool { return len(o.Hosts) == 1 && o.Cluster.Status == "insufficient" })
	s.settle()
	if hostname, _, _ := unstructured.NestedString(s.get(kube.Agents, name).Object, "spec", "hostname"); hostname != "cp-0" {
		t.Fatalf("the host is named %q", hostname)
	}
	if _, err := s.client(kube.Agents).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"hostname":"theirs"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	o := s.until("their name", func(o *model.Observed) bool { return o.Hosts[0].Settings[model.SettingHostname].Text() == "theirs" })
	var refused error
	for _, action := range install.Decide(s.desired, o, model.Memory{}, o.At).Actions {
		if action.Kind == model.UpdateHost {
			refused = s.plane.Act(t.Context(), s.desired, action)
		}
	}
	if model.FaultOf(refused).Code != model.CodeNotFound || !strings.Contains(refused.Error(), `spec.hostname (theirs) is owned by kubectl-edit`) {
		t.Errorf("their name: %v", refused)
	}
	if hostname, _, _ := unstructured.NestedString(s.get(kube.Agents, name).Object, "spec", "hostname"); hostname != "theirs" {
		t.Errorf("their name was overwritten with %q", hostname)
	}
	if err := checkFieldOwners(s.get(kube.Agents, name), map[string]any{"role": "worker", "approved": true}); err != nil {
		t.Errorf("our own fields: %v", err)
	}
}

// A reserved Agent is changed to what the file says and then bound; what the file does not say, and its approval, stay
// as another client has set them.
func TestBindReservedAgent(t *testing.T) {
	s := newStage(t)
	pool := server.Start(t).Namespace(t)
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: s.namespace}); err != nil {
		t.Fatal(err)
	}
	const id = "00000000-0000-0000-0000-00000000000a"
	u := pooled(pool, id, map[string]any{"approved": true, "role": "auto-assign", "hostname": "theirs", "installation_disk_id": "/dev/sdb", "nodeLabels": map[string]any{"rack": "7"}})
	u.SetResourceVersion("")
	delete(u.Object, "status")
	agents := s.admin.Resource(kube.Agents.Resource()).Namespace(pool)
	if _, err := agents.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	s.desired.Spec.Spec.Hosts[0].Match.Agent = pool + "/" + id
	query := s.desired.Query()
	s.until("the reserved Agent", func(*model.Observed) bool {
		o, err := s.plane.Observe(t.Context(), query, nil)
		return err == nil && len(o.Hosts) == 1 && o.Hosts[0].Reserved != ""
	})
	s.calls.take()
	bind := model.Action{Key: "bind", Kind: model.BindHost, Target: id, InfraEnv: pool + "/rack", Name: "cp-0", Settings: model.Settings{"role": `"control-plane"`}}
	if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
		t.Fatal(err)
	}
	s.wantWrites("agents/"+id, "agents/"+id)
	now, err := agents.Get(t.Context(), id, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := now.Object["spec"].(map[string]any)
	ref := spec["clusterDeploymentName"].(map[string]any)
	if spec["role"] != "master" || ref["name"] != s.namespace || spec["approved"] != true || spec["hostname"] != "theirs" || spec["installation_disk_id"] != "/dev/sdb" || spec["nodeLabels"].(map[string]any)["rack"] != "7" {
		t.Errorf("spec %v", spec)
	}
	if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
		t.Fatal(err)
	}
	s.wantWrites()
}
