package kube

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of objects of a core cluster.
func nodes() kind    { return of("", "v1", "nodes") }
func pods() kind     { return of("", "v1", "pods") }
func events() kind   { return of("", "v1", "events") }
func jobs() kind     { return of("batch", "v1", "jobs") }
func requests() kind { return of("certificates.k8s.io", "v1", "certificatesigningrequests") }

// Nodes are all Nodes.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	return list[Node](ctx, c, nodes(), "", metav1.ListOptions{})
}

// LabelNode adds labels to a Node, or changes them.
func (c *Client) LabelNode(ctx context.Context, name string, labels map[string]string) error {
	return c.patch(ctx, nodes(), "", name, map[string]any{"metadata": map[string]any{"labels": labels}})
}

// InitializeNode removes the taint of a Node that waits for a cloud provider. The Node must not have changed since it was read.
func (c *Client) InitializeNode(ctx context.Context, node Node) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	for i, taint := range node.Spec.Taints {
		if taint["key"] != uninitialized {
			continue
		}
		path := "/spec/taints/" + strconv.Itoa(i)
		content, err := json.Marshal([]operation{{"test", path + "/key", uninitialized}, {"remove", path, nil}})
		if err == nil {
			_, err = c.objects.Resource(nodes()).Patch(ctx, node.Name, types.JSONPatchType, content, metav1.PatchOptions{FieldManager: Manager})
		}
		if err != nil {
			return fmt.Errorf("remove the taint %s of the node %q: %w", uninitialized, node.Name, err)
		}
		return nil
	}
	return nil
}

// RequestSize is how many bytes of a CertificateSigningRequest are read. A longer one is not of a kubelet.
const RequestSize = 32 << 10

// Requests are all CertificateSigningRequests, without labels and annotations. With [ErrTooMany] the first of them are returned.
func (c *Client) Requests(ctx context.Context) ([]Request, error) {
	return listTrimmed(ctx, c, requests(), "", metav1.ListOptions{}, func(r *Request) {
		r.Labels, r.Annotations = nil, nil
		if len(r.Spec.PEM) > RequestSize {
			r.Spec.PEM = slices.Clone(r.Spec.PEM[:RequestSize])
		}
	})
}

// Approve approves a CertificateSigningRequest. The request must not have changed since it was read.
func (c *Client) Approve(ctx context.Context, request Request, reason, message string, now time.Time) error {
	var conditions []any
	for _, known := range append(request.Status.Conditions, Condition{
		Type: "Approved", Status: "True", Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now),
	}) {
		condition, err := unstructuredOf(known)
		if err != nil {
			return fmt.Errorf("approve the certificate request %q: %w", request.Name, err)
		}
		conditions = append(conditions, condition)
	}
	usages := make([]any, 0, len(request.Spec.Usages))
	for _, usage := range request.Spec.Usages {
		usages = append(usages, usage)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
		"metadata": map[string]any{"name": request.Name, "uid": request.UID, "resourceVersion": request.ResourceVersion},
		"spec": map[string]any{
			"signerName": request.Spec.Signer, "request": base64.StdEncoding.EncodeToString(request.Spec.PEM), "usages": usages,
		},
		"status": map[string]any{"conditions": conditions},
	}}
	if _, err := c.objects.Resource(requests()).Update(ctx, object, metav1.UpdateOptions{FieldManager: Manager}, "approval"); err != nil {
		return fmt.Errorf("approve the certificate request %q: %w", request.Name, err)
	}
	return nil
}

// unstructuredOf is a value as it is in an unstructured object.
func unstructuredOf(value any) (map[string]any, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(content, &out)
}

// Pods are the Pods of a namespace that have all of these labels. A phase such as Running leaves out the others, "" none.
func (c *Client) Pods(ctx context.Context, space string, labels map[string]string, phase string) ([]Pod, error) {
	options := metav1.ListOptions{LabelSelector: selector(labels)}
	if phase != "" {
		options.FieldSelector = "status.phase=" + phase
	}
	return list[Pod](ctx, c, pods(), space, options)
}

// PodLog is the log of the only container of a Pod: of the last time, or with zero all of it, and at most limit bytes.
func (c *Client) PodLog(ctx context.Context, space, name string, last time.Duration, limit int64) ([]byte, error) {
	options := url.Values{"limitBytes": {strconv.FormatInt(limit, 10)}}
	if last > 0 {
		options.Set("sinceSeconds", strconv.FormatInt(int64(last/time.Second), 10))
	}
	content, err := c.stream(ctx, limit, options, "api", "v1", "namespaces", space, "pods", name, "log")
	if err != nil {
		return nil, fmt.Errorf("read the log of the pod %s/%s: %w", space, name, err)
	}
	return content, nil
}

// NodeFile is a file below /var/log of a Node, at most limit bytes of it. The kubelet serves it to users with the right
// nodes/proxy, such as an administrator.
func (c *Client) NodeFile(ctx context.Context, node, file string, limit int64) ([]byte, error) {
	content, err := c.stream(ctx, limit, nil, "api", "v1", "nodes", node, "proxy", "logs", file)
	if err != nil {
		return nil, fmt.Errorf("read /var/log/%s of the node %s: %w", file, node, err)
	}
	return content, nil
}

// Notice is an Event that is to be created.
type Notice struct {
	// Namespace must be that of the object it is about, or default for an object without one.
	Namespace string
	// Name is unique in the namespace.
	Name    string
	About   Reference
	Reason  string
	Message string
	Warning bool
	At      time.Time
}

// CreateEvent creates an Event.
func (c *Client) CreateEvent(ctx context.Context, n Notice) error {
	about := map[string]any{"name": n.About.Name}
	for field, value := range map[string]string{"kind": n.About.Kind, "apiVersion": n.About.APIVersion, "namespace": n.About.Namespace} {
		if value != "" {
			about[field] = value
		}
	}
	kind := "Normal"
	if n.Warning {
		kind = "Warning"
	}
	at := n.At.UTC().Format(time.RFC3339)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": n.Name, "namespace": n.Namespace},
		"involvedObject": about, "reason": n.Reason, "message": n.Message, "type": kind, "count": int64(1),
		"firstTimestamp": at, "lastTimestamp": at, "source": map[string]any{"component": Manager},
	}}
	_, err := c.objects.Resource(events()).Namespace(n.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: Manager})
	if err != nil {
		return fmt.Errorf("create the event %s/%s: %w", n.Namespace, n.Name, err)
	}
	return nil
}

// Events are the Events of a namespace.
func (c *Client) Events(ctx context.Context, space string) ([]Event, error) {
	return list[Event](ctx, c, events(), space, metav1.ListOptions{})
}

// ConfigMap is the data of a ConfigMap.
func (c *Client) ConfigMap(ctx context.Context, space, name string) (map[string]string, error) {
	object, err := get[struct {
		Data map[string]string `json:"data"`
	}](ctx, c, of("", "v1", "configmaps"), space, name)
	return object.Data, err
}

// Jobs are the Jobs of a namespace.
func (c *Client) Jobs(ctx context.Context, space string) ([]Job, error) {
	return list[Job](ctx, c, jobs(), space, metav1.ListOptions{})
}

// DeleteJob deletes a Job. It is no error if there is none.
func (c *Client) DeleteJob(ctx context.Context, space, name string) error {
	return c.remove(ctx, jobs(), space, name)
}
