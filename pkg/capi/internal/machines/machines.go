// Package machines answers what Cluster API's objects say of a Machine: which Cluster it is of, how
// it gets to boot the discovery image, and whether its objects are being moved.
package machines

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// Way is how a Machine gets to boot its discovery image.
type Way string

// The ways of a Machine.
const (
	// UserData: a machine boots a disk image, and finds the discovery Ignition in its user data.
	UserData Way = "UserData"
	// LiveISO: a Metal3Machine boots the discovery image itself.
	LiveISO Way = "LiveISO"
	// Pool: an AgentMachine is a machine that has booted already.
	Pool Way = "Pool"
	// Unknown: the Metal3Machine that says which of the two it is is not there.
	Unknown Way = ""
)

// Kinds of infrastructure that are known by name.
const (
	KindAgentMachine  = "AgentMachine"
	KindMetal3Machine = "Metal3Machine"
)

// WayOf is how a Machine gets to boot. infrastructure is its infrastructure object, nil where it is
// not there yet.
func WayOf(machine *clusterv1.Machine, infrastructure *unstructured.Unstructured) Way {
	switch machine.Spec.InfrastructureRef.Kind {
	case KindAgentMachine:
		return Pool
	case KindMetal3Machine:
		if infrastructure == nil {
			return Unknown
		}
		if metal3.IsLiveISO(infrastructure) {
			return LiveISO
		}
	}
	return UserData
}

// Infrastructure is the infrastructure object of a Machine, nil where it is not there, or is of a kind that
// CheckInfrastructure refuses.
func Infrastructure(ctx context.Context, c client.Reader, machine *clusterv1.Machine) (*unstructured.Unstructured, error) {
	ref := machine.Spec.InfrastructureRef
	if ref.Name == "" || CheckInfrastructure(machine) != nil {
		return nil, nil //nolint:nilerr // its config reports it
	}
	object, err := external.GetObjectFromContractVersionedRef(ctx, c, ref, machine.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the %s %s of Machine %s: %w", ref.Kind, ref.Name, machine.Name, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // not found: there is none
	}
	return object, nil
}

// BareMetalHost is the one that a Metal3Machine has; nil for none, and for another infrastructure.
func BareMetalHost(ctx context.Context, c client.Reader, infrastructure *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if infrastructure == nil || infrastructure.GetKind() != KindMetal3Machine {
		return nil, nil
	}
	namespace, name, found := strings.Cut(infrastructure.GetAnnotations()[metal3.AnnotationBareMetalHost], "/")
	if !found || namespace != infrastructure.GetNamespace() { // nothing crosses namespaces
		return nil, nil
	}
	host := &unstructured.Unstructured{}
	host.SetAPIVersion("metal3.io/v1alpha1")
	host.SetKind("BareMetalHost")
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, host)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read BareMetalHost %s: %w", name, err)
	}
	return host, nil
}

// IsControlPlane reports whether a Machine becomes part of the control plane.
func IsControlPlane(machine *clusterv1.Machine) bool { return util.IsControlPlaneMachine(machine) }

// IsArbiter reports whether a Machine becomes an arbiter: a small third vote beside two control plane
// machines. The template of its MachineDeployment gives it the label.
func IsArbiter(machine *clusterv1.Machine) bool {
	return machine.Labels[bootstrapv1.RoleLabel] == bootstrapv1.RoleArbiter
}

// IsMoving reports whether an object is deleted because it was moved to another management cluster: the machine or the
// cluster behind it lives on, and nothing of it is cleaned up.
func IsMoving(object client.Object) bool {
	_, is := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]
	return is
}

// IsPaused reports whether nothing is to be done for an object, or for its Cluster, which may be nil.
func IsPaused(cluster *clusterv1.Cluster, object client.Object) bool {
	return cluster != nil && ptr.Deref(cluster.Spec.Paused, false) || annotations.HasPaused(object)
}

// Pause says on an object that is paused why it is, in the words of Cluster API. Its own helper brings a library along by
// which the linker keeps every method of every type.
func Pause(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, object interface {
	client.Object
	conditions.Setter
}) error {
	var reasons []string
	if cluster != nil && ptr.Deref(cluster.Spec.Paused, false) {
		reasons = append(reasons, "Cluster spec.paused is set to true")
	}
	if annotations.HasPaused(object) {
		kind, err := c.GroupVersionKindFor(object)
		if err != nil {
			return err
		}
		reasons = append(reasons, kind.Kind+" has the "+clusterv1.PausedAnnotation+" annotation")
	}
	before, _ := object.DeepCopyObject().(client.Object)
	conditions.Set(object, metav1.Condition{
		Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason, Message: strings.Join(reasons, ", "),
	})
	if equality.Semantic.DeepEqual(before, object) {
		return nil
	}
	return client.IgnoreNotFound(c.Status().Patch(ctx, object, client.MergeFrom(before)))
}

// IsWatched reports whether an object has the label by which it is one of a manager's. Events that wake a
// reconciler are not filtered by it.
func IsWatched(object client.Object, filter string) bool {
	return filter == "" || labels.HasWatchLabel(object, filter)
}
