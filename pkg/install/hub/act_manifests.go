package hub

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// uploadManifest puts a manifest of the file into its ConfigMap, and has the
// service look there. The others go along: the service refuses a name that stands
// twice, as it does where a manifest has moved and is left behind.
func (a *actor) uploadManifest(ctx context.Context) error {
	if !a.fileNames(a.action.Name) {
		return fmt.Errorf("the file has no manifest %s", a.action.Name)
	}
	return a.manifests(ctx)
}

// removeStaleManifests takes what the file does not name any more out of our ConfigMaps
// before the install reads them. A file that says nothing of manifests at all
// leaves them alone.
func (a *actor) removeStaleManifests(ctx context.Context) error {
	if !a.desired.Spec.Present("spec.manifests") {
		return nil
	}
	for _, u := range a.Ours(kube.ConfigMaps()) {
		if !kube.HoldsManifests(u) {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(u.Object, "data")
		for name := range data {
			if !a.fileNames(kube.FolderOf(u) + "/" + name) {
				return a.manifests(ctx)
			}
		}
	}
	return nil
}

// fileNames says whether the file has a manifest, by its folder and name.
func (a *actor) fileNames(folderAndName string) bool {
	return slices.ContainsFunc(a.desired.Spec.ManifestFiles(), func(m spec.Manifest) bool {
		return string(m.Folder)+"/"+m.Name == folderAndName
	})
}

// manifests brings our ConfigMaps to just the manifests of the file, and has the
// service look into those.
func (a *actor) manifests(ctx context.Context) error {
	_, live, err := a.current()
	if err != nil {
		return err
	}
	made, err := a.objects(render.Options{ImageSet: currentImageSet(live)})
	if err != nil {
		return err
	}
	var refs []any
	wanted := map[string]bool{}
	for _, want := range made.Cluster {
		if !kube.HoldsManifests(want) {
			continue
		}
		if _, err := a.ApplyObject(ctx, want); err != nil {
			return err
		}
		refs, wanted[want.GetName()] = append(refs, map[string]any{"name": want.GetName()}), true
	}
	var empty []*unstructured.Unstructured
	for _, u := range a.Ours(kube.ConfigMaps()) {
		if !kube.HoldsManifests(u) || wanted[u.GetName()] {
			continue
		}
		fields, err := kube.AppliedFields(u)
		if err != nil {
			return err
		}
		delete(fields, "data") // which is what oaictl put there
		rest, err := a.Apply(ctx, kube.ConfigMaps(), u, kube.Configuration(u, fields))
		if err != nil {
			return err
		}
		if data, _, _ := unstructured.NestedMap(rest.Object, "data"); len(data) > 0 { // others use it
			refs = append(refs, map[string]any{"name": u.GetName()})
			continue
		}
		empty = append(empty, rest)
	}
	want := map[string]any{}
	if len(refs) > 0 {
		want["spec"] = map[string]any{"manifestsConfigMapRefs": refs}
	}
	if _, err := a.ApplyFields(ctx, live, &unstructured.Unstructured{Object: want}, []hubobjects.Path{{"spec", "manifestsConfigMapRefs"}}); err != nil {
		return err
	}
	for _, u := range empty {
		if err := a.Remove(ctx, kube.ConfigMaps(), u); err != nil {
			return err
		}
	}
	return nil
}
