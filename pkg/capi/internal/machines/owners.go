package machines

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owners are the Machine that an object belongs to, and its Cluster; nil where they are not there.
type Owners struct {
	Machine *clusterv1.Machine
	Cluster *clusterv1.Cluster
	// Key is the Cluster's, whether it is there or not. Its name is "" where it is not known.
	Key types.NamespacedName
}

// OwnersOf reads the Machine that owns an object, and the Cluster of that Machine, or without a Machine that of the object's
// label. The kind is named in errors.
func OwnersOf(ctx context.Context, c client.Client, kind string, object metav1.ObjectMeta) (Owners, error) {
	owners := Owners{Key: types.NamespacedName{Namespace: object.Namespace, Name: object.Labels[clusterv1.ClusterNameLabel]}}
	machine, err := util.GetOwnerMachine(ctx, c, object)
	if client.IgnoreNotFound(err) != nil {
		return owners, fmt.Errorf("read the Machine of %s %s: %w", kind, object.Name, err)
	}
	if err == nil && machine != nil {
		owners.Machine, owners.Key.Name = machine, machine.Spec.ClusterName
	}
	if owners.Key.Name == "" {
		return owners, nil
	}
	owners.Cluster, err = ReadCluster(ctx, c, owners.Key)
	return owners, err
}

// ReadCluster reads a Cluster, nil where it is not there.
func ReadCluster(ctx context.Context, c client.Reader, key types.NamespacedName) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	err := c.Get(ctx, key, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	return cluster, nil
}

// ClusterOwning is the Cluster that owns an object, nil where there is none. The kind is named in errors.
func ClusterOwning(ctx context.Context, c client.Client, kind string, object metav1.ObjectMeta) (*clusterv1.Cluster, error) {
	cluster, err := util.GetOwnerCluster(ctx, c, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Cluster of %s %s: %w", kind, object.Name, err)
	}
	return cluster, nil
}
