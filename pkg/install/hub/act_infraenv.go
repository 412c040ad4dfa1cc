package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// registerInfraEnv makes the networks of the hosts and then the InfraEnv that
// selects them, so that its image is made once.
func (a *actor) registerInfraEnv(ctx context.Context) error {
	made, err := a.infraEnvObjects()
	if err != nil {
		return err
	}
	env := made.InfraEnvs[0]
	if live := a.Namespace.Store(kube.InfraEnvs).Get(env.Name); live != nil {
		if err := a.CheckOwner(kube.InfraEnvs, live); err != nil {
			return err
		}
	}
	if err := a.ApplyAll(ctx, slices.Concat(env.Secrets, env.NMStateConfigs)); err != nil {
		return err
	}
	for _, want := range made.Cluster { // what the InfraEnv refers to and the cluster did not need
		if want.GetKind() == hubapi.KindConfigMap && want.GetName() == a.Cluster+"-mirrors" {
			if _, err := a.ApplyObject(ctx, want); err != nil {
				return err
			}
		}
	}
	_, err = a.infraEnv(ctx, env.InfraEnv)
	return err
}

// infraEnv applies an InfraEnv as a whole. The hub takes the version of the live
// system of one that is bound to a cluster not with its creation, but once it is
// there.
func (a *actor) infraEnv(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	version, _, _ := unstructured.NestedString(want.Object, "spec", "osImageVersion")
	_, bound, _ := unstructured.NestedMap(want.Object, "spec", "clusterRef")
	if version != "" && bound && a.Namespace.Store(kube.InfraEnvs).Get(want.GetName()) == nil {
		first := want.DeepCopy()
		unstructured.RemoveNestedField(first.Object, "spec", "osImageVersion")
		if _, err := a.ApplyObject(ctx, first); err != nil {
			return nil, err
		}
	}
	return a.ApplyObject(ctx, want)
}

func (a *actor) infraEnvObjects() (*render.Objects, error) {
	plan, err := a.plan()
	if err != nil {
		return nil, err
	}
	set := ""
	if _, live, err := a.current(); err == nil {
		set = kube.ImageSetOf(live)
	}
	_, versioned := a.action.Settings[model.SettingOSVersion]
	made, err := a.objects(render.Options{ImageSet: set, Installed: versioned, InfraEnvs: []model.InfraEnvPlan{plan}})
	if err == nil && len(made.InfraEnvs) != 1 {
		err = errors.New("the file uses an InfraEnv that exists, and makes none")
	}
	return made, err
}

// plan is the plan of the action's InfraEnv: which hosts boot its image, by the file and the InfraEnvs that are there.
// If the file leads to no such InfraEnv, the settings of the action decide which hosts boot it.
func (a *actor) plan() (model.InfraEnvPlan, error) {
	deployment := kube.ID(a.Namespace.Name, a.Cluster)
	var have []model.InfraEnv
	configs := a.Namespace.Store(kube.NMStateConfigs).All()
	for _, u := range a.Namespace.Store(kube.InfraEnvs).All() {
		if kube.BoundTo(u) != deployment && !isOwned(u, a.Cluster) { // of a namespace with many clusters these are most
			continue
		}
		env, err := infraEnvOf(u, selectedBy(u, configs), a.Cluster)
		if err != nil {
			return model.InfraEnvPlan{}, err
		}
		have = append(have, env)
	}
	plans, err := install.InfraEnvPlans(a.desired.Spec, have)
	if err != nil {
		return model.InfraEnvPlan{}, err
	}
	if i := slices.IndexFunc(plans, func(p model.InfraEnvPlan) bool { return p.Name == a.action.Name }); i >= 0 {
		if a.action.Kind == model.RegisterInfraEnv { // what was decided is what is written
			plans[i].Settings = a.action.Settings
		}
		return plans[i], nil
	}
	arch := spec.Arch(a.action.Settings[model.SettingArch].Text())
	own := model.InfraEnvPlan{Name: a.action.Name, Arch: arch, Settings: a.action.Settings}
	for _, p := range plans {
		if p.Alone == "" && (p.Arch == arch || arch == "") {
			own.Hosts = append(own.Hosts, p.Hosts...)
		}
	}
	return own, nil
}

func (a *actor) updateInfraEnv(ctx context.Context) error {
	made, err := a.infraEnvObjects()
	if err != nil {
		return err
	}
	want := made.InfraEnvs[0]
	live := a.Namespace.Store(kube.InfraEnvs).Get(want.Name)
	if live == nil {
		return &model.Fault{Code: model.CodeNotFound, Op: "update InfraEnv", On: kube.ID(a.Namespace.Name, want.Name), Permanent: true,
			Err: errors.New("the hub has none of that name"), Next: "{get infraenvs}"}
	}
	if err := a.CheckOwner(kube.InfraEnvs, live); err != nil {
		return err
	}
	if err := a.applyNeeded(ctx, made.Cluster); err != nil {
		return err
	}
	if _, resent := a.action.Settings[model.SettingPullSecret]; resent {
		if err := a.ApplyAll(ctx, want.Secrets); err != nil {
			return err
		}
	}
	if _, networks := a.action.Settings[model.SettingStaticNetworks]; networks {
		if err := a.networks(ctx, want); err != nil {
			return err
		}
	}
	if live, err = a.write(ctx, live, want.InfraEnv, hubobjects.InfraEnvTable()); err != nil {
		return err
	}
	if _, labels := a.action.Settings[model.SettingNodeLabels]; labels {
		return a.propagateLabels(ctx, live, want.InfraEnv)
	}
	return nil
}

// propagateLabels brings the labels that an InfraEnv passes on to its nodes to what they shall be. They are not in the
// image, but an apply gives all that oaictl owns the time of now, and the image would count as made anew
// ([kube.SpecChanged]): they are patched. A patch reports no conflict, so the owners of the fields are checked here.
// The API server checks that the object is still the one that was read.
func (a *actor) propagateLabels(ctx context.Context, live, want *unstructured.Unstructured) error {
	const note = hubapi.AnnotationPropagateNodeLabels
	var theirs []string
	ask := func(field, key string) {
		if owner := kube.OtherOwner(live, "metadata", field, key); owner != "" {
			theirs = append(theirs, fmt.Sprintf("metadata.%s.%s is owned by %s", field, key, owner))
		}
	}
	labels, wanted := map[string]any{}, want.GetLabels()
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		labels[key] = wanted[key]
		if live.GetLabels()[key] != wanted[key] {
			ask("labels", key)
		}
	}
	for _, key := range clustersettings.Commas(live.GetAnnotations()[note]) {
		if _, stays := wanted[key]; !stays && kube.OtherOwner(live, "metadata", "labels", key) == "" {
			labels[key] = nil
		}
	}
	notes := map[string]any{note: nil} // this removes it
	if keys := want.GetAnnotations()[note]; keys != "" {
		notes[note] = keys
	}
	if live.GetAnnotations()[note] != want.GetAnnotations()[note] {
		ask("annotations", note)
	}
	if len(theirs) > 0 {
		f := &model.Fault{Op: "change InfraEnv", On: kube.ID(live.GetNamespace(), live.GetName())}
		kube.SetOwnedByOthers(f, strings.Join(theirs, ", "))
		return f
	}
	return a.Patch(ctx, kube.InfraEnvs, live, map[string]any{"metadata": map[string]any{
		"labels": labels, "annotations": notes, "resourceVersion": live.GetResourceVersion(),
	}})
}

// networks applies the networks of an InfraEnv's hosts, and removes those that the file
// does not have any more. A file that only adds hosts says nothing of others.
func (a *actor) networks(ctx context.Context, want render.InfraEnv) error {
	c := a.desired.Spec
	others := func(config string) bool {
		return c.OnlyAdds() && !slices.ContainsFunc(c.Spec.Hosts,
			func(h spec.Host) bool { return hubobjects.NMStateConfigName(c, h.Name) == config })
	}
	if err := a.ApplyAll(ctx, want.NMStateConfigs); err != nil {
		return err
	}
	for _, u := range a.Namespace.Store(kube.NMStateConfigs).All() {
		labels := u.GetLabels()
		ours := labels[hubapi.LabelCluster] == a.Cluster && labels[hubapi.LabelInfraEnv] == want.Name
		wanted := slices.ContainsFunc(want.NMStateConfigs, func(c *unstructured.Unstructured) bool { return c.GetName() == u.GetName() })
		if !ours || wanted || others(u.GetName()) {
			continue
		}
		if err := a.Remove(ctx, kube.NMStateConfigs, u); err != nil {
			return err
		}
	}
	return nil
}

// renewImage has the service reconcile the InfraEnv, which renews a URL that is about to end.
func (a *actor) renewImage(ctx context.Context) error {
	namespace, name := kube.SplitID(a.action.Target, a.Namespace.Name)
	at, err := a.WatchHosts(ctx, namespace)
	if err != nil {
		return err
	}
	live := at.Store(kube.InfraEnvs).Get(name)
	if live == nil {
		return errors.New("the hub has no such InfraEnv")
	}
	return a.Touch(ctx, kube.InfraEnvs, live)
}
