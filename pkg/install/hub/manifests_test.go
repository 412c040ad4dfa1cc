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

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	twoManifests = `  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
`
	start = "StartInstall"
)

// Manifests are those of the file when the install begins: what it does not name
// any more has gone, from our ConfigMaps and from what the service looks into;
// what others put there stays.
func TestManifestsThatTheFileDropped(t *testing.T) {
	for name, test := range map[string]struct {
		manifests string // of the file, later
		kinds     []model.Kind
		want      map[string][]string // ConfigMap without the cluster's name: manifests
	}{
		"as before": {twoManifests, []model.Kind{start}, map[string][]string{"openshift": {"50-x.yaml"}, "manifests": {"60-y.yaml", "theirs.yaml"}}},
		"one less": {`  manifests: [{name: 60-y.yaml, content: "c: d\n"}]` + "\n", []model.Kind{start},
			map[string][]string{"manifests": {"60-y.yaml", "theirs.yaml"}}},
		"moved": {`  manifests: [{name: 50-x.yaml, content: "a: b\n"}, {name: 60-y.yaml, content: "c: d\n"}]` + "\n", []model.Kind{model.UploadManifest},
			map[string][]string{"manifests": {"50-x.yaml", "60-y.yaml", "theirs.yaml"}}},
		"another one": {`  manifests: [{name: 70-z.yaml, content: "c: d\n"}]` + "\n", []model.Kind{model.UploadManifest},
			map[string][]string{"manifests": {"70-z.yaml", "theirs.yaml"}}},
		"none":         {"  manifests: []\n", []model.Kind{start}, map[string][]string{"manifests": {"theirs.yaml"}}},
		"nothing said": {"", []model.Kind{start}, map[string][]string{"openshift": {"50-x.yaml"}, "manifests": {"60-y.yaml", "theirs.yaml"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.settle()
			theirs := []byte(`{"data":{"theirs.yaml":"e: f\n"}}`)
			if _, err := s.client(kube.ConfigMaps).Patch(t.Context(), s.namespace+"-manifests", types.MergePatchType, theirs, metav1.PatchOptions{FieldManager: "argocd"}); err != nil {
				t.Fatal(err)
			}
			s.until("the other's manifest", func(o *model.Observed) bool { return o.Cluster.Manifests["manifests/theirs.yaml"] != "" })
			text := strings.Replace(fmt.Sprintf(clusterText, s.namespace), twoManifests, test.manifests, 1)
			s.desired.Spec = parseCluster(t, text)
			for _, kind := range test.kinds {
				action := model.Action{Kind: kind, Target: s.namespace + "/" + s.namespace}
				if files := s.desired.Spec.ManifestFiles(); kind == model.UploadManifest {
					action.Name = string(files[0].Folder) + "/" + files[0].Name
				}
				if err := s.plane.Act(t.Context(), s.desired, action); err != nil {
					t.Fatal(err)
				}
			}
			s.wantManifests(test.want)
		})
	}
}

// wantManifests compares ConfigMaps of manifests, and what the service is told of
// them.
func (s *stage) wantManifests(want map[string][]string) {
	s.Helper()
	list, err := s.client(kube.ConfigMaps).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	got := map[string][]string{}
	for _, u := range list.Items {
		if name, ours := strings.CutPrefix(u.GetName(), s.namespace+"-"); ours {
			data, _, _ := unstructured.NestedStringMap(u.Object, "data")
			for manifest := range data {
				got[name] = append(got[name], manifest)
			}
			slices.Sort(got[name])
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("there is %v, want %v", got, want)
	}
	refs, _, _ := unstructured.NestedSlice(s.get(kube.AgentClusterInstalls, s.namespace).Object, "spec", "manifestsConfigMapRefs")
	for _, ref := range refs {
		name, _ := ref.(map[string]any)["name"].(string)
		if want[strings.TrimPrefix(name, s.namespace+"-")] == nil {
			s.Errorf("the service is told of %s", name)
		}
	}
	if len(refs) != len(want) {
		s.Errorf("the service is told of %d, want %d", len(refs), len(want))
	}
}
