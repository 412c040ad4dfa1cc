// Package convert converts the kinds of the three Cluster API providers between
// their versions. One version of each group is stored, and is the hub: every
// other version is converted into it and out of it.
//
// No conversion loses anything. What a version cannot say of a stored object
// stands in its annotation cluster.x-k8s.io/conversion-data. When the object comes
// back, what its version can say is taken from it where it was changed, and
// everything else from that annotation.
package convert

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhookconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// dataAnnotation is Cluster API's. Its constant stands beside helpers of tests, which bring gomega along.
const dataAnnotation = "cluster.x-k8s.io/conversion-data"

// object is a pointer to a kind's type.
type object[T any] interface {
	*T
	client.Object
}

// pair is a version of a kind, and how it and the hub are made of each other. Both functions
// find the metadata copied, and may move to and from annotations what only one of the two
// has a field for.
type pair[H, S any, HP object[H], SP object[S]] struct {
	hub  schema.GroupVersion
	up   func(spoke *S, hub *H) error
	down func(hub *H, spoke *S) error
}

// newConverter is the converter of a version, by how it and the hub are made of each other.
func newConverter[H, S any, HP object[H], SP object[S]](hub schema.GroupVersion, up func(*S, *H) error, down func(*H, *S) error) webhookconversion.SpokeConverter[HP] {
	return pair[H, S, HP, SP]{hub, up, down}.converter()
}

// converter is the pair as controller-runtime takes it.
func (p pair[H, S, HP, SP]) converter() webhookconversion.SpokeConverter[HP] {
	return webhookconversion.NewSpokeConverter(SP(new(S)),
		func(_ context.Context, hub HP, spoke SP) error { return p.toSpoke(hub, spoke) },
		func(_ context.Context, spoke SP, hub HP) error { return p.toHub(spoke, hub) },
	)
}

// toSpoke converts the stored version into the other one.
func (p pair[H, S, HP, SP]) toSpoke(hub HP, spoke SP) error {
	copyMeta(hub, spoke)
	if err := p.down(hub, spoke); err != nil {
		return err
	}
	again := HP(new(H))
	if err := p.up(spoke, again); err != nil {
		return err
	}
	whole, err := content(hub)
	if err != nil {
		return err
	}
	said, err := content(again)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(whole, said) {
		return nil
	}
	whole["apiVersion"] = p.hub.String()
	data, err := json.Marshal(whole)
	if err != nil {
		return fmt.Errorf("keeping what this version cannot say: %w", err)
	}
	metav1.SetMetaDataAnnotation(metaOf(spoke), dataAnnotation, string(data))
	return nil
}

// toHub converts the other version into the stored one.
func (p pair[H, S, HP, SP]) toHub(spoke SP, hub HP) error {
	copyMeta(spoke, hub)
	if err := p.up(spoke, hub); err != nil {
		return err
	}
	kept, err := p.kept(hub)
	if err != nil || kept == nil {
		return err
	}
	return p.restore(hub, kept)
}

// kept is the stored object as the annotation has it, nil where there is none. It takes the
// annotation away. One that another program wrote, for a hub of its own, means nothing here.
func (p pair[H, S, HP, SP]) kept(hub HP) (HP, error) {
	data := takeAnnotation(hub, dataAnnotation)
	if data == "" {
		return nil, nil
	}
	var written metav1.TypeMeta
	if err := kjson.Unmarshal([]byte(data), &written); err != nil {
		return nil, fmt.Errorf("annotation %s is no JSON: remove it, then fields that only newer versions have get their defaults: %w", dataAnnotation, err)
	}
	if written.APIVersion != p.hub.String() {
		return nil, nil
	}
	kept := HP(new(H))
	if err := kjson.Unmarshal([]byte(data), kept); err != nil {
		return nil, fmt.Errorf("annotation %s is not what was written there: remove it, then fields that only newer versions have get their defaults: %w", dataAnnotation, err)
	}
	return kept, nil
}

// restore makes hub what it was, except what was changed since.
func (p pair[H, S, HP, SP]) restore(hub, kept HP) error {
	before, unchanged := SP(new(S)), HP(new(H))
	if err := p.down(kept, before); err != nil {
		return err
	}
	if err := p.up(before, unchanged); err != nil {
		return err
	}
	var trees [3]map[string]any
	for i, each := range []HP{kept, unchanged, hub} {
		tree, err := content(each)
		if err != nil {
			return err
		}
		trees[i] = tree
	}
	merged, _ := merge(trees[0], trees[1], trees[2]).(map[string]any)
	restored := HP(new(H))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged, restored); err != nil {
		return fmt.Errorf("restoring what this version cannot say: %w", err)
	}
	kind := hub.GetObjectKind().GroupVersionKind()
	copyMeta(hub, restored)
	*hub = *restored
	hub.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// merge is kept with what differs between before and after. Nil means nothing.
func merge(kept, before, after any) any {
	if equality.Semantic.DeepEqual(before, after) {
		return kept
	}
	keptMap, isMap := kept.(map[string]any)
	beforeMap, wasMap := before.(map[string]any)
	afterMap, becomesMap := after.(map[string]any)
	if !isMap || !wasMap && before != nil || !becomesMap && after != nil {
		return after
	}
	merged := map[string]any{}
	for key, value := range keptMap {
		if _, was := beforeMap[key]; !was {
			merged[key] = value
		}
	}
	for key, value := range afterMap {
		merged[key] = merge(keptMap[key], beforeMap[key], value)
	}
	for key, value := range beforeMap {
		if _, stays := afterMap[key]; stays {
			continue
		}
		if rest := merge(keptMap[key], value, nil); rest != nil {
			merged[key] = rest
		}
	}
	if len(merged) == 0 && after == nil {
		return nil
	}
	return merged
}

// content is spec and status as a tree.
func content(object client.Object) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("reading a %T: %w", object, err)
	}
	for key := range tree {
		if key != "spec" && key != "status" {
			delete(tree, key)
		}
	}
	return tree, nil
}

// metaOf is the metadata of an object.
func metaOf(object client.Object) *metav1.ObjectMeta {
	accessor, _ := object.(metav1.ObjectMetaAccessor)
	meta, _ := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	return meta
}

// copyMeta copies the metadata.
func copyMeta(from, to client.Object) { metaOf(from).DeepCopyInto(metaOf(to)) }

// takeAnnotation is the value of an annotation, which it removes.
func takeAnnotation(from client.Object, name string) string {
	annotations := from.GetAnnotations()
	value := annotations[name]
	delete(annotations, name)
	if len(annotations) == 0 {
		from.SetAnnotations(nil)
	}
	return value
}

// project copies the fields that two types have by the same names.
func project(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("reading a %T: %w", from, err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("making a %T of a %T: %w", to, from, err)
	}
	return nil
}
