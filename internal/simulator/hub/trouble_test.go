//go:build e2e

package hub_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub"
)

// patch merges something into an object.
func (w *world) patch(kind schema.GroupVersionResource, name string, change map[string]any) {
	w.t.Helper()
	data, err := json.Marshal(change)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err = w.client.Resource(kind).Namespace(w.space).Patch(w.t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reason(condition, status, reason string) {
	w.t.Helper()
	w.waitFor(condition+" "+reason, hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
		return conditionIs(o, condition, status, reason)
	})
}

// TestStall has the service forget a cluster with Agents that are all in order, after some
// errors of the backend: from the end of its holdInstallation to its next change.
func TestStall(t *testing.T) {
	w := newWorld(t, "compact", hub.Config{Trouble: hub.Trouble{UnsyncedAgents: true, BackendErrors: 2}})
	seen := w.follow(hubapi.Resource(hubapi.KindAgentClusterInstall))
	w.apply()
	w.reason("SpecSynced", "True", "SyncOK")
	w.until("an error of the backend to be seen", func() bool {
		synced := seen.byType()["SpecSynced"]
		return len(synced) == 1 && slices.Contains(synced[0], "False BackendError")
	})
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, map[string]any{"spec": map[string]any{"holdInstallation": true}})
	w.approve(3)
	w.reason("RequirementsMet", "True", "ClusterIsReady")
	w.reason("Completed", "False", "InstallationOnHold")
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, map[string]any{"spec": map[string]any{"holdInstallation": false}})
	w.reason("RequirementsMet", "False", "UnsyncedAgents")
	w.reason("Completed", "False", "InstallationNotStarted")
	touch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"touched": "1"}}}
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, touch)
	w.reason("Completed", "False", "InstallationInProgress")
	w.deleteAll()
}

// TestRestart stops the hub and starts it again: it finds what it had made, and
// while it is down nothing is let go of.
func TestRestart(t *testing.T) {
	w := newWorld(t, "compact", hub.Config{})
	w.apply()
	image := func(o *unstructured.Unstructured) string {
		return text(o, "status", "isoDownloadURL") + " " + text(o, "status", "createdTime")
	}
	before := ""
	w.waitFor("the image", hubapi.Resource(hubapi.KindInfraEnv), w.name, func(o *unstructured.Unstructured) bool {
		before = image(o)
		return text(o, "status", "isoDownloadURL") != ""
	})
	w.approve(1)
	w.stop()
	down := w.config
	down.Trouble.ServiceDown = true
	w.run(down)
	w.patch(hubapi.Resource(hubapi.KindInfraEnv), w.name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"seen": "1"}}})
	if err := w.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(w.space).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	w.stop()
	list, err := w.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(w.space).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Errorf("an Agent went though the service was down: %v, %v", list, err)
	}
	w.run(w.config)
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, map[string]any{"spec": map[string]any{"sshPublicKey": ""}})
	w.until("the change to arrive", func() bool { return !strings.Contains(w.rest("clusters"), `"ssh_public_key"`) })
	w.waitFor("the InfraEnv", hubapi.Resource(hubapi.KindInfraEnv), w.name, func(o *unstructured.Unstructured) bool {
		if now := image(o); now != before {
			t.Errorf("the image was %s and is %s", before, now)
		}
		return true
	})
	if n := strings.Count(w.rest("clusters"), `"kind":"Cluster"`); n != 1 {
		t.Errorf("the service has %d clusters", n)
	}
	w.deleteAll()
}

// TestInputErrors names what only the user can cure, and goes on when it is.
func TestInputErrors(t *testing.T) {
	w := newWorld(t, "compact", hub.Config{Webhooks: true, Hive: true, Trouble: hub.Trouble{Deny: []hub.Denial{{Kind: "AgentClassification", Message: "not on this hub"}}}})
	class := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentClassification",
		"metadata": map[string]any{"name": "big"}, "spec": map[string]any{"labelKey": "a", "labelValue": "b", "query": ".cpu.count > 1"}}}
	w.until("the webhooks", func() bool {
		_, err := w.client.Resource(hubapi.Resource(hubapi.KindAgentClassification)).Namespace(w.space).Create(t.Context(), class, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not on this hub")
	})
	objects := w.objects()
	var secret *unstructured.Unstructured
	for _, o := range objects {
		switch o.GetKind() {
		case "Secret":
			secret = o
		case "AgentClusterInstall":
			w.applyOne(o)
			w.waitFor("a missing ClusterDeployment", hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
				return conditionIs(o, "SpecSynced", "False", "InputError") && conditionIs(o, "Completed", "Unknown", "NotAvailable")
			})
		}
	}
	for _, o := range objects {
		if o.GetKind() != "Secret" {
			w.applyOne(o)
		}
	}
	w.waitFor("a missing pull secret", hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
		return conditionIs(o, "SpecSynced", "False", "InputError") && strings.Contains(messageOf(o, "SpecSynced"), "secret")
	})
	w.waitFor("a missing cluster", hubapi.Resource(hubapi.KindInfraEnv), w.name, func(o *unstructured.Unstructured) bool {
		return conditionIs(o, "ImageCreated", "Unknown", "MissingClusterDeployment")
	})
	w.applyOne(secret)
	w.reason("SpecSynced", "True", "SyncOK")
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		hubapi.AnnotationInstallConfigOverrides: `{"fips"`}}})
	w.reason("SpecSynced", "False", "InputError")
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		hubapi.AnnotationInstallConfigOverrides: `{"fips":true}`}}})
	w.reason("SpecSynced", "True", "SyncOK")
	if clusters := w.rest("clusters"); !strings.Contains(clusters, `\"fips\":true`) {
		t.Errorf("the override did not arrive: %s", clusters)
	}
	// Mirrors are read from data alone.
	w.applyOne(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "mirrors", "namespace": w.space}, "binaryData": map[string]any{hubapi.KeyRegistriesConf: "eA=="}}})
	w.patch(hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, map[string]any{"spec": map[string]any{"mirrorRegistryRef": map[string]any{"name": "mirrors", "namespace": w.space}}})
	w.waitFor("mirrors that are no text", hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
		return conditionIs(o, "SpecSynced", "False", "InputError") && strings.Contains(messageOf(o, "SpecSynced"), "did not contain key "+hubapi.KeyRegistriesConf)
	})
	w.deleteAll()
}

func messageOf(o *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m := c.(map[string]any); m["type"] == kind {
			message, _ := m["message"].(string)
			return message
		}
	}
	return ""
}

// TestPool gives a host of a pool to a cluster and takes it back, and lets a
// BareMetalHost speak for another one. Its InfraEnv passes a label on to nodes.
func TestPool(t *testing.T) {
	w := newWorld(t, "compact", hub.Config{})
	for _, o := range w.objects() {
		if o.GetKind() == "InfraEnv" {
			unstructured.RemoveNestedField(o.Object, "spec", "clusterRef")
			o.SetLabels(map[string]string{"site": "north"})
			o.SetAnnotations(map[string]string{hubapi.AnnotationPropagateNodeLabels: "site,none"})
		}
		w.applyOne(o)
	}
	for i, h := range w.cluster.Spec.Hosts[:2] {
		w.applyOne(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
			"metadata": map[string]any{"name": h.Name, "namespace": w.space, "labels": map[string]any{hubapi.LabelAgentInfraEnv: w.name},
				"annotations": map[string]any{hubapi.AnnotationBMACRole: "master", hubapi.AnnotationBMACHostname: h.Name,
					hubapi.AnnotationBMACNodeLabelPrefix + "own": "yes", hubapi.AnnotationBMACAgentLabelPrefix + "rack": "r" + string(rune('0'+i)), hubapi.AnnotationBMACClusterReference: w.space + "/" + w.name}},
			"spec": map[string]any{"online": true, "bootMACAddress": strings.ToUpper(h.Match.MAC), "bmc": map[string]any{"address": "redfish://x", "credentialsName": "x"}},
		}})
	}
	var bound string
	agents := w.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(w.space)
	w.until("the bound hosts", func() bool {
		list, err := agents.List(t.Context(), metav1.ListOptions{LabelSelector: "rack=r0," + hubapi.LabelAgentBMH + "=" + w.cluster.Spec.Hosts[0].Name})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; conditionIs(o, "Bound", "True", "Bound") && text(o, "status", "inventory", "hostname") != "" {
				bound = o.GetName()
			}
		}
		return bound != ""
	})
	w.passesOn(bound)
	w.waitFor("the image on the BareMetalHost", hubapi.Resource(hubapi.KindBareMetalHost), w.cluster.Spec.Hosts[0].Name, func(o *unstructured.Unstructured) bool {
		return strings.HasSuffix(text(o, "spec", "image", "url"), ".iso") && text(o, "status", "provisioning", "state") == "provisioned"
	})
	w.patch(hubapi.Resource(hubapi.KindBareMetalHost), w.cluster.Spec.Hosts[0].Name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		hubapi.AnnotationBMACClusterReference: ""}}})
	w.waitFor("the host back in the pool", hubapi.Resource(hubapi.KindAgent), bound, func(o *unstructured.Unstructured) bool {
		return conditionIs(o, "Bound", "False", "Unbound")
	})
	for _, h := range w.cluster.Spec.Hosts[:2] {
		if err := w.client.Resource(hubapi.Resource(hubapi.KindBareMetalHost)).Namespace(w.space).Delete(t.Context(), h.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.deleteAll()
}

// TestReferenceOfABoundInfraEnv: a BareMetalHost that names a cluster, although its
// InfraEnv is bound to one, is not reconciled until it names none.
func TestReferenceOfABoundInfraEnv(t *testing.T) {
	w := newWorld(t, "compact", hub.Config{})
	refused := w.cluster.Spec.Hosts[0].Name
	w.apply()
	for i, h := range w.cluster.Spec.Hosts[:2] {
		notes := map[string]any{hubapi.AnnotationBMACHostname: h.Name}
		if i == 0 {
			notes[hubapi.AnnotationBMACClusterReference] = w.space + "/" + w.name
		}
		w.applyOne(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
			"metadata": map[string]any{"name": h.Name, "namespace": w.space, "labels": map[string]any{hubapi.LabelAgentInfraEnv: w.name}, "annotations": notes},
			"spec":     map[string]any{"online": true, "bootMACAddress": h.Match.MAC, "bmc": map[string]any{"address": "redfish://x", "credentialsName": "x"}},
		}})
	}
	// seen says how many Agents have an inventory, and which BareMetalHosts have one.
	seen := func() (known int, hosts []string) {
		list, err := w.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(w.space).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if text(&list.Items[i], "status", "inventory", "hostname") != "" {
				known++
			}
			if owner := list.Items[i].GetLabels()[hubapi.LabelAgentBMH]; owner != "" {
				hosts = append(hosts, owner)
			}
		}
		return known, hosts
	}
	w.until("every Agent, and one that is looked after", func() bool {
		known, hosts := seen()
		return known == len(w.cluster.Spec.Hosts) && len(hosts) > 0
	})
	if _, hosts := seen(); slices.Contains(hosts, refused) {
		t.Errorf("%s is looked after, although it names a cluster", refused)
	}
	w.patch(hubapi.Resource(hubapi.KindBareMetalHost), refused, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		hubapi.AnnotationBMACClusterReference: nil}}})
	w.until("the one that names none any more", func() bool { _, hosts := seen(); return slices.Contains(hosts, refused) })
	w.deleteAll()
}

// passesOn checks that an Agent has the node label of its InfraEnv, and only as long
// as that passes it on.
func (w *world) passesOn(agent string) {
	w.t.Helper()
	has := func(want map[string]string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "nodeLabels")
			return maps.Equal(labels, want)
		}
	}
	w.waitFor("the label of the InfraEnv", hubapi.Resource(hubapi.KindAgent), agent, has(map[string]string{"own": "yes", "site": "north"}))
	w.patch(hubapi.Resource(hubapi.KindInfraEnv), w.name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		hubapi.AnnotationPropagateNodeLabels: nil}}})
	w.waitFor("the Agent's own labels alone", hubapi.Resource(hubapi.KindAgent), agent, has(map[string]string{"own": "yes"}))
}
