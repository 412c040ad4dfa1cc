package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
)

// Act writes the objects of the action: each object once at most, and none that is already as it shall be. Errors are
// *model.Fault. The next observation shows what was written.
func (p *Plane) Act(ctx context.Context, desired *model.Desired, action model.Action) error {
	if desired == nil || desired.Spec == nil {
		return planeshared.Refusal(action, errors.New("there is no desired cluster"))
	}
	act := actions()[action.Kind]
	if act == nil {
		return planeshared.Refusal(action, fmt.Errorf("a hub has no action %s", action.Kind))
	}
	name := desired.Spec.Metadata.Name
	namespace := cmp.Or(p.api.Namespace, desired.Spec.HubNamespace())
	switch {
	case desired.Options.Adopt != "":
		namespace, _ = kube.SplitID(desired.Options.Adopt, namespace)
	case aboutCluster(action.Kind) && action.Target != "":
		namespace, _ = kube.SplitID(action.Target, namespace)
	}
	at, err := p.api.Watch(ctx, namespace)
	if err != nil {
		return err
	}
	w := &actor{
		Writer: kube.Writer{Client: p.api, Namespace: at, Cluster: name, Adopts: desired.Options.Adopt,
			FromFile: planeshared.OfFile(action.Kind)},
		plane: p, desired: desired, action: action,
	}
	if err := act(w, ctx); err != nil {
		var fault *model.Fault
		if errors.As(err, &fault) {
			return fault
		}
		return planeshared.Refusal(action, err)
	}
	return nil
}

type actor struct {
	kube.Writer
	plane   *Plane
	desired *model.Desired
	action  model.Action
}

type actFunc func(*actor, context.Context) error

func actions() map[model.Kind]actFunc {
	return map[model.Kind]actFunc{
		model.RegisterCluster:   (*actor).registerCluster,
		model.ImportCluster:     (*actor).registerCluster,
		model.WithdrawCluster:   (*actor).withdrawCluster,
		model.UpdateCluster:     (*actor).updateCluster,
		model.SetOverrides:      (*actor).updateCluster,
		model.IgnoreValidations: (*actor).updateCluster,
		model.UploadManifest:    (*actor).uploadManifest,
		model.RegisterInfraEnv:  (*actor).registerInfraEnv,
		model.UpdateInfraEnv:    (*actor).updateInfraEnv,
		model.RenewImage:        (*actor).renewImage,
		model.RegisterHost:      (*actor).registerHost,
		model.UpdateHost:        (*actor).updateHost,
		model.InstallHost:       (*actor).updateHost,
		model.BindHost:          (*actor).bindHost,
		model.RemoveHost:        (*actor).removeHost,
		model.ReturnHost:        (*actor).returnHost,
		model.StartInstall:      (*actor).startInstall,
		model.NudgeCluster:      (*actor).nudge,
		model.RecordInstalled:   (*actor).record,
		model.AllowAddHosts:     (*actor).allowAddHosts,
	}
}

func aboutCluster(kind model.Kind) bool {
	switch kind {
	case model.UpdateInfraEnv, model.RenewImage, model.RegisterHost, model.UpdateHost, model.InstallHost, model.BindHost, model.RemoveHost,
		model.ReturnHost:
		return false
	}
	return true
}

// objects are those of the file. What a hub has no field for is the file's fault.
func (a *actor) objects(o render.Options) (*render.Objects, error) {
	o.Namespace, o.Secrets, o.Later = a.Namespace.Name, true, true // what is desired are the hosts of now
	o.Labels, o.Annotations = a.desired.Options.Labels, a.desired.Options.Annotations
	made, err := render.Hub(a.desired.Spec, o)
	if err != nil {
		return nil, &model.Fault{
			Code: model.CodeInput, Op: "make the hub's objects of", On: a.Cluster, Permanent: true, Err: err,
			Next: "change the file and run the same command again",
		}
	}
	return made, nil
}

// registerCluster makes all that a cluster needs but its image: its start is
// held until everything is ready.
func (a *actor) registerCluster(ctx context.Context) error {
	set, err := a.plane.chooseImageSet(ctx, a.desired.Spec)
	if err != nil {
		return err
	}
	hold := true
	set = cmp.Or(set, a.formerImageSet())
	made, err := a.objects(render.Options{ImageSet: set, Hold: &hold})
	if err != nil {
		return err
	}
	if err := a.checkForeignObjects(ctx, made); err != nil {
		return err
	}
	if err := a.ensureNamespace(ctx, made.Namespace); err != nil {
		return err
	}
	if made.ImageSet != nil {
		if err := a.ensureImageSet(ctx, made.ImageSet); err != nil {
			return err
		}
	}
	a.plane.memoryOf(kube.ID(a.Namespace.Name, a.Cluster)).forgetCertificates()
	return a.ApplyAll(ctx, made.Cluster)
}

// formerImageSet is the former name of the cluster's own ClusterImageSet where an
// AgentClusterInstall that is left refers to that, "" otherwise.
func (a *actor) formerImageSet() string {
	_, former := hubobjects.ImageSetNames(a.Namespace.Name, a.Cluster)
	if left := a.Namespace.Store(kube.AgentClusterInstalls).Get(a.Cluster); left != nil && kube.ImageSetOf(left) == former {
		return former
	}
	return ""
}

// ensureNamespace makes the namespace. A user who may not read namespaces works in one that an administrator has made.
func (a *actor) ensureNamespace(ctx context.Context, want *unstructured.Unstructured) error {
	live, err := a.Get(ctx, kube.Namespaces, "", want.GetName())
	var fault *model.Fault
	switch {
	case errors.As(err, &fault) && fault.Code == model.CodeAuth && fault.Status == 403:
		return nil
	case err != nil:
		return err
	case live == nil:
		made := kube.Configuration(want, kube.Merge(map[string]any{}, want.Object))
		made.SetLabels(map[string]string{hubapi.LabelCluster: a.Cluster}) // deleted with the last cluster in it
		_, err = a.Apply(ctx, kube.Namespaces, nil, made)
		return err
	case live.GetDeletionTimestamp() != nil:
		f := kube.DeletingFault(live)
		f.Op = "use namespace"
		f.On = live.GetName()
		return f
	}
	return nil
}

// ensureImageSet makes the ClusterImageSet of the file's release image. One of the same name for the same image is used
// as it is, even if another client made it.
func (a *actor) ensureImageSet(ctx context.Context, want *unstructured.Unstructured) error {
	live, err := a.Get(ctx, kube.ClusterImageSets, "", want.GetName())
	if err != nil {
		return err
	}
	if live != nil && recordOf(live).release == recordOf(want).release {
		return nil
	}
	a.plane.mu.Lock()
	delete(a.plane.imageSets, want.GetName())
	a.plane.mu.Unlock()
	_, err = a.ApplyObject(ctx, want)
	return err
}

func (a *actor) current() (deployment, made *unstructured.Unstructured, err error) {
	target := a.desired.Options.Adopt
	if target == "" && aboutCluster(a.action.Kind) && strings.Contains(a.action.Target, "/") {
		target = a.action.Target
	}
	_, name := kube.SplitID(target, a.Namespace.Name)
	deployment = a.Namespace.Store(kube.ClusterDeployments).Get(cmp.Or(name, a.Cluster))
	if deployment != nil {
		made = a.Namespace.InstallOf(deployment)
	}
	if made == nil {
		return nil, nil, &model.Fault{
			Code: model.CodeNotFound, Op: "find cluster", On: kube.ID(a.Namespace.Name, a.Cluster), Permanent: true,
			Err: errors.New("the hub has no ClusterDeployment of that name with an AgentClusterInstall"), Next: "{get clusters}",
		}
	}
	return deployment, made, nil
}

func (a *actor) updateCluster(ctx context.Context) error {
	deployment, live, err := a.current()
	if err != nil {
		return err
	}
	made, err := a.objects(render.Options{ImageSet: kube.ImageSetOf(live)})
	if err != nil {
		return err
	}
	if err := a.applyNeeded(ctx, made.Cluster); err != nil {
		return err
	}
	if _, replaced := a.action.Settings[model.SettingIgnitionEndpoint]; replaced {
		a.plane.memoryOf(kube.ID(deployment.GetNamespace(), deployment.GetName())).forgetCertificates()
	}
	if err := a.unclassify(ctx, made.Cluster); err != nil {
		return err
	}
	if _, err := a.write(ctx, live, objectOf(made.Cluster, hubapi.KindAgentClusterInstall), hubobjects.InstallTable()); err != nil {
		return err
	}
	if _, adopts := a.action.Settings[model.SettingTags]; adopts {
		_, err = a.ApplyFields(ctx, deployment, objectOf(made.Cluster, hubapi.KindClusterDeployment),
			[]hubobjects.Path{{"metadata", "labels", hubapi.LabelCluster}})
	}
	return err
}

// write brings the fields of the action's settings in an object to what was decided; made
// is the object that the file makes, with what follows from several settings.
func (a *actor) write(ctx context.Context, live, made *unstructured.Unstructured,
	table hubobjects.Table) (*unstructured.Unstructured, error) {
	paths := table.PathsOf(a.action.Settings)
	if len(paths) == 0 {
		return live, nil
	}
	want := made.DeepCopy()
	if err := table.Write(want.Object, a.action.Settings); err != nil {
		return nil, err
	}
	return a.ApplyFields(ctx, live, want, paths)
}

func (a *actor) unclassify(ctx context.Context, wanted []*unstructured.Unstructured) error {
	if _, said := a.action.Settings[model.SettingClassifications]; !said {
		return nil
	}
	for _, u := range a.OfCluster(kube.AgentClassifications) {
		if slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool {
			return w.GetKind() == u.GetKind() && w.GetName() == u.GetName()
		}) {
			continue
		}
		if err := a.Remove(ctx, kube.AgentClassifications, u); err != nil {
			return err
		}
	}
	return nil
}

func (a *actor) applyNeeded(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, want := range objects {
		if !a.isNeeded(want) {
			continue
		}
		if _, err := a.ApplyObject(ctx, want); err != nil {
			return err
		}
	}
	return nil
}

// isNeeded reports whether an object of the file has to be applied for the settings that change.
func (a *actor) isNeeded(want *unstructured.Unstructured) bool {
	has := func(settings ...model.Setting) bool {
		return slices.ContainsFunc(settings, func(s model.Setting) bool { _, there := a.action.Settings[s]; return there })
	}
	name := strings.TrimPrefix(want.GetName(), a.Cluster+"-")
	switch want.GetKind() {
	case hubapi.KindAgentClassification:
		return has(model.SettingClassifications)
	case hubapi.KindSecret:
		isEndpoint := name == "ignition-ca"
		return isEndpoint && has(model.SettingIgnitionEndpoint) || !isEndpoint && has(model.SettingPullSecret)
	case hubapi.KindConfigMap:
		return name == "mirrors" && has(model.SettingInstallConfigOverrides, model.SettingDiscoveryIgnition, model.SettingTrustBundle)
	}
	return false
}

func objectOf(objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	for _, u := range objects {
		if u.GetKind() == kind {
			return u
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}
