package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// startInstall takes the hold back, and says for exactly how many hosts the service waits.
func (a *actor) startInstall(ctx context.Context) error {
	if err := a.removeStaleManifests(ctx); err != nil {
		return err
	}
	deployment, live, err := a.current()
	if err != nil {
		return err
	}
	if err := a.preserve(ctx, deployment); err != nil {
		return err
	}
	want := map[string]any{"spec": map[string]any{"holdInstallation": false}}
	paths := []hubobjects.Path{{"spec", "holdInstallation"}}
	counts, table := model.Settings{}, hubobjects.InstallTable()
	for _, key := range []model.Setting{model.SettingControlPlane, model.SettingWorkers, model.SettingArbiters} {
		if value, said := a.action.Settings[key]; said {
			row, _ := table.Row(key)
			counts[key], paths = value, append(paths, row.Paths...)
		}
	}
	if err := table.Write(want, counts); err != nil {
		return err
	}
	_, err = a.ApplyFields(ctx, live, &unstructured.Unstructured{Object: want}, paths)
	return err
}

// preserve keeps the nodes running when any client deletes their ClusterDeployment. A ClusterDeployment that an earlier
// version made, or that has a deletion that was interrupted, does not have the field yet. A value that another field
// manager has set is not changed.
func (a *actor) preserve(ctx context.Context, deployment *unstructured.Unstructured) error {
	if deployment.GetLabels()[hubapi.LabelCluster] != a.Cluster || kube.OtherOwner(deployment, "spec", "preserveOnDelete") != "" {
		return nil
	}
	return a.Patch(ctx, kube.ClusterDeployments, deployment, map[string]any{"spec": map[string]any{"preserveOnDelete": true}})
}

func (a *actor) nudge(ctx context.Context) error {
	_, live, err := a.current()
	if err != nil {
		return err
	}
	return a.Touch(ctx, kube.AgentClusterInstalls, live)
}

// record does what Hive's operator would: it writes down that the cluster is
// installed, and how it is reached. The service takes more hosts only then.
func (a *actor) record(ctx context.Context) error {
	deployment, live, err := a.current()
	if err != nil {
		return err
	}
	made, err := kube.Read[hive.AgentClusterInstall](live)
	if err != nil {
		return err
	}
	if !metadataComplete(made.Spec.ClusterMetadata) {
		return &model.Fault{
			Code: model.CodeFailure, Op: "record the installation of", On: kube.ID(a.Namespace.Name, deployment.GetName()),
			Err: errors.New("the service has not written the cluster's metadata yet"), Next: "run the same command again in a while",
		}
	}
	metadata, _, err := unstructured.NestedMap(live.Object, "spec", "clusterMetadata")
	if err != nil {
		return err
	}
	return a.Patch(ctx, kube.ClusterDeployments, deployment, map[string]any{
		"spec": map[string]any{"installed": true, "clusterMetadata": runtime.DeepCopyJSON(metadata)},
	})
}

// allowAddHosts makes the cluster take more hosts: the service does so by itself as soon as the ClusterDeployment says
// that it is installed.
func (a *actor) allowAddHosts(ctx context.Context) error {
	deployment, _, err := a.current()
	if err != nil {
		return err
	}
	cd, err := kube.Read[hive.ClusterDeployment](deployment)
	switch {
	case err != nil:
		return err
	case kube.Installed(cd):
		return nil
	case hiveRuns(deployment, cd):
		return &model.Fault{
			Code: model.CodeFailure, Op: "let hosts be added to", On: kube.ID(a.Namespace.Name, deployment.GetName()),
			Err:  errors.New("the operator of Hive has not written down yet that the cluster is installed"),
			Next: "run the same command again in a while",
		}
	}
	return a.record(ctx)
}

func (a *actor) withdrawCluster(ctx context.Context) error {
	deployment, _, err := a.current()
	if err != nil {
		return err
	}
	if err := a.CheckOwner(kube.ClusterDeployments, deployment); err != nil {
		return err
	}
	own := kube.ID(deployment.GetNamespace(), deployment.GetName())
	for _, u := range a.Namespace.Store(kube.Agents).All() {
		if host, err := ReadAgent(u, a.Now()); err != nil || host.ClusterID == own {
			return errors.New("it is not empty any more")
		}
	}
	return a.Remove(ctx, kube.ClusterDeployments, deployment)
}

// checkForeignObjects refuses the action before anything is written if one of the objects to be made exists already and
// belongs to another owner, be it an object of the cluster or of a later step. Watched kinds are read from the store.
// Other kinds are read from the API server here, not before each write; only the Secrets of machines, one for each, are
// read when they are written.
func (a *actor) checkForeignObjects(ctx context.Context, made *render.Objects) error {
	for _, want := range made.All() {
		k, err := kube.KindOf(want.GetKind())
		if err != nil || k.ClusterWide() || want.GetNamespace() != a.Namespace.Name {
			continue
		}
		if live := a.Namespace.Store(k).Get(want.GetName()); live != nil {
			if a.usedAsIs(want, live) {
				continue
			}
			if err := a.CheckOwner(k, live); err != nil {
				return err
			}
		}
	}
	a.Unwatched = map[string]*unstructured.Unstructured{}
	for _, want := range made.Cluster {
		k, _ := kube.KindOf(want.GetKind())
		if _, watched := a.Namespace.Stores[k]; watched && k.Selector() == "" {
			continue
		}
		live, err := a.Get(ctx, k, want.GetNamespace(), want.GetName())
		if err != nil {
			return err
		}
		if live != nil {
			if err := a.CheckOwner(k, live); err != nil {
				return err
			}
		}
		if live == nil || a.Namespace.Store(k).Get(want.GetName()) == nil {
			a.Unwatched[string(k)+" "+kube.ID(want.GetNamespace(), want.GetName())] = live
		}
	}
	return nil
}

// usedAsIs reports whether an object of others is used as it is: an InfraEnv that is bound to the cluster, and a
// BareMetalHost that boots the same machine.
func (a *actor) usedAsIs(want, live *unstructured.Unstructured) bool {
	switch live.GetKind() {
	case hubapi.KindInfraEnv:
		return kube.BoundTo(live) == kube.ID(a.Namespace.Name, a.Cluster)
	case hubapi.KindBareMetalHost:
		mac, _, _ := unstructured.NestedString(live.Object, "spec", "bootMACAddress")
		wanted, _, _ := unstructured.NestedString(want.Object, "spec", "bootMACAddress")
		return mac != "" && strings.EqualFold(mac, wanted)
	}
	return false
}

// uploadManifest puts a manifest of the file into its ConfigMap, and makes the service read it. The other ConfigMaps
// are updated, too: the service refuses a name that is there twice, as when a manifest was moved and the old one is
// left behind.
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
	for _, u := range a.OfCluster(kube.ConfigMaps) {
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

func (a *actor) fileNames(folderAndName string) bool {
	return slices.ContainsFunc(a.desired.Spec.ManifestFiles(), func(m spec.Manifest) bool {
		return string(m.Folder)+"/"+m.Name == folderAndName
	})
}

// manifests makes our ConfigMaps hold just the manifests of the file, and makes the service read those.
func (a *actor) manifests(ctx context.Context) error {
	_, live, err := a.current()
	if err != nil {
		return err
	}
	made, err := a.objects(render.Options{ImageSet: kube.ImageSetOf(live)})
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
	for _, u := range a.OfCluster(kube.ConfigMaps) {
		if !kube.HoldsManifests(u) || wanted[u.GetName()] {
			continue
		}
		fields, err := kube.AppliedFields(u)
		if err != nil {
			return err
		}
		delete(fields, "data") // which is what oaictl put there
		rest, err := a.Apply(ctx, kube.ConfigMaps, u, kube.Configuration(u, fields))
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
	if _, err := a.ApplyFields(ctx, live, &unstructured.Unstructured{Object: want},
		[]hubobjects.Path{{"spec", "manifestsConfigMapRefs"}}); err != nil {
		return err
	}
	for _, u := range empty {
		if err := a.Remove(ctx, kube.ConfigMaps, u); err != nil {
			return err
		}
	}
	return nil
}
