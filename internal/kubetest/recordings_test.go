//go:build e2e

package kubetest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

// TestRecordedObjectsPass sends every version of every object of a real hub to the
// API server, strictly, and looks for fields that it did not keep.
func TestRecordedObjectsPass(t *testing.T) {
	objects, kinds := recorded(t), hubapi.Kinds()
	r := newReplay(t, hub.Start(t))
	sent := map[string]int{}
	for i, object := range objects {
		at := slices.IndexFunc(kinds, func(kind hubapi.Kind) bool { return kind.GroupKind() == object.GroupVersionKind().GroupKind() })
		if at < 0 {
			t.Errorf("object %d, %s: a kind that is not known", i, object.GroupVersionKind())
			continue
		}
		kind := kinds[at]
		if kind.Kind == hubapi.KindSecret {
			continue // they are recorded without their contents
		}
		sent[kind.Kind]++
		if err := r.send(kind, object); err != nil {
			t.Errorf("object %d, %s %s: %v", i, kind.Kind, object.GetName(), err)
		}
	}
	for _, kind := range []string{hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall, hubapi.KindInfraEnv, hubapi.KindAgent} {
		if sent[kind] < 2 {
			t.Errorf("%d versions of a %s were sent, which tries no update", sent[kind], kind)
		}
	}
	t.Logf("sent: %v", sent)
}

// replay puts recorded objects into a namespace.
type replay struct {
	t         *testing.T
	client    dynamic.Interface
	namespace string
	uids      map[string]types.UID // by kind/name
}

func newReplay(t *testing.T, c *kubetest.Cluster) *replay {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &replay{t, client, c.Namespace(t), map[string]types.UID{}}
}

// send creates or updates an object and then its status, and says what was lost.
func (r *replay) send(kind hubapi.Kind, recorded *unstructured.Unstructured) error {
	const strict = metav1.FieldValidationStrict
	ctx, object := r.t.Context(), r.ours(recorded)
	client := r.client.Resource(kind.GroupVersionResource()).Namespace(r.namespace)
	status := object.Object["status"]
	delete(object.Object, "status")
	kept, err := client.Create(ctx, object, metav1.CreateOptions{FieldValidation: strict})
	if apierrors.IsAlreadyExists(err) {
		if kept, err = client.Get(ctx, object.GetName(), metav1.GetOptions{}); err == nil {
			object.SetResourceVersion(kept.GetResourceVersion())
			kept, err = client.Update(ctx, object, metav1.UpdateOptions{FieldValidation: strict})
		}
	}
	if err != nil {
		return err
	}
	r.uids[kind.Kind+"/"+object.GetName()] = kept.GetUID()
	if status != nil {
		object.Object["status"] = status
		object.SetResourceVersion(kept.GetResourceVersion())
		if kept, err = client.UpdateStatus(ctx, object, metav1.UpdateOptions{FieldValidation: strict}); err != nil {
			return fmt.Errorf("status: %w", err)
		}
	}
	object.SetResourceVersion(kept.GetResourceVersion())
	if lost := lost("", object.Object, kept.Object); len(lost) > 0 {
		return fmt.Errorf("not kept: %s", strings.Join(lost, ", "))
	}
	return nil
}

// ours is an object as it can be here: owners by the ids that they have here, and no finalizers, since no controller
// that would remove them runs here.
func (r *replay) ours(recorded *unstructured.Unstructured) *unstructured.Unstructured {
	object := recorded.DeepCopy()
	object.SetNamespace(r.namespace)
	object.SetFinalizers(nil)
	object.SetCreationTimestamp(metav1.Time{})
	if len(object.GetAnnotations()) == 0 {
		object.SetAnnotations(nil)
	}
	owners := object.GetOwnerReferences()
	for i := range owners {
		uid, ok := r.uids[owners[i].Kind+"/"+owners[i].Name]
		if !ok {
			r.t.Errorf("%s %s is owned by %s, which was not recorded", object.GetKind(), object.GetName(), owners[i].Name)
		}
		owners[i].UID = uid
	}
	object.SetOwnerReferences(owners)
	return object
}

// lost are the paths of what was sent and is not there.
func lost(path string, sent, kept any) []string {
	switch sent := sent.(type) {
	case map[string]any:
		there, ok := kept.(map[string]any)
		if !ok {
			return []string{path}
		}
		var paths []string
		for key, value := range sent {
			paths = append(paths, lost(path+"."+key, value, there[key])...)
		}
		return paths
	case []any:
		there, ok := kept.([]any)
		if !ok || len(there) != len(sent) {
			return []string{path}
		}
		var paths []string
		for i, value := range sent {
			paths = append(paths, lost(fmt.Sprintf("%s[%d]", path, i), value, there[i])...)
		}
		return paths
	default:
		if !reflect.DeepEqual(sent, kept) {
			return []string{path}
		}
		return nil
	}
}

func TestLostFieldsAreSeen(t *testing.T) {
	sent := map[string]any{"spec": map[string]any{"a": int64(1), "list": []any{"x", map[string]any{"b": ""}}}}
	kept := map[string]any{"spec": map[string]any{"a": int64(1), "c": true, "list": []any{"x", map[string]any{}}}}
	if got := lost("", sent, kept); len(got) != 1 || got[0] != ".spec.list[1].b" {
		t.Errorf("lost: %v", got)
	}
	if got := lost("", sent, sent); got != nil {
		t.Errorf("lost of the same: %v", got)
	}
}

// recorded are all versions of all objects of a hub.
func recorded(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(folder, "hub", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings of a hub in %s: %v", folder, err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(content))
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var line struct{ Object json.RawMessage }
			object := &unstructured.Unstructured{}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := object.UnmarshalJSON(line.Object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			objects = append(objects, object)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}
