package upgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/clock"
)

// ErrChanged is wrapped where somebody has changed a ClusterVersion since it was read: it is to be
// read anew, and decided on.
var ErrChanged = errors.New("the ClusterVersion has changed meanwhile")

// writer is who writes, as managedFields show it.
const writer = "oaictl-controller"

// Step reads how a workload cluster stands, decides, and writes what is to be asked for, which is at
// most one thing. The decision is that from before the write. An update is asked for once confirm has
// no error for its release image, which is "" where it is not known; nil confirms all.
func Step(ctx context.Context, c dynamic.Interface, clock clock.Clock, want *Want, confirm func(ctx context.Context, image string) error) (*State, Decision, error) {
	s, err := Read(ctx, c, clock.Now(), want)
	if err != nil {
		return nil, Decision{}, err
	}
	d := Decide(s, want)
	if d.Request == nil {
		return s, d, nil
	}
	if update := d.Request.Update; update != nil && confirm != nil {
		if err := confirm(ctx, cmp.Or(update.Image, s.imageOf(update.Version))); err != nil {
			return s, d, err
		}
	}
	return s, d, Write(ctx, c, d.Request)
}

// Write asks a workload cluster for one thing. A ClusterVersion that has changed since the request was
// decided on stays as it is, with ErrChanged.
func Write(ctx context.Context, c dynamic.Interface, r *Request) error {
	switch {
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
// taken for a part of this one. Risks that somebody has accepted by name stay.
func (u *UpdateRequest) fields() map[string]any {
	f := map[string]any{"version": u.Version, "image": nil, "force": nil, "architecture": nil, "mode": nil}
	if u.Image != "" {
		f["image"] = u.Image
	}
	if u.Force {
		f["force"] = true
	}
	return f
}

func patchVersion(ctx context.Context, c dynamic.Interface, r *Request, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": r.resourceVersion}, "spec": spec})
	if err != nil {
		return fmt.Errorf("write the ClusterVersion: %w", err)
	}
	_, err = c.Resource(clusterVersions).Patch(ctx, clusterVersionName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: writer})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
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
	_, err = acks.Patch(ctx, ackName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: writer})
	if apierrors.IsNotFound(err) {
		made := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": ackNamespace, "name": ackName}, "data": data,
		}}
		_, err = acks.Create(ctx, made, metav1.CreateOptions{FieldManager: writer})
	}
	if err != nil {
		return fmt.Errorf("acknowledge gates in ConfigMap %s/%s: %w", ackNamespace, ackName, err)
	}
	return nil
}
