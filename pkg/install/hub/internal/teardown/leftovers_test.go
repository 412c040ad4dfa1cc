package teardown

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// installIn is an AgentClusterInstall of the cluster lab of a namespace.
func installIn(namespace, imageSet string) *unstructured.Unstructured {
	u := object(hubapi.GroupHiveExtension+"/v1beta1", hubapi.KindAgentClusterInstall, "lab")
	u.SetNamespace(namespace)
	u.SetUID(types.UID(namespace))
	u.SetLabels(map[string]string{hubapi.LabelCluster: "lab"})
	_ = unstructured.SetNestedField(u.Object, imageSet, "spec", "imageSetRef", "name")
	return u
}

func imageSet(name, cluster string) *unstructured.Unstructured {
	u := object(hubapi.GroupHive+"/v1", hubapi.KindClusterImageSet, name)
	u.SetNamespace("")
	if cluster != "" {
		u.SetLabels(map[string]string{hubapi.LabelCluster: cluster})
	}
	return u
}

// deployment is the ClusterDeployment lab, which preserves its machines or not.
func deployment(preserve bool) *unstructured.Unstructured {
	u := object(hubapi.GroupHive+"/v1", hubapi.KindClusterDeployment, "lab")
	u.SetUID("deployment")
	u.SetLabels(map[string]string{hubapi.LabelCluster: "lab"})
	u.Object["spec"] = map[string]any{
		"clusterInstallRef": map[string]any{"group": hubapi.GroupHiveExtension, "name": "lab"}, "preserveOnDelete": preserve,
	}
	return u
}

// onHub is a deleter of the cluster lab on a hub that has some objects, and its reports.
func onHub(t *testing.T, objects ...*unstructured.Unstructured) (*Deleter, *fake.FakeDynamicClient, *noted) {
	t.Helper()
	w, at := watched(t)
	told := &noted{}
	w.Report = told.note
	w.ImageSetNames = func(namespace, cluster string) (name, former string) {
		return namespace + "." + cluster + "-release", cluster + "-release"
	}
	client := w.Dynamic.(*fake.FakeDynamicClient)
	for _, u := range objects {
		k := kube.Kind(u.GetKind())
		if err := client.Tracker().Create(k.Resource(), u, u.GetNamespace()); err != nil {
			t.Fatal(err)
		}
		if u.GetNamespace() == "lab" {
			put(t, at, u.DeepCopy())
		}
	}
	return w, client, told
}

// labelled are the ClusterImageSets with a label of oaictl.
func labelled(t *testing.T, client *fake.FakeDynamicClient) (names []string) {
	t.Helper()
	list, err := client.Resource(kube.ClusterImageSets.Resource()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].GetLabels()[hubapi.LabelCluster] != "" {
			names = append(names, list.Items[i].GetName())
		}
	}
	slices.Sort(names)
	return names
}

// A cluster's own ClusterImageSet is deleted with it, and none that was not made for it, or that another cluster refers
// to. Releasing a cluster releases the same ClusterImageSet.
func TestImageSetOfTheCluster(t *testing.T) {
	const own, former = "lab.lab-release", "lab-release"
	ours := []*unstructured.Unstructured{imageSet(own, "lab"), imageSet(former, "lab")}
	for name, test := range map[string]struct {
		refers string // "": its AgentClusterInstall is gone
		others []*unstructured.Unstructured
		there  []*unstructured.Unstructured
		stay   string
		says   string
	}{
		"its own":                       {refers: own, there: ours, stay: former},
		"the former":                    {refers: former, there: ours, stay: own},
		"of the hub":                    {refers: "img4.20", there: append([]*unstructured.Unstructured{imageSet("img4.20", "")}, ours...), stay: former},
		"not known":                     {there: ours},
		"the former is another's, too":  {refers: former, there: ours, others: []*unstructured.Unstructured{installIn("other", former)}, stay: former + " " + own, says: former + " stays: the AgentClusterInstall other/lab refers to it"},
		"the former is another's only":  {refers: own, there: ours, others: []*unstructured.Unstructured{installIn("other", former)}, stay: former},
		"not known, and another's":      {there: ours, others: []*unstructured.Unstructured{installIn("other", former)}, stay: former, says: former + " stays"},
		"its own is another's, too":     {refers: own, there: ours, others: []*unstructured.Unstructured{installIn("other", own)}, stay: former + " " + own, says: own + " stays"},
		"another has a name of its own": {refers: former, there: ours, others: []*unstructured.Unstructured{installIn("other", "other.lab-release")}, stay: own},
		"made by somebody else":         {refers: own, there: []*unstructured.Unstructured{imageSet(own, "")}},
		"of another cluster":            {refers: former, there: []*unstructured.Unstructured{imageSet(former, "other")}, stay: former},
		"not there":                     {refers: own},
	} {
		t.Run(name, func(t *testing.T) {
			var made *unstructured.Unstructured
			if test.refers != "" {
				made = installIn("lab", test.refers)
			}
			w, client, told := onHub(t, append(slices.Clone(test.there), test.others...)...)
			if err := w.leftovers(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			if left := strings.Join(labelled(t, client), " "); left != test.stay {
				t.Errorf("%q are left, not %q", left, test.stay)
			}
			if told := told.with("ClusterImageSet"); (test.says != "") != (len(told) == 1) || test.says != "" && !strings.Contains(told[0], test.says) {
				t.Errorf("it is said: %q", told)
			}

			present := []*unstructured.Unstructured{deployment(true)}
			if made != nil {
				present = append(present, made)
			}
			w, client, _ = onHub(t, slices.Concat(test.there, test.others, present)...)
			if err := w.Release(t.Context(), deployment(true)); err != nil {
				t.Fatal(err)
			}
			if left := strings.Join(labelled(t, client), " "); left != test.stay {
				t.Errorf("when it is let go of, %q are kept, not %q", left, test.stay)
			}
		})
	}
}

// A user who may not see which other clusters there are deletes no ClusterImageSet, and the report says so.
func TestImageSetOfOthersUnseen(t *testing.T) {
	w, client, told := onHub(t, imageSet("lab.lab-release", "lab"))
	client.PrependReactor("list", kube.AgentClusterInstalls.Resource().Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: hubapi.GroupHiveExtension, Resource: "agentclusterinstalls"}, "", nil)
	})
	if err := w.leftovers(t.Context(), installIn("lab", "lab.lab-release")); err != nil {
		t.Fatal(err)
	}
	if left := labelled(t, client); len(left) != 1 || len(told.with("lab.lab-release stays", "may not list agentclusterinstalls")) != 1 {
		t.Errorf("%q are left, and it is said: %q", left, told.all)
	}
}

// The machines of a pool go back to it only where nothing was written to them: their
// ClusterDeployment preserves them from the start, and stays as it is where that is not known.
func TestPreserve(t *testing.T) {
	const none, empty = "no AgentClusterInstall", ""
	metadata := map[string]any{"infraID": "i", "clusterID": "c", "adminKubeconfigSecretRef": map[string]any{"name": "k"}}
	for name, test := range map[string]struct {
		state           string
		installed, meta bool
		want            map[bool]bool // by what was said before
	}{
		"nothing heard yet":  {state: empty, want: map[bool]bool{true: false, false: false}},
		"waits for machines": {state: "pending-for-input", want: map[bool]bool{true: false, false: false}},
		"fails validations":  {state: "insufficient", want: map[bool]bool{true: false, false: false}},
		"is ready":           {state: "ready", want: map[bool]bool{true: false, false: false}},
		"is prepared":        {state: "preparing-for-installation", want: map[bool]bool{true: false, false: false}},
		"installs":           {state: "installing", want: map[bool]bool{true: true, false: true}},
		"waits for a person": {state: "installing-pending-user-action", want: map[bool]bool{true: true, false: true}},
		"is being finalized": {state: "finalizing", want: map[bool]bool{true: true, false: true}},
		"has failed":         {state: "error", want: map[bool]bool{true: true, false: true}},
		"was cancelled":      {state: "cancelled", want: map[bool]bool{true: true, false: true}},
		"is installed":       {state: "installed", want: map[bool]bool{true: true, false: true}},
		"takes more hosts":   {state: "adding-hosts", want: map[bool]bool{true: true, false: true}},
		"says installed":     {state: empty, installed: true, want: map[bool]bool{true: true, false: true}},
		"was imported":       {state: none, installed: true, want: map[bool]bool{true: true, false: true}},
		"was restored":       {state: empty, meta: true, want: map[bool]bool{true: true, false: false}},
		"is of a new state":  {state: "dreaming", want: map[bool]bool{true: true, false: false}},
		"has lost its half":  {state: none, want: map[bool]bool{true: true, false: false}},
	} {
		for before, want := range test.want {
			cd := deployment(before)
			_ = unstructured.SetNestedField(cd.Object, test.installed, "spec", "installed")
			there := []*unstructured.Unstructured{cd}
			if test.state != none {
				made := installIn("lab", "img4.20")
				if test.state != empty {
					_ = unstructured.SetNestedField(made.Object, test.state, "status", "debugInfo", "state")
				}
				if test.meta {
					_ = unstructured.SetNestedMap(made.Object, metadata, "spec", "clusterMetadata")
				}
				there = append(there, made)
			}
			w, client, _ := onHub(t, there...)
			if err := w.preserve(t.Context(), cd); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := preserved(t, client); got != want {
				t.Errorf("%s: preserved %v, after %v", name, got, before)
			}
		}
	}
}

func preserved(t *testing.T, client *fake.FakeDynamicClient) bool {
	t.Helper()
	now, err := client.Resource(kube.ClusterDeployments.Resource()).Namespace("lab").Get(t.Context(), "lab", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	is, _, _ := unstructured.NestedBool(now.Object, "spec", "preserveOnDelete")
	return is
}

// Nothing is deleted if another client has set preserveOnDelete so that the hub would not keep the nodes.
func TestPreserveOfSomebodyElse(t *testing.T) {
	cd, made := deployment(true), installIn("lab", "img4.20")
	_ = unstructured.SetNestedField(made.Object, "ready", "status", "debugInfo", "state")
	w, client, _ := onHub(t, cd, made)
	client.PrependReactor("patch", kube.ClusterDeployments.Resource().Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, cd, nil
	})
	err := w.DeleteCluster(t.Context(), cd, "lab/lab", false)
	if model.FaultOf(err).Code != model.CodeFailure || !strings.Contains(err.Error(), "preserveOnDelete") {
		t.Errorf("got %v", err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "delete" {
			t.Errorf("it deletes %s", action.GetResource().Resource)
		}
	}
}
