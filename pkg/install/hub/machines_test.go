package hub

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install"
)

// An Agent that belongs to a BareMetalHost is told what it shall be there.
func TestAgentOfABareMetalHost(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	machine := object("metal3.io/v1alpha1", "BareMetalHost", s.namespace, "metal", map[string]any{"spec": map[string]any{
		"online": true, "bootMACAddress": "52:54:00:00:00:00", "bmc": map[string]any{"address": "redfish://10.0.0.1", "credentialsName": "x"},
	}})
	if _, err := s.client(bareMetalHosts()).Create(t.Context(), machine, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	name := s.boots(0)
	agent := s.get(agents(), name)
	agent.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": s.namespace, "agent-install.openshift.io/bmh": "metal"})
	if _, err := s.client(agents()).Update(t.Context(), agent, metav1.UpdateOptions{FieldManager: "bmac"}); err != nil {
		t.Fatal(err)
	}
	s.until("the machine", func(o *install.Observed) bool {
		at := s.plane.places[s.namespace]
		u := at.shelf(agents()).get(name)
		return len(o.Hosts) == 1 && at.shelf(bareMetalHosts()).get("metal") != nil && u.GetLabels()["agent-install.openshift.io/bmh"] != ""
	})
	s.calls.take()
	action := install.Action{
		Key: "host/cp-0/update", Scope: install.HostScope("cp-0"), Kind: install.UpdateHost, Target: name, InfraEnv: s.namespace + "/" + s.namespace, Name: "cp-0",
		Settings: install.Settings{
			install.SetRole: install.ValueOf("control-plane"), install.SetHostname: install.ValueOf("cp-0"), install.SetApproved: install.ValueOf(true),
			install.SetLabels: install.ValueOf(map[string]string{"rack": "a"}), install.SetArgs: install.ValueOf([]string{"--append-karg", "x=y"}),
		},
	}
	for range 2 {
		if err := s.plane.Act(t.Context(), s.desired, action); err != nil {
			t.Fatal(err)
		}
	}
	s.wantWrites("baremetalhosts/metal")
	notes := s.get(bareMetalHosts(), "metal").GetAnnotations()
	for key, want := range map[string]string{
		"bmac.agent-install.openshift.io/role": "master", "bmac.agent-install.openshift.io/hostname": "cp-0",
		"bmac.agent-install.openshift.io.node-label.rack": "a", "bmac.agent-install.openshift.io/installer-args": `["--append-karg","x=y"]`,
	} {
		if notes[key] != want {
			t.Errorf("%s is %q, want %q", key, notes[key], want)
		}
	}
}

// A pool in another namespace lends its machines; one that another cluster has
// is elsewhere.
func TestPool(t *testing.T) {
	s := newStage(t)
	other := server.Start(t).Namespace(t)
	s.desired.Spec.Spec.InfraEnv.Ref = other + "/pool"
	own := s.namespace
	pool := object("agent-install.openshift.io/v1beta1", "InfraEnv", other, "pool", map[string]any{"spec": map[string]any{"pullSecretRef": map[string]any{"name": "x"}}})
	if _, err := s.admin.Resource(infraEnvs().GroupVersionResource).Namespace(other).Create(t.Context(), pool, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.plane.Act(t.Context(), s.desired, install.Action{Key: "cluster/register", Kind: install.RegisterCluster, Name: own}); err == nil || !strings.Contains(err.Error(), "spec.discovery.kernelArgs") {
		t.Errorf("what the pool's image cannot have is refused: %v", err)
	}
	s.desired.Spec.Spec.Discovery.KernelArgs, s.desired.Spec.Spec.Discovery.NetworkDelay = nil, 0
	if err := s.plane.Act(t.Context(), s.desired, install.Action{Key: "cluster/register", Kind: install.RegisterCluster, Name: own}); err != nil {
		t.Fatal(err)
	}
	for number, bound := range []string{"", "another"} {
		u := object("agent-install.openshift.io/v1beta1", "Agent", other, "host-"+bound, map[string]any{"spec": map[string]any{"approved": false, "role": "auto-assign"}})
		if bound != "" {
			u.Object["spec"].(map[string]any)["clusterDeploymentName"] = map[string]any{"name": bound, "namespace": bound}
		}
		u.SetName([]string{"00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"}[number])
		u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": "pool"})
		if _, err := s.admin.Resource(agents().GroupVersionResource).Namespace(other).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	query := s.query()
	query.InfraEnv = other + "/pool"
	var o *install.Observed
	s.until("the pool", func(*install.Observed) bool {
		var err error
		if o, err = s.plane.Observe(t.Context(), query, nil); err != nil {
			t.Fatal(err)
		}
		return len(o.Hosts) == 1 && len(o.Elsewhere) == 1
	})
	if len(o.InfraEnvs) != 1 || o.InfraEnvs[0].Owned || o.InfraEnvs[0].ClusterID != "" || o.Elsewhere[0].ClusterName != "another" {
		t.Errorf("InfraEnvs %+v, elsewhere %+v", o.InfraEnvs, o.Elsewhere)
	}
	bind := install.Action{Key: "bind", Kind: install.BindHost, Target: o.Hosts[0].ID, InfraEnv: o.Hosts[0].InfraEnvID, Name: "cp-0"}
	for range 2 {
		if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
			t.Fatal(err)
		}
	}
	u, err := s.admin.Resource(agents().GroupVersionResource).Namespace(other).Get(t.Context(), o.Hosts[0].ID, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ref, _, _ := unstructured.NestedStringMap(u.Object, "spec", "clusterDeploymentName")
	if ref["name"] != own || ref["namespace"] != own {
		t.Errorf("bound to %v", ref)
	}
	bind.Target = o.Elsewhere[0].ID
	if err := s.plane.Act(t.Context(), s.desired, bind); install.CodeOf(err) != install.CodeNotFound || !strings.Contains(err.Error(), "another/another") {
		t.Errorf("a host of another cluster: %v", err)
	}
}

// Static networks come before the image that has them, each once; one that the
// file no longer has goes.
func TestStaticNetworks(t *testing.T) {
	s := newStage(t)
	text := strings.Replace(fullText, "name: lab", "name: "+s.namespace, 1)
	text = strings.Replace(text, `, releaseImage: "quay.io/ocp/release:4.20.3-x86_64"`, "", 1)
	s.desired.Spec = parseCluster(t, text)
	s.settle()
	writes, _ := s.calls.take()
	place := func(part string) int {
		return slices.IndexFunc(writes, func(w string) bool { return strings.Contains(w, part) })
	}
	if place("nmstateconfigs/"+s.namespace+"-cp-0") < 0 || place("nmstateconfigs") > place("infraenvs") || place("infraenvs") < 0 {
		t.Errorf("writes %v", writes)
	}
	if o := s.observe(); len(o.InfraEnvs) != 1 || !strings.Contains(string(o.InfraEnvs[0].Settings[install.SetStaticNetwork]), "192.168.127.11") {
		t.Errorf("InfraEnvs %+v", o.InfraEnvs)
	}
	s.desired.Spec.Spec.Hosts[1].Net = nil
	if done := s.settle(); !slices.Equal(done, []string{"UpdateInfraEnv"}) {
		t.Errorf("done %v", done)
	}
	if list, err := s.client(nmStateConfigs()).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%d networks, %v", len(list.Items), err)
	}
}
