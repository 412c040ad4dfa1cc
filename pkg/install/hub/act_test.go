//go:build e2e

package hub

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A cluster is made with each object written once; another run, which remembers
// nothing, finds all of it as it shall be.
func TestRegisterOnce(t *testing.T) {
	s := newStage(t)
	done := s.settle()
	check.Slice(t, done, []string{"RegisterCluster", "RegisterInfraEnv"})
	s.wantWrites(
		"secrets/C-pull-secret", "configmaps/C-manifests", "configmaps/C-openshift", "clusterdeployments/C", "agentclusterinstalls/C", "infraenvs/C",
	)
	made := s.get(kube.AgentClusterInstalls, s.namespace)
	if hold, _, _ := unstructured.NestedBool(made.Object, "spec", "holdInstallation"); !hold {
		t.Error("the start is not held")
	}
	if set, _, _ := unstructured.NestedString(made.Object, "spec", "imageSetRef", "name"); set != "openshift-v4.20.3" {
		t.Errorf("image set %s", set)
	}
	if !s.preserves() {
		t.Error("whoever deletes the cluster loses its nodes")
	}
	s.plane = s.newPlane(Config{Kube: server.Start(t).Config, Log: s.calls.log})
	if again := s.settle(); len(again) > 0 {
		t.Errorf("a second run does %v", again)
	}
	s.wantWrites()
	s.observe()
	s.calls.take()
	for range 5 {
		s.observe()
	}
	if writes, reads := s.calls.take(); len(writes)+len(reads) > 0 {
		t.Errorf("observing again asks %v %v", writes, reads)
	}
}

// From registration to the end: roles, names and approval in one write a host,
// the start in one.
func TestInstall(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.says("pending-for-input")
	s.imageReady()
	var names []string
	for i := range 4 {
		names = append(names, s.boots(i))
	}
	s.says("insufficient")
	s.until("hosts", func(o *model.Observed) bool {
		return len(o.Hosts) == 4 && o.Hosts[3].Inventory.Known && o.Cluster.State == model.ClusterBlocked
	})
	s.calls.take()
	check.Slice(t, s.settle(), []string{"UpdateHost", "UpdateHost", "UpdateHost", "UpdateHost"})
	s.wantWrites("agents/"+names[0], "agents/"+names[1], "agents/"+names[2], "agents/"+names[3])
	agent := s.get(kube.Agents, names[0])
	got, _, _ := unstructured.NestedMap(agent.Object, "spec")
	for field, want := range map[string]any{"approved": true, "role": "master", "hostname": "cp-0"} {
		if got[field] != want {
			t.Errorf("%s is %v", field, got[field])
		}
	}
	s.says("ready")
	s.until("ready", func(o *model.Observed) bool { return o.Cluster.State == model.ClusterReady && !o.Cluster.Released })
	check.Slice(t, s.settle(), []string{"StartInstall"})
	s.wantWrites("agentclusterinstalls/C")
	if o := s.observe(); !o.Cluster.Released || o.Cluster.Hold != "" {
		t.Errorf("released %v, hold %q", o.Cluster.Released, o.Cluster.Hold)
	}
	s.finish()
	o := s.until("installed", func(o *model.Observed) bool { return o.Cluster.State == model.ClusterInstalled })
	if !o.Cluster.Unrecorded {
		t.Error("nobody has recorded the end, and it is not said so")
	}
	for name, want := range map[string]string{"kubeconfig": "final", "kubeadmin-password": "secret"} {
		check.Equal(t, string(must.Get(s.plane.Credential(t.Context(), o.Cluster.ID, name))(t)), want, name)
	}
	if done := s.settle(); !slices.Contains(done, "RecordInstalled") {
		t.Errorf("done %v", done)
	}
	deployment := s.get(kube.ClusterDeployments, s.namespace)
	if installed, _, _ := unstructured.NestedBool(deployment.Object, "spec", "installed"); !installed {
		t.Error("not recorded")
	}
}

// preserves reports whether nodes run on when their ClusterDeployment is deleted.
func (s *stage) preserves() bool {
	s.Helper()
	is, _, _ := unstructured.NestedBool(s.get(kube.ClusterDeployments, s.namespace).Object, "spec", "preserveOnDelete")
	return is
}

// A ClusterDeployment that does not preserve its nodes is changed to do so when they are installed, unless another
// client has set the field.
func TestStartPreserves(t *testing.T) {
	const manager = "a person"
	for name, test := range map[string]struct {
		manager, patch string
		want           bool
	}{
		"of an earlier version":   {hubapi.FieldManager, `{"spec":{"preserveOnDelete":null}}`, true},
		"a deletion broken off":   {hubapi.FieldManager, `{"spec":{"preserveOnDelete":false}}`, true},
		"what somebody else says": {manager, `{"spec":{"preserveOnDelete":false}}`, false},
		"what somebody released":  {manager, `{"metadata":{"labels":{"` + hubapi.LabelCluster + `":null}},"spec":{"preserveOnDelete":null}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.settle()
			must.Get(s.client(kube.ClusterDeployments).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(test.patch), metav1.PatchOptions{FieldManager: test.manager}))(t)
			changed := s.get(kube.ClusterDeployments, s.namespace).GetResourceVersion()
			s.eventually("the change", func() bool {
				return s.plane.api.Watching(s.namespace).Store(kube.ClusterDeployments).Get(s.namespace).GetResourceVersion() == changed
			})
			must.Do(t, s.plane.Act(t.Context(), s.desired, model.Action{Kind: model.StartInstall}))
			check.Equal(t, s.preserves(), test.want, "preserved")
		})
	}
}

// The ClusterImageSet of a release image is called after the cluster and its namespace. One
// that an AgentClusterInstall refers to by the former name stays so.
func TestImageSetOfTheFile(t *testing.T) {
	for name, formerly := range map[string]bool{"made anew": false, "from before": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.desired.Spec.Spec.OpenShift.ReleaseImage = "quay.io/ocp/release:4.20.3-x86_64"
			own, former := s.namespace+"."+s.namespace+"-release", s.namespace+"-release"
			want, not := own, former
			if formerly {
				want, not = former, own
				left := object("extensions.hive.openshift.io/v1beta1", "AgentClusterInstall", s.namespace, s.namespace, map[string]any{"spec": map[string]any{
					"clusterDeploymentRef": map[string]any{"name": s.namespace}, "imageSetRef": map[string]any{"name": former},
					"networking": map[string]any{}, "provisionRequirements": map[string]any{"controlPlaneAgents": int64(3)},
				}})
				left.SetLabels(map[string]string{hubapi.LabelCluster: s.namespace})
				must.Get(s.client(kube.AgentClusterInstalls).Create(t.Context(), left, metav1.CreateOptions{FieldManager: "before"}))(t)
			}
			s.settle()
			check.Equal(t, kube.ImageSetOf(s.get(kube.AgentClusterInstalls, s.namespace)), want, "it refers to")
			for set, there := range map[string]bool{want: true, not: false} {
				if is := s.hasImageSet(set); is != there {
					t.Errorf("%s is there: %v", set, is)
				}
			}
			// What is changed later continues from there.
			s.desired.Spec.Spec.Network.Machine = []string{"192.168.0.0/16"}
			check.Slice(t, s.settle(), []string{"UpdateCluster"})
			check.Equal(t, kube.ImageSetOf(s.get(kube.AgentClusterInstalls, s.namespace)), want, "it refers to")
			must.Do(t, s.plane.DeleteCluster(t.Context(), kube.ID(s.namespace, s.namespace), install.DeleteOptions{}))
			if s.hasImageSet(want) {
				t.Errorf("%s is left", want)
			}
		})
	}
}

func (s *stage) hasImageSet(name string) bool {
	s.Helper()
	_, err := s.admin.Resource(kube.ClusterImageSets.Resource()).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	return err == nil
}

// Clusters of one name in two namespaces have a ClusterImageSet each, and are deleted each
// with its own.
func TestImageSetsOfOneName(t *testing.T) {
	const image = "quay.io/ocp/release:4.20.%d-x86_64"
	first, second := newStage(t), newStage(t)
	for i, s := range []*stage{first, second} {
		s.desired.Spec.Metadata.Name = first.namespace
		s.desired.Spec.Spec.OpenShift.ReleaseImage = fmt.Sprintf(image, i)
		s.plane = s.newPlane(Config{Kube: server.Start(t).Config, Namespace: s.namespace})
		s.settle()
	}
	sets := []string{first.namespace + "." + first.namespace + "-release", second.namespace + "." + first.namespace + "-release"}
	for i, name := range sets {
		set := must.Get(first.admin.Resource(kube.ClusterImageSets.Resource()).Get(t.Context(), name, metav1.GetOptions{}))(t)
		check.Equal(t, recordOf(set).release, fmt.Sprintf(image, i), name)
	}
	must.Do(t, first.plane.DeleteCluster(t.Context(), kube.ID(first.namespace, first.namespace), install.DeleteOptions{}))
	if first.hasImageSet(sets[0]) || !first.hasImageSet(sets[1]) {
		t.Errorf("the first's is left: %v, the second's: %v", first.hasImageSet(sets[0]), first.hasImageSet(sets[1]))
	}
	must.Do(t, second.plane.DeleteCluster(t.Context(), kube.ID(second.namespace, first.namespace), install.DeleteOptions{}))
	if second.hasImageSet(sets[1]) {
		t.Error("the second's is left")
	}
}

// finish makes the service end the install.
func (s *stage) finish() {
	s.Helper()
	for name, data := range map[string]map[string]any{
		"-admin-kubeconfig": {"kubeconfig": "final"}, "-admin-password": {"username": "kubeadmin", "password": "secret"},
	} {
		u := object("v1", "Secret", s.namespace, s.namespace+name, map[string]any{"stringData": data})
		must.Get(s.client(kube.Secrets).Create(s.Context(), u, metav1.CreateOptions{}))(s)
	}
	patch := `{"spec":{"clusterMetadata":{"clusterID":"a","infraID":"b","adminKubeconfigSecretRef":{"name":"` + s.namespace + `-admin-kubeconfig"},"adminPasswordSecretRef":{"name":"` + s.namespace + `-admin-password"}}}}`
	must.Get(s.client(kube.AgentClusterInstalls).Patch(s.Context(), s.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "assisted-service"}))(s)
	s.says("installed", conditionOf("SpecSynced", "True", "SyncOK"), conditionOf("Completed", "True", "InstallationCompleted"),
		conditionOf("Failed", "False", "InstallationNotFailed"), conditionOf("Stopped", "True", "InstallationCompleted"))
}

// A change of the file goes to its field, and leaves the others, and what others
// have filled in, alone.
func TestUpdate(t *testing.T) {
	s := newStage(t)
	s.settle()
	must.Get(s.client(kube.AgentClusterInstalls).Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"spec":{"networking":{"userManagedNetworking":false}}}`), metav1.PatchOptions{FieldManager: "webhook"}))(t)
	s.until("the webhook's field", func(o *model.Observed) bool { return o.Cluster.Settings[model.SettingUserManaged] == "false" })
	s.calls.take()
	s.desired.Spec.Spec.Network.VIPs.API = []string{"192.168.127.200"}
	s.desired.Spec.Spec.SSHKeys = nil // left out, and so left alone
	check.Slice(t, s.settle(), []string{"UpdateCluster"})
	s.wantWrites("agentclusterinstalls/C")
	fields := s.get(kube.AgentClusterInstalls, s.namespace).Object["spec"].(map[string]any)
	if vips := fields["apiVIPs"].([]any); vips[0] != "192.168.127.200" {
		t.Errorf("VIPs %v", vips)
	}
	if fields["sshPublicKey"] == nil || fields["networking"].(map[string]any)["userManagedNetworking"] != false || fields["holdInstallation"] != true {
		t.Errorf("fields were lost: %v", fields)
	}
}

// TestUpdateEndpointCertificate replaces the certificate of an Ignition endpoint once: what
// was remembered of the Secret from before is read anew.
func TestUpdateEndpointCertificate(t *testing.T) {
	s := newStage(t)
	endpoint := &spec.IgnitionEndpoint{URL: "https://api-int.example.com:22623/config", CA: &spec.PublicSource{Inline: "old"}}
	s.desired.Spec.Spec.IgnitionEndpoint = endpoint
	s.settle()
	for _, certificate := range []string{"new", "newer"} {
		endpoint.CA.Inline = certificate
		check.Slice(t, s.settle(), []string{"UpdateCluster"}, certificate)
		var shown spec.IgnitionEndpoint
		if err := s.observe().Cluster.Settings[model.SettingIgnitionEndpoint].Decode(&shown); err != nil || shown.CA.Text() != certificate {
			t.Errorf("%s: shown %+v, %v", certificate, shown, err)
		}
	}
}

// TestUpdateWithoutAProxy removes a proxy, which the API server accepts only if a field of it is left; it is reported
// that the service continues to use the proxy.
func TestUpdateWithoutAProxy(t *testing.T) {
	s := newStage(t)
	s.settle()
	s.desired.Spec.Spec.Proxy = spec.Proxy{No: spec.StringList{}}
	s.desired.Options.Reimage = true
	o := s.observe()
	if told := install.Decide(s.desired, o, model.Memory{}, o.At).Warnings; !slices.ContainsFunc(told, func(w model.Warning) bool { return strings.HasPrefix(w.Key, "lasts/") }) {
		t.Errorf("warnings %+v", told)
	}
	if done := s.settle(); !slices.Contains(done, "UpdateCluster") || !slices.Contains(done, "UpdateInfraEnv") {
		t.Errorf("done %v", done)
	}
	for _, k := range []kube.Kind{kube.AgentClusterInstalls, kube.InfraEnvs} {
		proxy, _, _ := unstructured.NestedMap(s.get(k, s.namespace).Object, "spec", "proxy")
		if diff := cmp.Diff(map[string]any{"noProxy": ""}, proxy); diff != "" {
			t.Errorf("%s: %s", string(k), diff)
		}
	}
}

// TestTimeServersOfAHub of one kind do not take the place of the other: the service goes on
// with those that it has, and refuses an InfraEnv with both. Nothing is written.
func TestTimeServersOfAHub(t *testing.T) {
	s := newStage(t)
	network := &s.desired.Spec.Spec.Network
	network.Defaults.NTP = []string{"10.1.1.1"}
	s.settle()
	s.calls.take()
	network.NTP, network.Defaults.NTP = []string{"10.1.1.2"}, nil
	if done := s.settle(); len(done) > 0 {
		t.Errorf("done %v", done)
	}
	s.wantWrites()
	o := s.observe()
	if plan := install.Decide(s.desired, o, model.Memory{}, o.At); !slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Reason == "RivalKept" }) {
		t.Errorf("blockers %+v", plan.Blockers)
	}
	network.NTP, network.Defaults.NTP = nil, []string{"10.1.1.3"}
	check.Slice(t, s.settle(), []string{"UpdateInfraEnv"}, "others of the same kind: done")
}

// How many machines there are of the control plane, and beside it, is written in
// one piece: the service has no cluster with only the one changed.
func TestCountsThatChange(t *testing.T) {
	text, requirements := "", func(s *stage) map[string]any {
		got, _, _ := unstructured.NestedMap(s.get(kube.AgentClusterInstalls, s.namespace).Object, "spec", "provisionRequirements")
		return got
	}
	s := newStage(t)
	for line := range strings.Lines(fmt.Sprintf(clusterText, s.namespace)) {
		if !strings.Contains(line, "name: w-0") {
			text += strings.Replace(line, ", workers: 1", ", arbiters: 0", 1)
		}
	}
	two := strings.NewReplacer("controlPlane: 3, arbiters: 0", "controlPlane: 2, arbiters: 1", "{name: cp-2, role: control-plane", "{name: cp-2, role: arbiter").Replace(text)
	five := strings.Replace(text, "controlPlane: 3", "controlPlane: 5", 1) +
		"  - {name: cp-3, role: control-plane, match: {mac: \"52:54:00:00:00:03\"}}\n  - {name: cp-4, role: control-plane, match: {mac: \"52:54:00:00:00:04\"}}\n"
	s.desired.Spec = parseCluster(t, text)
	s.settle()
	s.says("insufficient")
	s.calls.take()
	for _, test := range []struct {
		text string
		want map[string]any
	}{
		{five, map[string]any{"controlPlaneAgents": int64(5), "workerAgents": int64(0)}},
		{text, map[string]any{"controlPlaneAgents": int64(3), "workerAgents": int64(0)}},
		{two, map[string]any{"controlPlaneAgents": int64(2), "workerAgents": int64(0), "arbiterAgents": int64(1)}},
		{text, map[string]any{"controlPlaneAgents": int64(3), "workerAgents": int64(0)}},
	} {
		s.desired.Spec = parseCluster(t, test.text)
		check.Slice(t, s.settle(), []string{"UpdateCluster"}, test.want)
		s.wantWrites("agentclusterinstalls/C")
		check.Same(t, test.want, requirements(s))
		if done := s.settle(); len(done) > 0 {
			t.Errorf("%v: a second run does %v", test.want, done)
		}
	}
}

// another has another manager change the object of a kind that has the cluster's
// name.
func (s *stage) another(k kube.Kind, text string) {
	s.Helper()
	must.Get(s.client(k).Patch(s.Context(), s.namespace, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: "argocd"}))(s)
}

// Fields that another client has set are not overwritten.
func TestConflictNamesTheOther(t *testing.T) {
	for name, test := range map[string]struct {
		kind  kube.Kind
		patch string
		seen  func(*model.Observed) bool
		says  string
	}{
		"a field": {
			kube.AgentClusterInstalls, `{"spec":{"apiVIPs":["192.168.127.7"]}}`,
			func(o *model.Observed) bool {
				return strings.Contains(string(o.Cluster.Settings[model.SettingAPIVIPs]), "127.7")
			},
			"spec.apiVIPs is owned by argocd",
		},
		"a label of nodes": {
			kube.InfraEnvs, `{"metadata":{"labels":{"example.com/site":"south"}}}`,
			func(o *model.Observed) bool {
				return strings.Contains(string(o.InfraEnvs[0].Settings[model.SettingNodeLabels]), "south")
			},
			"metadata.labels.example.com/site is owned by argocd",
		},
		"which labels nodes get": {
			kube.InfraEnvs, `{"metadata":{"annotations":{"infraenv.agent-install.openshift.io/propagate-node-labels":"example.com/row"}}}`,
			func(o *model.Observed) bool {
				return strings.Contains(string(o.InfraEnvs[0].Settings[model.SettingNodeLabels]), "row")
			},
			"metadata.annotations.infraenv.agent-install.openshift.io/propagate-node-labels is owned by argocd",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.desired.Spec.Spec.Hub.NodeLabels = map[string]string{"example.com/site": "north"}
			s.settle()
			s.another(test.kind, test.patch)
			before := s.get(test.kind, s.namespace)
			o := s.until("the other's field", test.seen)
			plan := install.Decide(s.desired, o, model.Memory{}, o.At)
			if len(plan.Actions) != 1 {
				t.Fatalf("actions %+v", plan.Actions)
			}
			err := s.plane.Act(t.Context(), s.desired, plan.Actions[0])
			var fault *model.Fault
			if !errors.As(err, &fault) || fault.Code != model.CodeNotFound || !fault.Permanent || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
			if after := s.get(test.kind, s.namespace); after.GetResourceVersion() != before.GetResourceVersion() {
				t.Error("it was written nevertheless")
			}
		})
	}
}

// Beside oaictl itself, any client that sets the hold can hold the start.
func TestHold(t *testing.T) {
	s := newStage(t)
	s.settle()
	if o := s.observe(); o.Cluster.Hold != "" {
		t.Errorf("our own hold is somebody else's: %q", o.Cluster.Hold)
	}
	s.another(kube.AgentClusterInstalls, `{"spec":{"holdInstallation":false}}`)
	s.another(kube.AgentClusterInstalls, `{"spec":{"holdInstallation":true}}`)
	s.until("held by argocd", func(o *model.Observed) bool { return o.Cluster.Hold == "argocd" })
	if o, want := s.observe(), "kubectl patch agentclusterinstall -n "+s.namespace+" "+s.namespace+" "; !strings.Contains(o.Cluster.Unhold.String(), want) {
		t.Errorf("does not say how to let it start: %q", o.Cluster.Unhold)
	}
	s.another(kube.ClusterDeployments, `{"metadata":{"annotations":{"hive.openshift.io/reconcile-pause":"true"}}}`)
	s.until("paused", func(o *model.Observed) bool { return strings.Contains(o.Cluster.Hold, "reconcile-pause") })
	if o, want := s.observe(), "kubectl annotate clusterdeployment -n "+s.namespace+" "+s.namespace+" hive.openshift.io/reconcile-pause-"; !strings.HasSuffix(o.Cluster.Unhold.String(), want) {
		t.Errorf("does not say how to end the pause: %q", o.Cluster.Unhold)
	}
}

// Objects that oaictl did not make are never touched.
func TestForeignObjects(t *testing.T) {
	for name, make := range map[string]func(*stage) *unstructured.Unstructured{
		"a cluster": func(s *stage) *unstructured.Unstructured {
			return object("hive.openshift.io/v1", "ClusterDeployment", s.namespace, s.namespace, map[string]any{"spec": map[string]any{
				"clusterName": s.namespace, "baseDomain": "example.com", "platform": map[string]any{"agentBareMetal": map[string]any{"agentSelector": map[string]any{}}},
			}})
		},
		"a Secret": func(s *stage) *unstructured.Unstructured {
			return object("v1", "Secret", s.namespace, s.namespace+"-pull-secret", map[string]any{})
		},
		"a ConfigMap": func(s *stage) *unstructured.Unstructured {
			return object("v1", "ConfigMap", s.namespace, s.namespace+"-openshift", map[string]any{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			theirs := make(s)
			k, _ := kube.KindOf(theirs.GetKind())
			before, err := s.client(k).Create(t.Context(), theirs, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s.until("the other's object", func(o *model.Observed) bool { return string(k) != "ClusterDeployment" || len(o.Others) == 1 })
			err = s.plane.Act(t.Context(), s.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: s.namespace})
			if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "oaictl did not make") {
				t.Errorf("got %v", err)
			}
			if after := s.get(k, theirs.GetName()); after.GetResourceVersion() != before.GetResourceVersion() {
				t.Error("it was touched")
			}
		})
	}
}

// The newest release of the version is taken; where there is none, those that
// there are are named.
func TestImageSets(t *testing.T) {
	s := newStage(t)
	s.imageSet("openshift-v4.20.11", "quay.io/ocp/release:4.20.11-x86_64")
	s.imageSet("img4.21.0-rc.1-x86-64", "quay.io/ocp/release@sha256:1111111111111111111111111111111111111111111111111111111111111111")
	for name, test := range map[string]struct{ version, set, release, want, fault string }{
		"newest":          {version: "4.20", want: "openshift-v4.20.11"},
		"just that":       {version: "4.20.3", want: "openshift-v4.20.3"},
		"by its name":     {version: "4.21", want: "img4.21.0-rc.1-x86-64"},
		"named":           {version: "4.20", set: "openshift-v4.20.3", want: "openshift-v4.20.3"},
		"a release image": {version: "4.20", release: "quay.io/x:y", want: ""},
		"none":            {version: "4.99", fault: "openshift-v4.20.11"},
		"none so named":   {set: "nix", fault: "openshift-v4.20.3"},
	} {
		c := parseCluster(t, strings.Replace(clusterText, "%s", "x", 1))
		c.Spec.OpenShift.Version, c.Spec.OpenShift.ImageSet, c.Spec.OpenShift.ReleaseImage = test.version, test.set, test.release
		got, err := s.plane.chooseImageSet(t.Context(), c)
		if got != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// The manager of the network follows from the platform, and changes back with it: the value for the old platform would
// make the service refuse the new one.
func TestUserManagedFollowsThePlatform(t *testing.T) {
	s := newStage(t)
	without := strings.Replace(fmt.Sprintf(clusterText, s.namespace), "    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}\n", "", 1)
	s.desired.Spec = parseCluster(t, strings.Replace(without, "  fips: true", "  fips: true\n  platform: none", 1))
	s.settle()
	userManaged := func() (is, said bool) {
		is, said, _ = unstructured.NestedBool(s.get(kube.AgentClusterInstalls, s.namespace).Object, "spec", "networking", "userManagedNetworking")
		return is, said
	}
	if is, _ := userManaged(); !is {
		t.Fatal("platform none does not say so")
	}
	with := strings.Replace(fmt.Sprintf(clusterText, s.namespace), "  fips: true", "  fips: true\n  platform: baremetal", 1)
	s.desired.Spec = parseCluster(t, with)
	check.Slice(t, s.settle(), []string{"UpdateCluster"})
	if is, said := userManaged(); is || said {
		t.Error("bare metal is left with a network that is user-managed")
	}
}

// The caller of the library may put labels and annotations on the objects of a cluster, beside those by which oaictl
// finds them again. If an object has further labels and annotations, that is no reason to write it.
func TestLabelsOfTheCaller(t *testing.T) {
	s := newStage(t)
	s.desired.Options.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": "outer", hubapi.LabelCluster: "mine"}
	s.desired.Options.Annotations = map[string]string{"example.com/owner": "default/outer"}
	s.desired.Spec.Spec.Hosts[0].Net = &spec.HostNet{IP: "192.168.127.10/24", MAC: "52:54:00:00:00:00"}
	s.settle()
	s.calls.take()
	kinds := []kube.Kind{kube.ClusterDeployments, kube.AgentClusterInstalls, kube.InfraEnvs, kube.NMStateConfigs, kube.Secrets, kube.ConfigMaps}
	for _, k := range kinds {
		list, err := s.client(k).List(t.Context(), metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + s.namespace})
		if err != nil || len(list.Items) == 0 {
			t.Errorf("no %s: %v", k, err)
			continue
		}
		for _, u := range list.Items {
			if u.GetLabels()["cluster.x-k8s.io/cluster-name"] != "outer" || u.GetAnnotations()["example.com/owner"] != "default/outer" || len(u.GetOwnerReferences()) > 0 {
				t.Errorf("%s %s: labels %v, annotations %v, owners %v", k, u.GetName(), u.GetLabels(), u.GetAnnotations(), u.GetOwnerReferences())
			}
		}
	}
	for _, options := range []model.Options{{}, {Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "another"}}} {
		s.desired.Options = options
		if done := s.settle(); len(done) > 0 {
			t.Errorf("with %v: done %v", options.Labels, done)
		}
	}
	s.wantWrites()
	// What is written nevertheless keeps those of before.
	s.desired.Options = model.Options{}
	must.Do(t, s.plane.Act(t.Context(), s.desired, model.Action{Kind: model.UpdateInfraEnv, Name: s.namespace, Settings: model.Settings{"spec.boot.image": `"minimal"`}}))
	if labels := s.get(kube.InfraEnvs, s.namespace).GetLabels(); labels["cluster.x-k8s.io/cluster-name"] != "outer" {
		t.Errorf("labels %v", labels)
	}
}
