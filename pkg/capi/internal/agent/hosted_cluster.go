package agent

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/ignitionurl"
)

// labelAgentCluster is on the ClusterDeployment of a hosted cluster: the name of its AgentCluster, which
// is in the same namespace.
const labelAgentCluster = "agentClusterRef"

// hostedComes is how often a hosted control plane is read that does not say enough yet. Most hubs have none, so that
// they are not watched.
const hostedComes = 10 * time.Second

// objectsGo is how often a reconcile checks whether the objects of a hosted cluster are gone.
const objectsGo = 5 * time.Second

// Reasons of ClusterDeploymentReady. The first is that of a hosted cluster alone.
const (
	reasonHostedIncomplete = "HostedControlPlaneNotReady"
	reasonForeign          = "ClusterDeploymentForeign"
)

// reasonObjectsGo is that of Deleting of a hosted cluster's AgentCluster.
const reasonObjectsGo = "WaitingForClusterDeployment"

// hosted is what a hosted control plane says of itself.
type hosted struct {
	domain, pullSecret, kubeconfig, password string
}

// hostedDeployment makes the ClusterDeployment and the AgentClusterInstall of a hosted cluster: installed already, for
// hosts to be added. They are not owned by the AgentCluster: they would be deleted with it when it is moved, and its
// hosts with them.
func (s *clusterScope) hostedDeployment(ctx context.Context) error {
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindClusterDeployment))
	key := client.ObjectKey{Namespace: s.object.Namespace, Name: s.deploymentName()}
	err := s.Live.Get(ctx, key, have)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.patch(ctx, func(c *agentv1.AgentCluster) { controllerutil.AddFinalizer(c, agentv1.AgentClusterFinalizer) }); err != nil {
			return err
		}
		of, err := s.hosted(ctx)
		if err != nil || of == nil {
			return err
		}
		if err := s.Client.Create(ctx, s.newDeployment(of)); err != nil {
			return fmt.Errorf("make the ClusterDeployment %s: %w", key.Name, err)
		}
	case err != nil:
		return fmt.Errorf("read the ClusterDeployment %s: %w", key.Name, err)
	case have.GetLabels()[labelAgentCluster] != s.object.Name:
		s.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionFalse, reasonForeign,
			"ClusterDeployment "+key.Name+" exists, but it does not belong to this AgentCluster")
		return nil
	default:
		if err := s.keepDeployment(ctx, have); err != nil {
			return err
		}
	}
	if err := s.hostedInstall(ctx, key); err != nil {
		return err
	}
	s.object.Status.ClusterDeploymentRef = agentv1.ClusterDeploymentReference{Namespace: key.Namespace, Name: key.Name}
	s.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionTrue, agentv1.ClusterDeploymentReadyCondition, "")
	return nil
}

// deploymentName is the name of the ClusterDeployment: the known one, else the Cluster's.
func (s *clusterScope) deploymentName() string {
	if ref := s.object.Status.ClusterDeploymentRef; ref.Name != "" && ref.Namespace == s.object.Namespace {
		return ref.Name
	}
	return s.cluster.Name
}

// hosted reads the HostedControlPlane, in whichever version it is served; nil where it does not say
// enough yet.
func (s *clusterScope) hosted(ctx context.Context) (*hosted, error) {
	ref := s.cluster.Spec.ControlPlaneRef
	waits := func(message string) (*hosted, error) {
		s.waits = true
		s.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionFalse, reasonHostedIncomplete, message)
		return nil, nil
	}
	mapping, err := s.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: groupHosted, Kind: kindHosted})
	if meta.IsNoMatchError(err) {
		return waits("the hub does not serve HostedControlPlanes")
	}
	if err != nil {
		return nil, fmt.Errorf("find out how HostedControlPlanes are served: %w", err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(mapping.GroupVersionKind)
	err = s.Live.Get(ctx, client.ObjectKey{Namespace: s.object.Namespace, Name: ref.Name}, u)
	if apierrors.IsNotFound(err) {
		return waits("waiting for HostedControlPlane " + ref.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read HostedControlPlane %s: %w", ref.Name, err)
	}
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(u.Object, path...)
		return text
	}
	of := &hosted{
		domain: field("spec", "dns", "baseDomain"), pullSecret: field("spec", "pullSecret", "name"),
		kubeconfig: field("status", "kubeConfig", "name"), password: field("status", "kubeadminPassword", "name"),
	}
	if of.domain == "" || of.pullSecret == "" || of.kubeconfig == "" {
		return waits("waiting for HostedControlPlane " + ref.Name +
			" to have its domain (spec.dns.baseDomain), pull secret (spec.pullSecret) and kubeconfig (status.kubeConfig)")
	}
	return of, nil
}

func (s *clusterScope) labels() map[string]string {
	return map[string]string{labelAgentCluster: s.object.Name, clusterv1.ClusterNameLabel: s.cluster.Name, hubapi.LabelBackup: "true"}
}

func (s *clusterScope) newDeployment(of *hosted) *unstructured.Unstructured {
	metadata := map[string]any{
		"clusterID": string(s.cluster.UID), "infraID": string(s.cluster.UID), "adminKubeconfigSecretRef": map[string]any{"name": of.kubeconfig},
	}
	if of.password != "" {
		metadata["adminPasswordSecretRef"] = map[string]any{"name": of.password}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		// HyperShift calls the Cluster by an id. The domain names have the name of the control plane.
		"clusterName": s.cluster.Spec.ControlPlaneRef.Name, "baseDomain": of.domain, "installed": true, "preserveOnDelete": true,
		"platform":        map[string]any{"agentBareMetal": map[string]any{"agentSelector": map[string]any{}}},
		"pullSecretRef":   map[string]any{"name": of.pullSecret},
		"clusterMetadata": metadata,
		"clusterInstallRef": map[string]any{
			"group": hubapi.GroupHiveExtension, "version": hubapi.VersionHiveExtension, "kind": hubapi.KindAgentClusterInstall,
			"name": s.deploymentName(),
		},
	}}}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindClusterDeployment))
	u.SetNamespace(s.object.Namespace)
	u.SetName(s.deploymentName())
	u.SetLabels(s.labels())
	return u
}

// keepDeployment takes back what would have running nodes lost with the object: owners that are moved,
// and that its hosts go back to their pool when it is deleted.
func (s *clusterScope) keepDeployment(ctx context.Context, have *unstructured.Unstructured) error {
	changed := have.DeepCopy()
	labels := changed.GetLabels()
	for key, value := range s.labels() {
		labels[key] = value
	}
	changed.SetLabels(labels)
	disown(changed)
	if err := unstructured.SetNestedField(changed.Object, true, "spec", "preserveOnDelete"); err != nil {
		return err
	}
	return s.write(ctx, have, changed)
}

// preserve keeps nodes running when their ClusterDeployment is deleted.
func (s *clusterScope) preserve(ctx context.Context, have *unstructured.Unstructured) error {
	changed := have.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, true, "spec", "preserveOnDelete"); err != nil {
		return err
	}
	return s.write(ctx, have, changed)
}

// disown takes references to objects of Cluster API off an object.
func disown(object metav1.Object) {
	var kept []metav1.OwnerReference
	for _, owner := range object.GetOwnerReferences() {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		if group != agentv1.Group && !strings.HasSuffix(group, clusterv1.GroupVersion.Group) {
			kept = append(kept, owner)
		}
	}
	object.SetOwnerReferences(kept)
}

func (s *clusterScope) write(ctx context.Context, have, changed *unstructured.Unstructured) error {
	if equality.Semantic.DeepEqual(have.Object, changed.Object) {
		return nil
	}
	if err := s.Client.Patch(ctx, changed, client.MergeFrom(have)); err != nil {
		return fmt.Errorf("write the %s %s: %w", have.GetKind(), have.GetName(), err)
	}
	return nil
}

// hostedInstall makes the AgentClusterInstall, and keeps the address in it from which machines fetch
// their Ignition.
func (s *clusterScope) hostedInstall(ctx context.Context, key client.ObjectKey) error {
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgentClusterInstall))
	server, err := ignitionEndpoint(s.object.Spec.IgnitionEndpoint)
	if err != nil {
		return fmt.Errorf("AgentCluster %s: spec.ignitionEndpoint.url %w", s.object.Name, err)
	}
	err = s.Live.Get(ctx, key, have)
	if err == nil {
		changed := have.DeepCopy()
		disown(changed)
		if server != nil {
			if err := unstructured.SetNestedMap(changed.Object, server, "spec", "ignitionEndpoint"); err != nil {
				return err
			}
		}
		return s.write(ctx, have, changed)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the AgentClusterInstall %s: %w", key.Name, err)
	}
	fields := map[string]any{
		"clusterDeploymentRef":  map[string]any{"name": key.Name},
		"networking":            map[string]any{"userManagedNetworking": true},
		"provisionRequirements": map[string]any{"controlPlaneAgents": int64(3)},
	}
	if server != nil {
		fields["ignitionEndpoint"] = server
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgentClusterInstall))
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetLabels(s.labels())
	if err := s.Client.Create(ctx, u); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the AgentClusterInstall %s: %w", key.Name, err)
	}
	return nil
}

// ignitionEndpoint is where machines fetch their Ignition, as the service wants it: without the path, to
// which it adds the pool of each machine itself.
func ignitionEndpoint(from *agentv1.IgnitionEndpoint) (map[string]any, error) {
	if from == nil || from.URL == "" {
		return nil, nil
	}
	parsed, err := ignitionurl.Parse(from.URL)
	if err != nil {
		return nil, err
	}
	server := url.URL{Scheme: parsed.Scheme, User: parsed.User, Host: parsed.Host}
	out := map[string]any{"url": server.String()}
	if ca := from.CACertificateReference; ca != nil {
		out["caCertificateReference"] = map[string]any{"namespace": ca.Namespace, "name": ca.Name}
	}
	return out, nil
}

// deleteHosted deletes what was made for a hosted cluster, and says what of it is still there. Its nodes go on running: the
// ClusterDeployment says so.
func (s *clusterScope) deleteHosted(ctx context.Context) (left []string, err error) {
	name := s.object.Status.ClusterDeploymentRef.Name
	if name == "" && s.cluster != nil {
		name = s.cluster.Name
	}
	if name == "" || s.cluster != nil && !isHosted(s.cluster) {
		return nil, nil
	}
	for _, kind := range []string{hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(hubapi.GroupVersionKind(kind))
		err := s.Live.Get(ctx, client.ObjectKey{Namespace: s.object.Namespace, Name: name}, u)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the %s %s: %w", kind, name, err)
		}
		if u.GetLabels()[labelAgentCluster] != s.object.Name {
			continue // another AgentCluster's
		}
		left = append(left, fmt.Sprintf("%s %s (finalizers: %s)", kind, name, cmp.Or(strings.Join(u.GetFinalizers(), ", "), "none")))
		if u.GetDeletionTimestamp() == nil {
			if kind == hubapi.KindClusterDeployment {
				if err := s.preserve(ctx, u); err != nil {
					return nil, err
				}
			}
			if err := s.Client.Delete(ctx, u); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("delete the %s %s: %w", kind, name, err)
			}
		}
	}
	return left, nil
}
