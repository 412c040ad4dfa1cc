package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// approve approves a request that is still the one that was judged. The API server refuses the write if the request was
// changed since; the request is read again then. An approval by another approver is a success.
func (c *connection) approve(ctx context.Context, a model.Action) error {
	for _, s := range []*requestStore{c.client, c.serving} {
		known := s.Get(a.Name)
		if known.UID != a.Target || !known.Pending() {
			continue
		}
		approved, err := c.sendApproval(ctx, a, known.version)
		if err == nil {
			s.Write(approved)
		}
		if !apierrors.IsConflict(err) {
			return c.fault("approve the certificate request", a.Name, err)
		}
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := c.Certificates.CertificateSigningRequests().Get(ctx, a.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case string(live.UID) != a.Target:
			return errOther
		}
		switch is := readRequest(live); {
		case is.Approved:
			return nil
		case is.Denied:
			return fmt.Errorf("%w: %s: %s", errDenied, is.Reason, is.Message)
		}
		_, err = c.sendApproval(ctx, a, live.ResourceVersion)
		return err
	})
	return c.fault("approve the certificate request", a.Name, err)
}

var (
	errOther  = errors.New("another object has its name now")
	errDenied = errors.New("it was denied")
)

// sendApproval writes the condition to one version of one object.
func (c *connection) sendApproval(ctx context.Context, a model.Action, version string) (*certificates.CertificateSigningRequest, error) {
	at, _ := c.time.Now()
	now := metav1.NewTime(at)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": a.Target, "resourceVersion": version},
		"status": map[string]any{"conditions": []certificates.CertificateSigningRequestCondition{{
			Type: certificates.CertificateApproved, Status: corev1.ConditionTrue, Reason: csr.ApprovedReason,
			Message: "oaictl: " + a.Reason, LastUpdateTime: now, LastTransitionTime: now,
		}}},
	})
	if err != nil {
		return nil, err
	}
	return c.Certificates.CertificateSigningRequests().Patch(ctx, a.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "oaictl"}, "approval")
}

// updateNode gives a node labels, taints and its provider id. What else it has stays.
func (c *connection) updateNode(ctx context.Context, a model.Action) error {
	var (
		labels   map[string]string
		taints   []spec.Taint
		provider string
	)
	for name, into := range map[model.Setting]any{model.SettingLabels: &labels, model.SettingTaints: &taints,
		model.SettingProviderID: &provider} {
		if value, said := a.Settings[name]; said {
			if err := value.Decode(into); err != nil {
				return fmt.Errorf("update node %s: %w", a.Name, err)
			}
		}
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := c.Core.Nodes().Get(ctx, a.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case string(live.UID) != a.Target:
			return errOther
		}
		metadata, spec := map[string]any{"uid": a.Target, "resourceVersion": live.ResourceVersion}, map[string]any{}
		if len(labels) > 0 { // null would take all that there are, roles among them
			metadata["labels"] = labels
		}
		if len(taints) > 0 {
			spec["taints"] = withTaints(live.Spec.Taints, taints)
		}
		if provider != "" {
			spec["providerID"] = provider
		}
		patch := map[string]any{"metadata": metadata}
		if len(spec) > 0 {
			patch["spec"] = spec
		}
		data, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		_, err = c.Core.Nodes().Patch(ctx, a.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: "oaictl"})
		return err
	})
	return c.fault("update the node", a.Name, err)
}

// withTaints are a node's taints with further ones: one of the same key and effect takes the
// place of the one that is there.
func withTaints(have []corev1.Taint, add []spec.Taint) []corev1.Taint {
	out := slices.DeleteFunc(slices.Clone(have), func(t corev1.Taint) bool {
		return slices.ContainsFunc(add, func(n spec.Taint) bool { return n.Key == t.Key && string(n.Effect) == string(t.Effect) })
	})
	for _, t := range add {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

// isDenied reports whether the credentials are why something could not be done, and completes its fault then.
func (c *connection) isDenied(f *model.Fault) bool {
	if !apierrors.IsForbidden(f.Err) && !apierrors.IsUnauthorized(f.Err) {
		return false
	}
	f.Code, f.Permanent = model.CodeAuth, true
	f.Next = model.Advicef("give a kubeconfig of the cluster's administrator instead of %s, --cluster-kubeconfig FILE",
		listtext.Quoted(c.from))
	return true
}

// fault says what could not be done to what, and what to do about it; nil for nil.
func (c *connection) fault(op, on string, err error) error {
	if err == nil {
		return nil
	}
	f := &model.Fault{Code: model.CodeFailure, Op: op, On: on, Err: err}
	switch {
	case c.isDenied(f):
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), errors.Is(err, errDenied):
		f.Permanent = true
		f.Next = model.Advicef("kubectl get csr %s -o yaml", listtext.Quoted(on))
		if op != "approve the certificate request" {
			f.Next = "correct the settings of the host in the file and run the same command again"
		}
	}
	return f
}
