package hub

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (p *Plane) clusterOf(ctx context.Context, at *kube.Namespace, deployment, made *unstructured.Unstructured, memory *clusterMemory,
	observed *model.Observed) (*model.Cluster, error) {
	cd, err := kube.Read[hive.ClusterDeployment](deployment)
	if err != nil {
		return nil, err
	}
	aci, err := kube.Read[hive.AgentClusterInstall](made)
	if err != nil {
		return nil, err
	}
	image, err := p.imageSet(ctx, kube.ImageSetOf(made))
	if err != nil {
		return nil, err
	}
	settings, err := p.clusterSettings(ctx, made, aci, image, memory)
	if err != nil {
		return nil, err
	}
	setSingleNodeStages(aci, observed.Hosts)
	status := &aci.Status
	cluster := &model.Cluster{
		State:      stateOf(aci, kube.Installed(cd)),
		StatusInfo: redact.Text(kube.DebugOf(aci).StateInfo),
		StatusSince: latest(status.Conditions, hubapi.ConditionRequirementsMet, hubapi.ConditionCompleted, hubapi.ConditionFailed,
			hubapi.ConditionStopped, hubapi.ConditionValidated),
		Settings:  settings,
		Manifests: manifestsOf(at, aci),
		ImageOnly: []model.Setting{model.SettingExtraNTP}, // an AgentClusterInstall has no additionalNTPSources
		Lasting:   []model.Setting{model.SettingProxy, model.SettingExtraNTP, model.SettingNTP},
		// provisionRequirements, which freezes when the install starts
		Changeable:  []model.Setting{model.SettingControlPlane, model.SettingArbiters},
		Validations: validationsOf(status.ValidationsInfo),
		Preparation: preparationOf(status.Conditions),
		Hold:        holdOwner(deployment, made, aci.Spec.HoldInstallation),
		Unhold:      unholdAdvice(deployment, made),
		Version:     image.version, LogsAvailable: kube.DebugOf(aci).LogsURL != "",
		MarkedAnytime: true, // it is a label
		Approver:      "the hub's Agent controller",
		NoReset:       true,
		PassesOn:      true, // an Agent shows no generation that was taken
	}
	// the second is Hive's copy, or an importer's
	for _, metadata := range []*hive.ClusterMetadata{aci.Spec.ClusterMetadata, cd.Spec.ClusterMetadata} {
		if metadata != nil {
			cluster.OpenShiftID = cmp.Or(cluster.OpenShiftID, metadata.ClusterID)
		}
	}
	cluster.State = planeshared.Refined(cluster.State, cluster.Validations, observed.Hosts)
	addSpecValidation(cluster, made, status.Conditions, observed)
	setInstallTimes(cluster, cd, aci)
	cluster.Unattended = p.unattendedSince(at, made, status.Conditions)
	cluster.Released = cluster.Hold == "" && !aci.Spec.HoldInstallation
	if cluster.Released {
		cluster.Stalled = p.stalledSince(ctx, aci, kube.ID(deployment.GetNamespace(), deployment.GetName()), observed.Hosts)
	}
	if status.Progress != nil {
		cluster.Progress.Percent = int(status.Progress.TotalPercentage)
	}
	done := cluster.State == model.ClusterInstalled || cluster.State == model.ClusterAddingHosts
	cluster.Unrecorded = done && !kube.Installed(cd) && metadataComplete(aci.Spec.ClusterMetadata) && !hiveRuns(deployment, cd)
	return cluster, nil
}

// addSpecValidation adds a failing validation for what the service refuses in the objects. Until that is cured the
// cluster gets no further, no matter which state the service reports: it works with the settings that it accepted
// before.
func addSpecValidation(cluster *model.Cluster, made *unstructured.Unstructured, conditions []hubapi.Condition, observed *model.Observed) {
	id := kube.ClusterOf(made)
	text, blocked := refused(made, conditions, observed.At)
	if text != "" {
		cluster.Validations = append(cluster.Validations, specValidation(text, blocked))
		cluster.StatusInfo = cmp.Or(cluster.StatusInfo, text)
	}
	blocked = blocked || slices.ContainsFunc(observed.Hosts, func(h model.Host) bool {
		return h.ClusterID == id && slices.ContainsFunc(h.Validations,
			func(v model.Validation) bool { return v.ID == explain.SpecSynced && v.Status == checkFails })
	})
	switch cluster.State {
	case model.ClusterDraft, model.ClusterDiscovering, model.ClusterReady:
		if blocked {
			cluster.State = model.ClusterBlocked
		}
	}
}

// unattendedSince is when the oldest of the cluster's objects without conditions was made: each gets conditions when a
// controller first handles it. Zero where all have some.
func (p *Plane) unattendedSince(at *kube.Namespace, made *unstructured.Unstructured, conditions []hubapi.Condition) time.Time {
	var since time.Time
	note := func(u *unstructured.Unstructured) {
		at := u.GetCreationTimestamp().Time
		if !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	if len(conditions) == 0 {
		note(made)
	}
	for _, u := range at.Store(kube.InfraEnvs).All() {
		seen, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		if len(seen) == 0 && kube.BoundTo(u) == kube.ClusterOf(made) {
			note(u)
		}
	}
	return since
}

func setInstallTimes(cluster *model.Cluster, cd *hive.ClusterDeployment, aci *hive.AgentClusterInstall) {
	conditions := aci.Status.Conditions
	if c := find(conditions, hubapi.ConditionRequirementsMet); c.Reason == hubapi.ReasonClusterInstalling &&
		!find(conditions, hubapi.ConditionCompleted).isTrue() {
		cluster.InstallStarted = c.since()
	} else {
		cluster.InstallStarted = moment(cd.Status.InstallStartedTimestamp)
	}
	done := find(conditions, hubapi.ConditionCompleted)
	switch stop := find(conditions, hubapi.ConditionStopped); {
	case done.isTrue():
		cluster.InstallCompleted = done.since()
	case stop.isTrue():
		cluster.InstallCompleted = stop.since()
	}
	there := aci.Spec.ClusterMetadata != nil && aci.Spec.ClusterMetadata.AdminKubeconfigSecretRef.Name != ""
	switch cluster.State {
	case model.ClusterInstalled, model.ClusterAddingHosts:
		cluster.Kubeconfig = there
	case model.ClusterInstalling, model.ClusterNeedsUser, model.ClusterFinalizing:
		cluster.NoIngress = there
	}
}

// manifestsOf are the manifests in those of our ConfigMaps that the AgentClusterInstall refers to.
func manifestsOf(at *kube.Namespace, aci *hive.AgentClusterInstall) map[string]string {
	out := map[string]string{}
	refs := aci.Spec.ManifestsConfigMapRefs
	if one := aci.Spec.ManifestsConfigMapRef; len(refs) == 0 && one != nil {
		refs = []hive.ManifestsConfigMapRef{{Name: one.Name}}
	}
	for _, ref := range refs {
		u := at.Store(kube.ConfigMaps).Get(ref.Name)
		if u == nil {
			continue
		}
		folder := kube.FolderOf(u)
		data, _, _ := unstructured.NestedStringMap(u.Object, "data")
		for name, content := range data {
			out[folder+"/"+name] = model.Digest([]byte(content))
		}
	}
	return out
}

// holdOwner names who, besides oaictl, holds the start of an install: by
// AgentClusterInstall.spec.holdInstallation or by pausing the ClusterDeployment.
func holdOwner(deployment, made *unstructured.Unstructured, held bool) string {
	if deployment.GetAnnotations()[hubapi.AnnotationReconcilePause] == "true" {
		who := kube.OtherOwner(deployment, "metadata", "annotations", hubapi.AnnotationReconcilePause)
		return cmp.Or(who, "another user") + ", who paused the ClusterDeployment (annotation " + hubapi.AnnotationReconcilePause + ")"
	}
	if !held {
		return ""
	}
	return kube.OtherOwner(made, "spec", "holdInstallation")
}

func unholdAdvice(deployment, made *unstructured.Unstructured) model.Advice {
	if deployment.GetAnnotations()[hubapi.AnnotationReconcilePause] == "true" {
		return model.Advicef("have them take the annotation %s off ClusterDeployment %s, or: kubectl annotate clusterdeployment -n %s %s %[1]s-",
			hubapi.AnnotationReconcilePause, kube.ID(deployment.GetNamespace(), deployment.GetName()), deployment.GetNamespace(),
			deployment.GetName())
	}
	return model.Advicef("have them set spec.holdInstallation of AgentClusterInstall %s to false, or: kubectl patch agentclusterinstall -n "+
		"%s %s --type merge -p '{\"spec\":{\"holdInstallation\":false}}'",
		kube.ID(made.GetNamespace(), made.GetName()), made.GetNamespace(), made.GetName())
}

// stalledSince is the time since when the service reports Agents as not synced although all Agents of the cluster are;
// zero where it does not. Unused machines of a pool do not matter for that, and an Agent may be in the namespace of its
// pool.
func (p *Plane) stalledSince(ctx context.Context, aci *hive.AgentClusterInstall, cluster string, hosts []model.Host) time.Time {
	c := find(aci.Status.Conditions, hubapi.ConditionRequirementsMet)
	if kube.DebugOf(aci).State != "ready" || !c.isFalse() || c.Reason != hubapi.ReasonUnsyncedAgents {
		return time.Time{}
	}
	since, bound := c.since(), false
	for i := range hosts {
		if hosts[i].ClusterID != cluster {
			continue
		}
		bound = true
		namespace, _ := kube.SplitID(hosts[i].InfraEnvID, "")
		agent, err := p.agentOf(ctx, namespace, hosts[i].ID)
		if err != nil {
			return time.Time{}
		}
		synced := find(agent.Status.Conditions, hubapi.ConditionSpecSynced)
		if !synced.isTrue() {
			return time.Time{}
		}
		if synced.since().After(since) {
			since = synced.since()
		}
	}
	if !bound {
		return time.Time{}
	}
	return since
}

// hiveRuns reports whether Hive's operator handles a ClusterDeployment: it sets conditions and a finalizer soon after
// it is made.
func hiveRuns(deployment *unstructured.Unstructured, cd *hive.ClusterDeployment) bool {
	for _, finalizer := range deployment.GetFinalizers() {
		if strings.HasPrefix(finalizer, hubapi.GroupHive+"/") {
			return true
		}
	}
	return len(cd.Status.Conditions) > 0
}

// endpointCA is the certificate that an Ignition endpoint is trusted by. It is
// read once: the Secret is ours.
func (p *Plane) endpointCA(ctx context.Context, namespace string, aci *hive.AgentClusterInstall, memory *clusterMemory) (string, error) {
	if aci.Spec.IgnitionEndpoint == nil || aci.Spec.IgnitionEndpoint.CACertificateReference == nil {
		return "", nil
	}
	ref := aci.Spec.IgnitionEndpoint.CACertificateReference
	key := kube.ID(cmp.Or(ref.Namespace, namespace), ref.Name)
	memory.mu.Lock()
	text, known := memory.ca[key]
	memory.mu.Unlock()
	if known {
		return text, nil
	}
	data, err := p.secret(ctx, cmp.Or(ref.Namespace, namespace), ref.Name, hubapi.KeyIgnitionCA)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return "", p.api.Fault(kube.Attempt{Op: "read Secret", Verb: "get", Kind: kube.Secrets, Namespace: namespace, Name: ref.Name}, err)
	}
	memory.mu.Lock()
	defer memory.mu.Unlock()
	memory.ca[key] = string(data)
	return string(data), nil
}

func (p *Plane) secret(ctx context.Context, namespace, name, key string) ([]byte, error) {
	u, err := p.api.Object(ctx, kube.Secrets, namespace, name)
	if err != nil {
		return nil, err
	}
	return kube.SecretValue(u, key)
}

// singleNodeStages are the stages of the only node of a cluster, its own bootstrap.
func singleNodeStages() []string {
	return []string{
		"Starting installation", "Installing", "Waiting for bootkube", "Writing image to disk", "Copying registry data to disk",
		"Rebooting", "Joined", "Done",
	}
}

// setSingleNodeStages gives the only node of a cluster its stages. The service lists
// stages by role and may name those of a bootstrap among several nodes, which are
// others and in another order.
func setSingleNodeStages(made *hive.AgentClusterInstall, hosts []model.Host) {
	if need := made.Spec.ProvisionRequirements; need.ControlPlaneAgents != 1 || need.WorkerAgents != 0 {
		return
	}
	for i := range hosts {
		if progress := &hosts[i].Progress; hosts[i].Bootstrap && slices.Contains(singleNodeStages(), progress.Stage) {
			progress.Stages = singleNodeStages()
		}
	}
}

// clusterSettings are what an AgentClusterInstall and what it refers to hold. Fields that a webhook or a controller
// fills in are among them, too: only what the file says is compared.
func (p *Plane) clusterSettings(ctx context.Context, live *unstructured.Unstructured, wire *hive.AgentClusterInstall, image imageSetRecord,
	memory *clusterMemory) (model.Settings, error) {
	s := hubobjects.InstallTable().Settings(live.Object)
	text(s, model.SettingVersion, image.version)
	text(s, model.SettingReleaseImage, image.release)
	ca, err := p.endpointCA(ctx, live.GetNamespace(), wire, memory)
	if err != nil || ca == "" {
		return s, err
	}
	var endpoint spec.IgnitionEndpoint
	if s[model.SettingIgnitionEndpoint].Decode(&endpoint) == nil {
		endpoint.CA = &spec.PublicSource{Inline: ca}
		s[model.SettingIgnitionEndpoint] = model.ValueOf(endpoint)
	}
	return s, nil
}

func classified(at *kube.Namespace, cluster string) (model.Value, error) {
	out := []spec.Classification{}
	for _, u := range at.Store(kube.AgentClassifications).All() {
		if kube.Label(u, hubapi.LabelCluster) != cluster || u.GetDeletionTimestamp() != nil {
			continue
		}
		wire, err := kube.Read[agentinstall.AgentClassification](u)
		if err != nil {
			return "", err
		}
		out = append(out, spec.Classification{Label: wire.Spec.LabelKey, Value: wire.Spec.LabelValue, Query: wire.Spec.Query})
	}
	return model.ValueOf(clustersettings.SortedClassifications(out)), nil
}
