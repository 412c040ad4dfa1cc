//go:build e2e

package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// An Agent that belongs to a BareMetalHost gets its settings through annotations there.
func TestAgentOfABareMetalHost(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.imageReady()
	machine := object("metal3.io/v1alpha1", "BareMetalHost", s.namespace, "metal", map[string]any{"spec": map[string]any{
		"online": true, "bootMACAddress": "52:54:00:00:00:00", "bmc": map[string]any{"address": "redfish://10.0.0.1", "credentialsName": "x"},
	}})
	if _, err := s.client(kube.BareMetalHosts).Create(t.Context(), machine, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	name := s.boots(0)
	agent := s.get(kube.Agents, name)
	agent.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": s.namespace, "agent-install.openshift.io/bmh": "metal"})
	if _, err := s.client(kube.Agents).Update(t.Context(), agent, metav1.UpdateOptions{FieldManager: "bmac"}); err != nil {
		t.Fatal(err)
	}
	s.until("the machine", func(o *model.Observed) bool {
		at := s.plane.api.Watching(s.namespace)
		u := at.Store(kube.Agents).Get(name)
		return len(o.Hosts) == 1 && at.Store(kube.BareMetalHosts).Get("metal") != nil && u.GetLabels()["agent-install.openshift.io/bmh"] != ""
	})
	s.calls.take()
	action := model.Action{
		Key: "host/cp-0/update", Scope: model.ScopeHost.Of("cp-0"), Kind: model.UpdateHost, Target: name, InfraEnv: s.namespace + "/" + s.namespace, Name: "cp-0",
		Settings: model.Settings{
			model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("cp-0"), model.SettingApproved: model.ValueOf(true),
			model.SettingLabels: model.ValueOf(map[string]string{"rack": "a"}), model.SettingInstallerArgs: model.ValueOf([]string{"--append-karg", "x=y"}),
		},
	}
	for range 2 {
		if err := s.plane.Act(t.Context(), s.desired, action); err != nil {
			t.Fatal(err)
		}
	}
	s.wantWrites("baremetalhosts/metal")
	notes := s.get(kube.BareMetalHosts, "metal").GetAnnotations()
	for key, want := range map[string]string{
		"bmac.agent-install.openshift.io/role": "master", "bmac.agent-install.openshift.io/hostname": "cp-0",
		"bmac.agent-install.openshift.io.node-label.rack": "a", "bmac.agent-install.openshift.io/installer-args": `["--append-karg","x=y"]`,
	} {
		if notes[key] != want {
			t.Errorf("%s is %q, want %q", key, notes[key], want)
		}
	}
	// The controller adds labels, and never removes one.
	patch := `{"metadata":{"annotations":{"agent.agent-install.openshift.io/inherited-node-labels":"site"}},"spec":{"nodeLabels":{"rack":"a","site":"north"}}}`
	if _, err := s.client(kube.Agents).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "bmac"}); err != nil {
		t.Fatal(err)
	}
	s.until("the labels", func(o *model.Observed) bool {
		return strings.Contains(string(o.Hosts[0].Settings[model.SettingLabels]), "rack")
	})
	action.Settings = model.Settings{model.SettingLabels: model.ValueOf(map[string]string{"row": "1"})}
	for range 2 {
		if err := s.plane.Act(t.Context(), s.desired, action); err != nil {
			t.Fatal(err)
		}
	}
	s.wantWrites("baremetalhosts/metal", "agents/"+name)
	notes = s.get(kube.BareMetalHosts, "metal").GetAnnotations()
	if _, there := notes["bmac.agent-install.openshift.io.node-label.rack"]; there || notes["bmac.agent-install.openshift.io.node-label.row"] != "1" {
		t.Errorf("annotations %v", notes)
	}
	if left, _, _ := unstructured.NestedStringMap(s.get(kube.Agents, name).Object, "spec", "nodeLabels"); left["site"] != "north" || len(left) != 1 {
		t.Errorf("labels that are left: %v", left)
	}
}

// metal3Hosts are hosts of clusterText that the hub boots.
func metal3Hosts(t *testing.T, namespace string, names ...string) *spec.Cluster {
	t.Helper()
	head, _, _ := strings.Cut(clusterText, "  hosts:")
	text := fmt.Sprintf(head, namespace) + "  boot: {method: metal3}\n  hosts:\n"
	for i, name := range names {
		text += fmt.Sprintf("  - {name: %s, match: {mac: \"52:54:00:00:00:%02d\"}, bmc: {address: 10.0.0.%d, system: \"1\", credentials: {env: BMC}}}\n", name, i, i+1)
	}
	values := map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dTpw"}}}`, "BMC": "admin:secret"}
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), spec.Env{LookupEnv: func(name string) (string, bool) { v, set := values[name]; return v, set }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Machines that the hub boots are given to it once their image is there, each
// once, and those too that the file names later; what others made is not touched.
func TestMachinesThatTheHubBoots(t *testing.T) {
	s := newStage(t)
	s.desired.Spec = metal3Hosts(t, s.namespace, "cp-0", "cp-1", "cp-2", "w-0")
	all := s.desired.Spec.Spec.Hosts
	s.desired.Spec.Spec.Hosts = all[:3]
	if done := s.settle(); slices.Contains(done, "RegisterHost") {
		t.Errorf("before there is an image: %v", done)
	}
	s.imageReady()
	s.until("the image", func(o *model.Observed) bool { return o.InfraEnvs[0].Image.State == model.ImageReady })
	s.calls.take()
	if done := s.settle(); !slices.Equal(done, []string{"RegisterHost", "RegisterHost", "RegisterHost"}) {
		t.Errorf("done %v", done)
	}
	s.wantWrites(
		"secrets/C-cp-0-bmc", "secrets/C-cp-1-bmc", "secrets/C-cp-2-bmc", "baremetalhosts/cp-0", "baremetalhosts/cp-1", "baremetalhosts/cp-2",
	)
	if env := s.get(kube.BareMetalHosts, "cp-1").GetLabels()["infraenvs.agent-install.openshift.io"]; env != s.namespace {
		t.Errorf("it boots the InfraEnv %q", env)
	}
	s.desired.Spec.Spec.Hosts = all
	if done := s.settle(); !slices.Equal(done, []string{"RegisterHost"}) {
		t.Errorf("a host that was added to the file: done %v", done)
	}
	s.wantWrites("secrets/C-w-0-bmc", "baremetalhosts/w-0")
	s.plane = s.newPlane(Config{Kube: server.Start(t).Config, Log: s.calls.log})
	if done := s.settle(); len(done) > 0 {
		t.Errorf("a second run does %v", done)
	}
	s.status(kube.BareMetalHosts, "cp-2", map[string]any{
		"provisioning": map[string]any{"state": "registering", "ID": ""}, "operationalStatus": "error", "errorType": "registration error",
		"errorMessage": "no route to the BMC", "errorCount": int64(1), "poweredOn": false,
	})
	o := s.until("the trouble", func(o *model.Observed) bool {
		return slices.ContainsFunc(o.Enrolled, func(e model.Enrolled) bool { return e.Trouble != "" })
	})
	plan := install.Decide(s.desired, o, model.Memory{}, o.At)
	if len(plan.Blockers) != 1 || !strings.Contains(plan.Blockers[0].Message, "cannot boot cp-2: no route to the BMC") {
		t.Errorf("blockers %+v", plan.Blockers)
	}
}

// A BareMetalHost of another owner counts as the machine that it describes, and never as another machine of the same
// name.
func TestMachinesOfOthers(t *testing.T) {
	s := newStage(t)
	s.desired.Spec = metal3Hosts(t, s.namespace, "cp-0", "cp-1", "cp-2", "w-0")
	machine := func(name, mac string) {
		u := object("metal3.io/v1alpha1", "BareMetalHost", s.namespace, name, map[string]any{"spec": map[string]any{
			"online": true, "bootMACAddress": mac, "bmc": map[string]any{"address": "redfish://10.0.0.1", "credentialsName": "x"},
		}})
		if _, err := s.client(kube.BareMetalHosts).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
			t.Fatal(err)
		}
	}
	machine("rack-7", "52:54:00:00:00:00")
	s.settle()
	machine("cp-1", "52:54:00:77:77:77") // there from the start, nothing would have been made
	s.imageReady()
	o := s.until("image and machines", func(o *model.Observed) bool {
		return o.InfraEnvs[0].Image.State == model.ImageReady && len(o.Enrolled) == 2
	})
	for _, a := range install.Decide(s.desired, o, model.Memory{}, o.At).Actions {
		err := s.plane.Act(t.Context(), s.desired, a)
		switch {
		case a.Kind != model.RegisterHost || a.Name == "cp-0":
			t.Errorf("%s %s", a.Kind, a.Name)
		case a.Name == "cp-1":
			if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "oaictl did not make") {
				t.Errorf("cp-1: %v", err)
			}
		case err != nil:
			t.Errorf("%s: %v", a.Name, err)
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
	if _, err := s.admin.Resource(kube.InfraEnvs.Resource()).Namespace(other).Create(t.Context(), pool, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: own}); err == nil || !strings.Contains(err.Error(), "spec.discovery.kernelArgs") {
		t.Errorf("what the pool's image cannot have is refused: %v", err)
	}
	s.desired.Spec.Spec.Discovery.KernelArgs, s.desired.Spec.Spec.Discovery.NetworkDelay = nil, 0
	if err := s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: own}); err != nil {
		t.Fatal(err)
	}
	for number, bound := range []string{"", "another"} {
		u := object("agent-install.openshift.io/v1beta1", "Agent", other, "host-"+bound, map[string]any{"spec": map[string]any{"approved": false, "role": "auto-assign"}})
		if bound != "" {
			u.Object["spec"].(map[string]any)["clusterDeploymentName"] = map[string]any{"name": bound, "namespace": bound}
		}
		u.SetName([]string{"00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"}[number])
		u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": "pool"})
		if _, err := s.admin.Resource(kube.Agents.Resource()).Namespace(other).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	query := s.query()
	query.InfraEnv = other + "/pool"
	var o *model.Observed
	s.until("the pool", func(*model.Observed) bool {
		var err error
		if o, err = s.plane.Observe(t.Context(), query, nil); err != nil {
			t.Fatal(err)
		}
		return len(o.Hosts) == 1 && len(o.Elsewhere) == 1
	})
	if len(o.InfraEnvs) != 1 || o.InfraEnvs[0].Owned || o.InfraEnvs[0].ClusterID != "" || o.Elsewhere[0].ClusterName != "another" {
		t.Errorf("InfraEnvs %+v, elsewhere %+v", o.InfraEnvs, o.Elsewhere)
	}
	bind := model.Action{Key: "bind", Kind: model.BindHost, Target: o.Hosts[0].ID, InfraEnv: o.Hosts[0].InfraEnvID, Name: "cp-0"}
	for range 2 {
		if err := s.plane.Act(t.Context(), s.desired, bind); err != nil {
			t.Fatal(err)
		}
	}
	u, err := s.admin.Resource(kube.Agents.Resource()).Namespace(other).Get(t.Context(), o.Hosts[0].ID, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ref, _, _ := unstructured.NestedStringMap(u.Object, "spec", "clusterDeploymentName")
	if ref["name"] != own || ref["namespace"] != own {
		t.Errorf("bound to %v", ref)
	}
	bind.Target = o.Elsewhere[0].ID
	if err := s.plane.Act(t.Context(), s.desired, bind); model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "another/another") {
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
	if o := s.observe(); len(o.InfraEnvs) != 1 || !strings.Contains(string(o.InfraEnvs[0].Settings[model.SettingStaticNetworks]), "192.168.127.11") {
		t.Errorf("InfraEnvs %+v", o.InfraEnvs)
	}
	s.desired.Spec.Spec.Hosts[1].Net = nil
	if done := s.settle(); !slices.Equal(done, []string{"UpdateInfraEnv"}) {
		t.Errorf("done %v", done)
	}
	if list, err := s.client(kube.NMStateConfigs).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%d networks, %v", len(list.Items), err)
	}
}
