package upgrade

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Write asks the cluster for what was decided, which is one thing at most. A ClusterVersion that has changed since it was read
// stays as it is. Then the error is a conflict of the API server, and the cluster is to be read again.
func (d *Decision) Write(ctx context.Context, c dynamic.Interface) error {
	r := d.request
	switch {
	case r == nil:
	case r.Update != nil:
		return patchVersion(ctx, c, r, map[string]any{"desiredUpdate": r.Update.fields()})
	case r.Channel != "":
		return patchVersion(ctx, c, r, map[string]any{"channel": r.Channel})
	case len(r.Acknowledge) > 0:
		return writeAcks(ctx, c, r.Acknowledge)
	}
	return nil
}

// fields are those of desiredUpdate. What the update before asked for beside them goes: it would be
// taken for a part of this one. Risks that were accepted by name stay.
func (u *updateRequest) fields() map[string]any {
	f := map[string]any{"version": u.Version, "image": nil, "force": nil, "architecture": nil, "mode": nil}
	if u.Image != "" {
		f["image"] = u.Image
	}
	if u.Force {
		f["force"] = true
	}
	return f
}

func patchVersion(ctx context.Context, c dynamic.Interface, r *writeRequest, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": r.resourceVersion}, "spec": spec})
	if err != nil {
		return fmt.Errorf("write the ClusterVersion: %w", err)
	}
	_, err = c.Resource(clusterVersions).Patch(ctx, clusterVersionName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("write the ClusterVersion: %w", err)
	}
	return nil
}

func writeAcks(ctx context.Context, c dynamic.Interface, gates []string) error {
	data := map[string]any{}
	for _, name := range gates {
		data[name] = isAcknowledged
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return fmt.Errorf("acknowledge gates: %w", err)
	}
	acks := c.Resource(configMaps).Namespace(ackNamespace)
	_, err = acks.Patch(ctx, ackName, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		made := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": ackNamespace, "name": ackName}, "data": data,
		}}
		_, err = acks.Create(ctx, made, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("acknowledge gates in ConfigMap %s/%s: %w", ackNamespace, ackName, err)
	}
	return nil
}
