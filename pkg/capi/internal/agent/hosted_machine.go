package agent

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// kindHosted is the control plane of a cluster of HyperShift: it runs on the hub, and hosts are its
// workers. There is nothing to install but them, so that no plan is made for it.
const (
	kindHosted  = "HostedControlPlane"
	groupHosted = "hypershift.openshift.io"
)

// isHosted reports whether a Cluster's control plane is hosted.
func isHosted(cluster *clusterv1.Cluster) bool {
	ref := cluster.Spec.ControlPlaneRef
	return ref.Kind == kindHosted && ref.APIGroup == groupHosted
}

// Reasons of AgentSpecSynced of a machine of a hosted cluster.
const (
	reasonNoDeployment     = "WaitingForClusterDeployment"
	reasonBadBootstrapData = "BootstrapDataUnusable"
	reasonNotOverREST      = "HubRequired"
	reasonLeft             = "AgentLeftCluster"
)

// secretValue is the key of a Secret with bootstrap data.
const secretValue = "value"

// installHosted binds the host to the ClusterDeployment of a hosted cluster, and sets the address at which it fetches
// its Ignition. The service installs it then.
func (s *scope) installHosted(ctx context.Context) (ctrl.Result, error) {
	hub, onHub := s.Pool.(*HubPool)
	if !onHub {
		s.show()
		s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonNotOverREST,
			"machines of a hosted control plane are bound through a hub")
		return ctrl.Result{}, nil
	}
	if s.infra == nil || s.infra.Status.ClusterDeploymentRef.Name == "" {
		s.show()
		s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonNoDeployment,
			"waiting for the ClusterDeployment of AgentCluster "+s.cluster.Spec.InfrastructureRef.Name)
		return ctrl.Result{}, nil
	}
	if s.isLeft(s.host) {
		s.show()
		s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonLeft, s.howItGoesOn())
		return ctrl.Result{}, nil
	}
	if s.changeable() {
		data, err := s.bootstrap(ctx)
		if wrong := (*unusable)(nil); errors.As(err, &wrong) {
			s.show()
			s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonBadBootstrapData, wrong.Error())
			return ctrl.Result{}, nil
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		if err := s.attach(ctx, hub, data); err != nil {
			return ctrl.Result{}, err
		}
	}
	s.show()
	if !s.host.Installed {
		return ctrl.Result{}, nil
	}
	return s.nameNode(ctx)
}

// isLeft reports whether a person has taken the host out of its cluster after the machine was handed over: it is not
// installed once more for the same Machine unless a user asks for it.
func (s *scope) isLeft(host *pool.Host) bool { return host.Cluster == "" && s.isProvisioned() }

// howItGoesOn says what a person can do with a host that was taken out of its cluster.
func (s *scope) howItGoesOn() string {
	deployment := s.infra.Status.ClusterDeploymentRef
	return fmt.Sprintf("Agent %s was removed from its cluster after the machine was installed, and it is not installed again "+
		"automatically: delete Machine %s to give the host back to its pool, "+
		"or write clusterDeploymentName with the name %s and the namespace %s into spec of the Agent to have it installed again",
		s.host.Name, s.machine.Name, deployment.Name, deployment.Namespace)
}

// changeable reports whether the service takes changes of the host: it is not being installed.
func (s *scope) changeable() bool {
	switch s.host.State {
	case model.HostUnbound, model.HostBinding, model.HostDiscovering, model.HostReady, model.HostBlocked, model.HostDisconnected:
		return true
	}
	return false
}

// unusable says what is wrong with bootstrap data.
type unusable struct{ error }

func (s *scope) bootstrap(ctx context.Context) (bootstrapData, error) {
	name := *s.machine.Spec.Bootstrap.DataSecretName
	secret := &corev1.Secret{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: s.object.Namespace, Name: name}, secret); err != nil {
		return bootstrapData{}, fmt.Errorf("read the bootstrap data of Machine %s: %w", s.machine.Name, err)
	}
	data, err := readBootstrap(secret.Data[secretValue])
	if err != nil {
		return data, &unusable{fmt.Errorf("the Secret %s: %w", name, err)}
	}
	return data, nil
}

// Fields of an Agent's spec that say where a machine of a hosted cluster belongs, and how it is let in there.
const (
	fieldDeployment = "clusterDeploymentName"
	fieldPool       = "machineConfigPool"
	fieldToken      = "ignitionEndpointTokenReference"
	fieldHeaders    = "ignitionEndpointHTTPHeaders"
)

func hostedFields() []string { return []string{fieldDeployment, fieldPool, fieldToken, fieldHeaders} }

// attach writes into the Agent what it shall become: nothing but where it belongs, and how it is let in
// there.
func (s *scope) attach(ctx context.Context, hub *HubPool, data bootstrapData) error {
	token := ""
	if data.token != "" {
		var err error
		if token, err = s.tokenSecret(ctx, data.token); err != nil {
			return err
		}
	}
	deployment := s.infra.Status.ClusterDeploymentRef
	want := map[string]any{fieldDeployment: map[string]any{"name": deployment.Name, "namespace": deployment.Namespace}}
	if data.pool != "" {
		want[fieldPool] = data.pool
	}
	if token != "" {
		want[fieldToken] = map[string]any{"name": token, "namespace": s.object.Namespace}
	}
	if len(data.headers) > 0 {
		headers := map[string]any{}
		for name, value := range data.headers {
			headers[name] = value
		}
		want[fieldHeaders] = headers
	}
	var now pool.Host
	found, err := hub.change(ctx, s.host.NamespacedName, func(u *unstructured.Unstructured, h *pool.Host) error {
		if !h.IsOwnedBy(s.me()) || h.Cluster != "" && h.Cluster != idOf(deployment) || s.isLeft(h) {
			return errTaken
		}
		spec, _, _ := unstructured.NestedMap(u.Object, "spec")
		if spec == nil {
			spec = map[string]any{}
		}
		for _, field := range hostedFields() {
			value, wanted := want[field]
			switch {
			case !wanted:
				delete(spec, field) // which the bootstrap data may have said before
			case !equality.Semantic.DeepEqual(spec[field], value):
				spec[field] = value
			}
		}
		if err := unstructured.SetNestedMap(u.Object, spec, "spec"); err != nil {
			return err
		}
		var err error
		now, err = hub.hostOf(u)
		return err
	})
	if err != nil {
		return err
	}
	if found {
		s.host = &now
	}
	return nil
}

// tokenSecret keeps a token where the service finds it, and backups do. It is the Secret's name. Machines of one
// NodePool have one bootstrap data, and one Secret: it stays while their cluster does, since the service reads it as
// long as a host is bound.
func (s *scope) tokenSecret(ctx context.Context, token string) (string, error) {
	name := "agent-" + *s.machine.Spec.Bootstrap.DataSecretName
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.object.Namespace, Name: name,
			Labels: map[string]string{hubapi.LabelWatch: "true", hubapi.LabelBackup: "true", clusterv1.ClusterNameLabel: s.key.Name},
			// The AgentCluster is Cluster API's as the Secret is: they are moved together.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: agentv1.GroupVersion().String(), Kind: agentv1.ClusterKind, Name: s.infra.Name, UID: s.infra.UID,
			}},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{hubapi.KeyIgnitionToken: []byte(token)},
	}
	have := &corev1.Secret{}
	err := s.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		err = s.Client.Create(ctx, want)
	case err == nil:
		changed := have.DeepCopy()
		disown(changed)
		changed.OwnerReferences, changed.Data = append(changed.OwnerReferences, want.OwnerReferences...), want.Data
		if !equality.Semantic.DeepEqual(changed, have) {
			err = s.Client.Patch(ctx, changed, client.MergeFrom(have))
		}
	}
	if err != nil {
		return "", fmt.Errorf("write the Secret %s with the Ignition token: %w", name, err)
	}
	return name, nil
}

// isHostedHost reports whether the host is given back here, and not by the library.
func (s *scope) isHostedHost() bool {
	_, onHub := s.Pool.(*HubPool)
	return onHub && s.cluster != nil && isHosted(s.cluster)
}

// returnHosted takes a host out of its hosted cluster, with what only that needed.
func (s *scope) returnHosted(ctx context.Context) error {
	hub, _ := s.Pool.(*HubPool)
	_, err := hub.change(ctx, s.host.NamespacedName, func(u *unstructured.Unstructured, _ *pool.Host) error {
		for _, field := range hostedFields() {
			unstructured.RemoveNestedField(u.Object, "spec", field)
		}
		return nil
	})
	return err
}
