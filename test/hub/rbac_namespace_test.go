//go:build e2e

package hub

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// widerRole is docs/hub-role-more.yaml.
func widerRole(t testing.TB) role {
	t.Helper()
	var r role
	r.within, r.wide = kubetest.DocumentedRole(t, "hub-role-more.yaml")
	if len(r.within) > 0 || len(r.wide) < 3 {
		t.Fatalf("docs/hub-role-more.yaml has %d and %d rules", len(r.within), len(r.wide))
	}
	return r
}

// elsewhereOnHub is a site whose cluster has a name of its own, and a namespace that
// is not there yet.
func elsewhereOnHub(t testing.TB, releaseImage string) *site {
	t.Helper()
	x := onHub().open(t, setup{cluster: fixture.Example(t, "sno"), absent: true})
	x.namespace += "-made"
	x.cluster.Metadata.Name = x.namespace
	x.cluster.Spec.OpenShift.ReleaseImage = releaseImage
	t.Cleanup(func() {
		err := x.server.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), x.namespace, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Log(err)
		}
	})
	return x
}

// TestNamespaceIsMade registers and deletes a cluster whose namespace and release the
// hub does not have, with what docs/hub-role-more.yaml allows: nothing of it is used
// for nothing. The namespace goes only if the user may see all that is in it.
func TestNamespaceIsMade(t *testing.T) {
	server.Start(t) // skips where there is none
	wider := widerRole(t)
	if diff := cmp.Diff(documentedRole(t).within, wider.wide[len(wider.wide)-len(documentedRole(t).within):]); diff != "" {
		t.Errorf("docs/hub-role-more.yaml does not end with the rules of docs/hub-role.yaml: %s", diff)
	}
	used := &rights{done: map[string]bool{}}
	t.Run("by", func(t *testing.T) {
		for name, looks := range map[string]bool{"a user who may see it all": true, "another": false} {
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				x := elsewhereOnHub(t, fixture.Releases()["img4.20.33-x86-64"])
				all := wider
				if looks {
					all.wide = append(slices.Clone(all.wide), seesAll())
				}
				x.kube, x.heard = x.user(t, all), used.hear
				a, notes := x.registersAndDeletes(t)
				if a.err != nil || x.stands(t, hubapi.Resource(hubapi.KindClusterImageSet), x.namespace+"."+x.cluster.Metadata.Name+"-release") {
					t.Fatalf("%s\n%s", a.says(), notes)
				}
				if kept := x.stands(t, hubapi.Resource(hubapi.KindNamespace), x.namespace); kept == looks || strings.Contains(notes, "may not see whether others have") == looks {
					t.Errorf("the namespace stays: %v; it is said:\n%s", kept, notes)
				}
			})
		}
	})
	for _, right := range []string{
		"get namespaces", "create namespaces", "patch namespaces", "delete namespaces",
		"get clusterimagesets", "create clusterimagesets", "patch clusterimagesets", "delete clusterimagesets",
	} {
		if !used.done[right] {
			t.Errorf("making and deleting a namespace does not %s", right)
		}
	}
}

// TestWithoutOneRightOfTheWholeHub takes one verb of docs/hub-role-more.yaml away: if a namespace or a release is to be
// made, the error names the missing verb; if they are to be deleted, the report names what stays.
func TestWithoutOneRightOfTheWholeHub(t *testing.T) {
	server.Start(t) // skips where there is none
	wider := widerRole(t)
	for right, test := range map[string]struct {
		code model.Code // 0: registered and deleted
		says string     // in the error, or in the reports of the deletion; NAMESPACE is the cluster's
	}{
		"get namespaces":          {model.CodeNotFound, "there is no namespace NAMESPACE"},
		"create namespaces":       {model.CodeAuth, "may not create namespaces in the whole hub"},
		"patch namespaces":        {model.CodeAuth, "may not patch namespaces in the whole hub"},
		"delete namespaces":       {0, "the namespace NAMESPACE stays: these credentials may not delete it"},
		"get clusterimagesets":    {model.CodeAuth, "may not get clusterimagesets.hive.openshift.io in the whole hub"},
		"list clusterimagesets":   {model.CodeAuth, "may not list clusterimagesets.hive.openshift.io in the whole hub"},
		"create clusterimagesets": {model.CodeAuth, "may not create clusterimagesets.hive.openshift.io in the whole hub"},
		"patch clusterimagesets":  {model.CodeAuth, "may not patch clusterimagesets.hive.openshift.io in the whole hub"},
		"delete clusterimagesets": {0, "the ClusterImageSet NAMESPACE.NAMESPACE-release stays if it is there"},
	} {
		t.Run(strings.ReplaceAll(right, " ", "-"), func(t *testing.T) {
			t.Parallel()
			image := fixture.Releases()["img4.20.33-x86-64"]
			if right == "list clusterimagesets" {
				image = "" // a release of the file is made, and not searched for
			}
			x := elsewhereOnHub(t, image)
			verb, resource, _ := strings.Cut(right, " ")
			less := role{wide: withoutVerb(wider.wide, resource, verb)}
			if right == "delete namespaces" {
				less.wide = append(less.wide, seesAll())
			}
			x.kube = x.user(t, less)
			a, notes := x.registersAndDeletes(t)
			says, code := a.says()+notes, model.Code(0)
			if a.err != nil {
				code = model.FaultOf(a.err).Code
			}
			if code != test.code || !strings.Contains(says, strings.ReplaceAll(test.says, "NAMESPACE", x.namespace)) {
				t.Errorf("ends with code %d: %s\n%s", code, says, a.story())
			}
		})
	}
}

// TestReleaseIsMade registers and deletes a cluster whose release the hub does not have, in a namespace that is there:
// with the first role of docs/hub-role-more.yaml beside docs/hub-role.yaml. A user who can't see whether another
// cluster refers to the release leaves it.
func TestReleaseIsMade(t *testing.T) {
	server.Start(t) // skips where there is none
	documented, wider := documentedRole(t), widerRole(t)
	first := wider.wide[:2]
	for name, sees := range map[string]bool{"who sees the other clusters": true, "who does not": false} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: fixture.Example(t, "sno"), absent: true})
			x.cluster.Spec.OpenShift.ReleaseImage = fixture.Releases()["img4.20.33-x86-64"]
			all := role{within: documented.within, wide: slices.Concat(documented.wide, first)}
			if !sees {
				all.wide = without(all.wide, "agentclusterinstalls")
			}
			x.kube = x.user(t, all)
			a, notes := x.registersAndDeletes(t)
			set, sets := x.namespace+"."+x.cluster.Metadata.Name+"-release", x.client.Resource(hubapi.Resource(hubapi.KindClusterImageSet))
			left := x.stands(t, hubapi.Resource(hubapi.KindClusterImageSet), set)
			if a.err != nil || left == sees || strings.Contains(notes, "the ClusterImageSet "+set+" stays") == sees {
				t.Errorf("the ClusterImageSet stays: %v\n%s\n%s", left, a.says(), notes)
			}
			if left {
				if err := sets.Delete(t.Context(), set, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// seesAll is what an administrator of all namespaces may see of them.
func seesAll() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list"}}
}

// registersAndDeletes does what needs no waiting, on a hub without controllers for a cluster, and deletes it if it was
// registered. It returns what the deletion reports.
func (x *site) registersAndDeletes(t *testing.T) (a *attempt, notes string) {
	t.Helper()
	plane := x.plane(t)
	a = x.detaches(t, plane)
	if a.err == nil {
		if len(x.ours(t, hubapi.Resource(hubapi.KindInfraEnv))) != 1 {
			t.Fatalf("there is no InfraEnv\n%s", a.story())
		}
		options := install.DeleteOptions{Report: func(text string) { notes += text + "\n" }}
		a.err = plane.DeleteCluster(t.Context(), a.result.Observed.Cluster.ID, options)
		x.nothingLeft(t)
	}
	return a, notes
}

// stands reports whether the hub as a whole has an object that is not being deleted.
func (x *site) stands(t testing.TB, kind schema.GroupVersionResource, name string) bool {
	t.Helper()
	u, err := x.client.Resource(kind).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil && u.GetDeletionTimestamp() == nil
}
