package metal3

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const finalizerCluster = "metal3cluster.infrastructure.cluster.x-k8s.io"

// reconcileCluster is CAPM3's look at a Metal3Cluster: it is provisioned once it says where
// its control plane is to be reached, and goes after the last Machine.
func (o *operator) reconcileCluster(ctx context.Context, k key) (time.Duration, error) {
	u := o.get(k)
	if u == nil {
		return 0, nil
	}
	before := u.DeepCopy()
	domains, _, _ := unstructured.NestedSlice(u.Object, "spec", "failureDomains")
	if domains != nil {
		set(u, domains, "status", "failureDomains")
	}
	cluster := ownerOf(u, coreGroup, "Cluster")
	if cluster == "" {
		return 0, nil // core has not set its owner yet
	}
	owner := o.get(key{coreCluster, k.namespace, cluster})
	_, paused := u.GetAnnotations()[annotationPause]
	var after time.Duration
	switch {
	case paused || owner != nil && apiobject.Truth(owner, "spec", "paused"):
		setConditions(u, condition{"Paused", yes, "Paused", ""})
	case u.GetDeletionTimestamp() != nil:
		setConditions(u, condition{"Ready", no, "Deleting", ""})
		if o.hasMachines(k.namespace, cluster) {
			after = requeueAfter
			break
		}
		apiobject.DropFinalizer(u, finalizerCluster)
	default:
		setConditions(u, condition{"Paused", no, "NotPaused", ""})
		apiobject.AddFinalizer(u, finalizerCluster)
		provision(u)
	}
	return after, o.saveCluster(ctx, k, before, u)
}

func provision(u *object) {
	port, _, _ := unstructured.NestedInt64(u.Object, "spec", "controlPlaneEndpoint", "port")
	there := apiobject.Text(u, "spec", "controlPlaneEndpoint", "host") != "" && port != 0
	set(u, there, "status", "initialization", "provisioned")
	if there {
		setConditions(u, condition{"BaremetalInfrastructureReady", yes, "Ready", ""}, condition{"Ready", yes, "Ready", ""})
		return
	}
	const message = "Invalid Metal3Cluster provided: missing fields from Spec: controlPlaneEndpoint"
	setConditions(
		u, condition{"BaremetalInfrastructureReady", no, "InvalidConfiguration", message}, condition{"Ready", no, "NotReady", message},
	)
}

func (o *operator) hasMachines(namespace, cluster string) bool {
	return slices.ContainsFunc(o.list(coreMachine, namespace), func(m *object) bool { return m.GetLabels()[labelCluster] == cluster })
}

func (o *operator) saveCluster(ctx context.Context, k key, before, u *object) error {
	_, err := o.write(ctx, k, before, u, !reflect.DeepEqual(before.GetFinalizers(), u.GetFinalizers()))
	return err
}

// write updates an object, where it changed, and its status, where that changed, and returns the object as it is then.
// An object that loses its last finalizer while it is deleted is gone: it has no status to write.
func (o *operator) write(ctx context.Context, k key, before, u *object, changed bool) (*object, error) {
	status := u.Object["status"]
	if changed {
		now, err := o.client(k).Update(ctx, u, options())
		if err != nil {
			return u, err
		}
		if now.GetDeletionTimestamp() != nil && len(now.GetFinalizers()) == 0 {
			return u, nil
		}
		u = now
	}
	if reflect.DeepEqual(before.Object["status"], status) {
		return u, nil
	}
	u.Object["status"] = runtime.DeepCopyJSONValue(status)
	set(u, timestamp(), "status", "lastUpdated")
	return u, o.updateStatus(ctx, k, u)
}
