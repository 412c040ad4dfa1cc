package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (a *actor) agent(ctx context.Context) (*unstructured.Unstructured, error) {
	namespace, _ := kube.SplitID(a.action.InfraEnv, a.Namespace.Name)
	at, err := a.WatchHosts(ctx, namespace)
	if err != nil {
		return nil, err
	}
	live := at.Store(kube.Agents).Get(a.action.Target)
	if live == nil {
		return nil, &model.Fault{
			Code: model.CodeNotFound, Op: "find Agent", On: kube.ID(namespace, a.action.Target), Permanent: true,
			Err: errors.New("the hub has none of that name any more"), Next: "{get hosts}",
		}
	}
	return live, nil
}

// updateHost makes a host what the file says, and lets it take part: role, name,
// disk, labels and approval in one patch, so that it is never free to be
// installed as what it shall not be.
func (a *actor) updateHost(ctx context.Context) error {
	live, err := a.agent(ctx)
	if err != nil {
		return err
	}
	if err := a.hostSecrets(ctx, live); err != nil {
		return err
	}
	if owner := live.GetLabels()[hubapi.LabelAgentBMH]; owner != "" {
		return a.updateMachine(ctx, live, owner)
	}
	fields, err := a.agentFields(live)
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		return nil
	}
	if err := checkFieldOwners(live, fields); err != nil {
		return err
	}
	return a.Patch(ctx, kube.Agents, live, map[string]any{"spec": fields})
}

// host is the host of the file that the action is about, nil where the file does
// not name it.
func (a *actor) host() *spec.Host {
	if host := a.desired.Spec.Host(a.action.Name); host != nil {
		return host
	}
	name, _ := strings.CutPrefix(string(a.action.Scope), "host/")
	return a.desired.Spec.Host(name)
}

func (a *actor) hostSecrets(ctx context.Context, agent *unstructured.Unstructured) error {
	_, fencing := a.action.Settings[model.SettingFencing]
	_, token := a.action.Settings[model.SettingEndpointToken]
	host := a.host()
	if host == nil || !fencing && !token {
		return nil
	}
	set := ""
	if _, live, err := a.current(); err == nil {
		set = kube.ImageSetOf(live)
	}
	made, err := a.objects(render.Options{ImageSet: set})
	if err != nil {
		return err
	}
	c := a.desired.Spec
	for _, of := range made.Hosts {
		if of.Name != host.Name {
			continue
		}
		for _, secret := range of.Secrets {
			isFencing, isToken := secret.GetName() == hubobjects.FencingSecretName(c, host), secret.GetName() == hubobjects.TokenSecretName(c, host)
			if isFencing {
				besideAgent(secret, agent)
			}
			if isFencing && fencing || isToken && token {
				if _, err := a.ApplyObject(ctx, secret); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// besideAgent puts a Secret that an Agent names without a namespace into the Agent's own namespace. If that differs
// from the cluster's, as with a pool, the Secret is owned by the Agent and deleted with it: the cluster's deletion does
// not look there.
func besideAgent(secret, agent *unstructured.Unstructured) {
	if secret.GetNamespace() == agent.GetNamespace() {
		return
	}
	secret.SetNamespace(agent.GetNamespace())
	secret.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: agent.GetAPIVersion(), Kind: agent.GetKind(), Name: agent.GetName(), UID: agent.GetUID(),
	}})
}

func (a *actor) agentFields(live *unstructured.Unstructured) (map[string]any, error) {
	table := hubobjects.AgentTable(hubobjects.SecretsOf(a.desired.Spec, a.host(), a.Namespace.Name))
	for key := range a.action.Settings {
		if _, known := table.Row(key); !known {
			return nil, notSupported(key)
		}
	}
	patch := map[string]any{"spec": map[string]any{}}
	if err := table.Write(patch, a.action.Settings); err != nil {
		return nil, err
	}
	fields, _ := patch["spec"].(map[string]any)
	if path, _, _ := unstructured.NestedString(live.Object, "spec", "installation_disk_path"); path != "" &&
		fields["installation_disk_id"] != nil {
		fields["installation_disk_path"] = nil // one of them only
	}
	if labels, said := fields["nodeLabels"].(map[string]any); said {
		withoutOthers(labels, live)
	}
	return fields, nil
}

func notSupported(key model.Setting) error {
	return &model.Fault{
		Code: model.CodeInput, Op: "configure the host:", On: string(key), Permanent: true,
		Err: errors.New("a hub has no place for it"), Next: "leave it out of the file, or install through the REST service (--backend rest)",
	}
}

// withoutOthers adds what takes away the labels that the node shall lose. Inherited ones stay.
func withoutOthers(labels map[string]any, agent *unstructured.Unstructured) {
	have, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "nodeLabels")
	inherited := inheritedLabels(agent)
	for key := range have {
		_, wanted := labels[key]
		if _, stays := inherited[key]; !wanted && !stays {
			labels[key] = nil
		}
	}
}

// updateMachine says what the Agent of a BareMetalHost shall be where the
// bare-metal-agent controller reads it: what is written on the Agent it would
// write over. It approves such an Agent by itself.
func (a *actor) updateMachine(ctx context.Context, agent *unstructured.Unstructured, name string) error {
	at, err := a.WatchHosts(ctx, agent.GetNamespace())
	if err != nil {
		return err
	}
	machine := at.Store(kube.BareMetalHosts).Get(name)
	if machine == nil {
		return &model.Fault{
			Code: model.CodeFailure, Op: "configure the host", On: a.action.Name,
			Err:  fmt.Errorf("its Agent belongs to the BareMetalHost %s, which is not there", name),
			Next: model.Advicef("kubectl get baremetalhosts -n %s", agent.GetNamespace()),
		}
	}
	fields, err := a.machineFields(machine)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		if err := a.Patch(ctx, kube.BareMetalHosts, machine, fields); err != nil {
			return err
		}
	}
	return a.agentOnly(ctx, agent)
}

// agentOnly writes on the Agent what a BareMetalHost has no word for and its
// controller leaves alone: among that are the labels that go, since it only ever
// adds labels.
func (a *actor) agentOnly(ctx context.Context, agent *unstructured.Unstructured) error {
	all, err := a.agentFields(agent)
	if err != nil {
		return err
	}
	own := map[string]any{}
	for _, field := range []string{"ignitionEndpointHTTPHeaders", "ignitionEndpointTokenReference"} {
		if value, there := all[field]; there {
			own[field] = value
		}
	}
	if labels, said := all["nodeLabels"].(map[string]any); said {
		maps.DeleteFunc(labels, func(_ string, value any) bool { return value != nil })
		if len(labels) > 0 {
			own["nodeLabels"] = labels
		}
	}
	if a.action.Kind == model.InstallHost {
		own["approved"] = true
	}
	if len(own) == 0 {
		return nil
	}
	return a.Patch(ctx, kube.Agents, agent, map[string]any{"spec": own})
}

func (a *actor) machineFields(machine *unstructured.Unstructured) (map[string]any, error) {
	host, fields := a.host(), map[string]any{}
	if err := hubobjects.MachineTable(hubobjects.SecretsOf(a.desired.Spec, host, a.Namespace.Name)).Write(fields,
		a.action.Settings); err != nil {
		return nil, err
	}
	if value, said := a.action.Settings[model.SettingLabels]; said {
		var labels map[string]string
		if err := value.Decode(&labels); err != nil {
			return nil, err
		}
		for key := range machine.GetAnnotations() {
			label, is := strings.CutPrefix(key, hubapi.AnnotationBMACNodeLabelPrefix)
			if _, wanted := labels[label]; !is || wanted {
				continue
			}
			// Those of before go, or the controller would add them again.
			if err := unstructured.SetNestedField(fields, nil, "metadata", "annotations", key); err != nil {
				return nil, err
			}
		}
	}
	if _, said := a.action.Settings[model.SettingDisk]; said && host != nil {
		fields["spec"] = map[string]any{"rootDeviceHints": hubobjects.HintPatch(host.Disk.Hints)}
	}
	return fields, nil
}

func (a *actor) bindHost(ctx context.Context) error {
	if len(a.action.Settings) > 0 { // before: an installed cluster installs what is bound at once
		if err := a.updateHost(ctx); err != nil {
			return err
		}
	}
	live, err := a.agent(ctx)
	if err != nil {
		return err
	}
	deployment, _, err := a.current()
	if err != nil {
		return err
	}
	reference := kube.ID(deployment.GetNamespace(), deployment.GetName())
	if cluster := kube.BoundTo(live); cluster != "" && cluster != reference {
		return &model.Fault{
			Code: model.CodeNotFound, Op: "bind host", On: a.action.Name, Permanent: true,
			Err: fmt.Errorf("it belongs to the cluster %s", cluster), Next: "have it released there first",
		}
	}
	if _, skips := live.GetAnnotations()[hubapi.AnnotationAgentSkipCleanup]; skips { // of when it left another cluster
		if err := a.Patch(ctx, kube.Agents, live, annotate(hubapi.AnnotationAgentSkipCleanup, nil)); err != nil {
			return err
		}
	}
	machine, err := a.enrolled(ctx, live)
	if err != nil {
		return err
	}
	if machine != nil {
		return a.Patch(ctx, kube.BareMetalHosts, machine, annotate(hubapi.AnnotationBMACClusterReference, reference))
	}
	return a.Patch(ctx, kube.Agents, live, map[string]any{"spec": map[string]any{
		"clusterDeploymentName": map[string]any{"name": deployment.GetName(), "namespace": deployment.GetNamespace()},
	}})
}

// returnHost takes a host out of its cluster, and leaves it to the InfraEnv that it came from. Once the machine is
// there again, the service would look for its node by name, and that may be the node of another machine by then: if the
// node is gone, an annotation makes the service skip that.
func (a *actor) returnHost(ctx context.Context) error {
	live, err := a.agent(ctx)
	if err != nil {
		return err
	}
	machine, err := a.enrolled(ctx, live)
	if err != nil {
		return err
	}
	if machine != nil {
		// With an empty reference, the Agent could only be bound through its BareMetalHost.
		if _, bound := machine.GetAnnotations()[hubapi.AnnotationBMACClusterReference]; bound {
			if err := a.Patch(ctx, kube.BareMetalHosts, machine, annotate(hubapi.AnnotationBMACClusterReference, nil)); err != nil {
				return err
			}
		}
	}
	fields := takenBack(live)
	fields["clusterDeploymentName"] = nil
	change := map[string]any{"spec": fields}
	if a.action.NodeGone {
		change["metadata"] = annotate(hubapi.AnnotationAgentSkipCleanup, "true")["metadata"]
	}
	return a.Patch(ctx, kube.Agents, live, change)
}

// takenBack is a change of an Agent's spec that removes what was set for the cluster that its host leaves, as the
// service does on its side. Otherwise a later user of the pool would take it for a setting of the pool's owner. What
// another field manager has set stays, and so does the hostname, by which the service finds the node.
func takenBack(agent *unstructured.Unstructured) map[string]any {
	fields := map[string]any{}
	for field, none := range map[string]any{"role": "", "installation_disk_id": nil, "machineConfigPool": nil} {
		if kube.OnlyOurs(agent, "spec", field) {
			fields[field] = none
		}
	}
	nodes, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "nodeLabels")
	labels := map[string]any{}
	for label := range nodes {
		if kube.OnlyOurs(agent, "spec", "nodeLabels", label) {
			labels[label] = nil
		}
	}
	if len(labels) > 0 {
		fields["nodeLabels"] = labels
	}
	return fields
}

// enrolled is the BareMetalHost of an Agent, nil for none.
func (a *actor) enrolled(ctx context.Context, agent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	at, err := a.WatchHosts(ctx, agent.GetNamespace())
	if err != nil {
		return nil, err
	}
	return enrolledIn(at, agent), nil
}

func enrolledIn(at *kube.Namespace, agent *unstructured.Unstructured) *unstructured.Unstructured {
	owner := agent.GetLabels()[hubapi.LabelAgentBMH]
	if owner == "" {
		return nil
	}
	return at.Store(kube.BareMetalHosts).Get(owner)
}

// annotate is a patch that sets an annotation, or removes it.
func annotate(name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
}

// checkFieldOwners refuses to write texts into an Agent's spec that another client has set to something else. An Agent
// is created by the service, so that it is patched and not applied, and a patch reports no conflict. A role that was
// left to the service was set by no client.
func checkFieldOwners(live *unstructured.Unstructured, fields map[string]any) error {
	var theirs []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		have, _, _ := unstructured.NestedString(live.Object, "spec", field)
		open := have == "" || field == "role" && have == statuses.RoleWord(spec.Auto)
		if want, isText := fields[field].(string); !isText || open || have == want {
			continue
		}
		if who := kube.OtherOwner(live, "spec", field); who != "" {
			theirs = append(theirs, fmt.Sprintf("spec.%s (%s) is owned by %s", field, have, who))
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	f := &model.Fault{Op: "change Agent", On: kube.ID(live.GetNamespace(), live.GetName())}
	kube.SetOwnedByOthers(f, strings.Join(theirs, ", "))
	return f
}

// registerHost makes the BareMetalHost by which the hub boots a machine of the
// file, and the Secrets that it refers to. One that is there is the operator's:
// applying it anew would provision the machine again.
func (a *actor) registerHost(ctx context.Context) error {
	host := a.host()
	if host == nil {
		return errors.New("the file has no such host")
	}
	if live := a.Namespace.Store(kube.BareMetalHosts).Get(host.Name); live != nil {
		return a.CheckOwner(kube.BareMetalHosts, live)
	}
	env, err := a.bootedFrom()
	if err != nil {
		return err
	}
	boots := model.InfraEnvPlan{Name: env.Name, Arch: spec.Arch(env.Settings[model.SettingArch].Text()), Hosts: []string{host.Name}}
	options := render.Options{InfraEnvs: []model.InfraEnvPlan{boots}}
	if deployment, live, err := a.current(); err == nil {
		options.ImageSet = kube.ImageSetOf(live)
		options.Bound = env.ClusterID == kube.ID(deployment.GetNamespace(), deployment.GetName())
	}
	made, err := a.objects(options)
	if err != nil {
		return err
	}
	for _, objects := range made.Hosts {
		if objects.Name != host.Name || objects.BareMetalHost == nil {
			continue
		}
		if err := a.ApplyAll(ctx, objects.Secrets); err != nil {
			return err
		}
		_, err := a.ApplyObject(ctx, objects.BareMetalHost)
		return err
	}
	return errors.New("the file does not have the hub boot it: spec.boot.method is not metal3, or the host has no bmc")
}

func (a *actor) bootedFrom() (model.InfraEnv, error) {
	_, name := kube.SplitID(a.action.InfraEnv, a.Namespace.Name)
	live := a.Namespace.Store(kube.InfraEnvs).Get(name)
	if live == nil {
		return model.InfraEnv{}, &model.Fault{
			Code: model.CodeNotFound, Op: "find InfraEnv", On: kube.ID(a.Namespace.Name, name), Permanent: true,
			Err: errors.New("the hub has none of that name any more"), Next: "{get infraenvs}",
		}
	}
	return infraEnvOf(live, nil, a.Cluster)
}
