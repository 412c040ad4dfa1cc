package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Writer writes the objects of one cluster.
type Writer struct {
	*Client
	Namespace *Namespace
	Cluster   string // as the label has it
	Adopts    string // the id of a cluster whose objects may be written without a label
	FromFile  bool
	// Unwatched are objects as the hub had them before the first write; each is taken once.
	Unwatched map[string]*unstructured.Unstructured
}

// ApplyAll brings objects to what they shall be, in their order.
func (w *Writer) ApplyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if _, err := w.ApplyObject(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// ApplyObject applies all that an object says, beside what was applied before. Only
// of manifests what it says is all that there shall be.
func (w *Writer) ApplyObject(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k, err := KindOf(want.GetKind())
	if err != nil {
		return nil, err
	}
	live, err := w.Get(ctx, k, want.GetNamespace(), want.GetName())
	if err != nil {
		return nil, err
	}
	written, err := w.wholeOver(ctx, k, live, want)
	var fault *model.Fault
	if live != nil || !errors.As(err, &fault) || fault.Permanent || fault.Status != http.StatusConflict {
		return written, err
	}
	// Another action, or another run, has made it just now.
	if now, reading := w.Get(ctx, k, want.GetNamespace(), want.GetName()); reading == nil && now != nil {
		return w.wholeOver(ctx, k, now, want)
	}
	return nil, err
}

// wholeOver applies all that an object says to live, nil where there is none.
func (w *Writer) wholeOver(ctx context.Context, k Kind, live, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fields := map[string]any{}
	if live != nil {
		if err := w.CheckOwner(k, live); err != nil {
			return nil, err
		}
		var err error
		if fields, err = AppliedFields(live); err != nil {
			return nil, err
		}
		if HoldsManifests(want) {
			delete(fields, "data")
		}
	}
	return w.Apply(ctx, k, live, Configuration(want, Merge(fields, want.Object)))
}

// ApplyFields applies fields of an object beside those from before; a field that want does
// not have is given up.
func (w *Writer) ApplyFields(ctx context.Context, live, want *unstructured.Unstructured,
	paths []hubobjects.Path) (*unstructured.Unstructured, error) {
	k, err := KindOf(live.GetKind())
	if err != nil {
		return nil, err
	}
	if err := w.CheckOwner(k, live); err != nil {
		return nil, err
	}
	fields, err := AppliedFields(live)
	if err != nil {
		return nil, err
	}
	if err := copyFields(fields, want.Object, paths); err != nil {
		return nil, err
	}
	return w.Apply(ctx, k, live, Configuration(live, fields))
}

// CheckOwner refuses to write an object of another owner.
func (w *Writer) CheckOwner(k Kind, live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() != nil {
		return DeletingFault(live)
	}
	owner := live.GetLabels()[hubapi.LabelCluster]
	if owner == w.Cluster || w.Adopts != "" && owner == "" && k.adoptable() {
		return nil
	}
	f := &model.Fault{
		Code: model.CodeNotFound, Op: "apply " + string(k), On: Attempt{Namespace: live.GetNamespace(), Name: live.GetName()}.on(),
		Permanent: true,
		Err: fmt.Errorf("there is one already that oaictl did not make for this cluster: it has no label %s: %s", hubapi.LabelCluster,
			w.Cluster),
		Next: "use another metadata.name or --namespace, or delete that object if it is not needed",
	}
	if owner != "" {
		f.Err = fmt.Errorf("there is one already that belongs to the cluster %s of oaictl", owner)
	}
	return f
}

// Get is an object as it is, nil where there is none. What is watched is known;
// the rest is asked for.
func (w *Writer) Get(ctx context.Context, k Kind, namespace, name string) (*unstructured.Unstructured, error) {
	if namespace == w.Namespace.Name {
		if s, watched := w.Namespace.Stores[k]; watched {
			if u := s.Get(name); u != nil || k.Selector() == "" {
				return u, nil
			}
		}
	}
	if u, known := w.Unwatched[string(k)+" "+ID(namespace, name)]; known {
		delete(w.Unwatched, string(k)+" "+ID(namespace, name))
		return u, nil
	}
	u, err := w.Object(ctx, k, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, w.Fault(Attempt{Op: "read " + string(k), Verb: "get", Kind: k, Namespace: namespace, Name: name}, err)
	}
	return u, nil
}

// Resource is the client of a kind in a namespace.
func (c *Client) Resource(k Kind, namespace string) dynamic.ResourceInterface {
	if k.ClusterWide() {
		return c.Dynamic.Resource(k.Resource())
	}
	return c.Dynamic.Resource(k.Resource()).Namespace(namespace)
}

// Object is an object as the hub has it this moment.
func (c *Client) Object(ctx context.Context, k Kind, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	return c.Resource(k, namespace).Get(ctx, name, metav1.GetOptions{})
}

// Select lists the objects that labels or fields select, as the hub has them this moment.
func (c *Client) Select(ctx context.Context, k Kind, namespace string, selector metav1.ListOptions) ([]unstructured.Unstructured, error) {
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	list, err := c.Resource(k, namespace).List(ctx, selector)
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Apply sends a configuration, unless nothing would change. An object that was not there is only created, and one that
// was there only changed: an object that another client creates in its place meanwhile stays as it is.
func (w *Writer) Apply(ctx context.Context, k Kind, live, config *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live != nil {
		differs, err := changes(live, config)
		if err != nil || !differs {
			return live, err
		}
		config.SetUID(live.GetUID())
	} else {
		config.SetResourceVersion(neverVersion)
	}
	short, cancel := WithTimeout(ctx)
	defer cancel()
	written, err := w.Resource(k, config.GetNamespace()).Apply(short, config.GetName(), config,
		metav1.ApplyOptions{FieldManager: hubapi.FieldManager})
	if isOtherObject(err) {
		return nil, w.displaced(ctx, k, config, err)
	}
	if err != nil {
		return nil, w.Fault(Attempt{Op: "apply " + string(k), Verb: "patch", Kind: k, Namespace: config.GetNamespace(), Name: config.GetName(),
			FromFile: w.FromFile}, err)
	}
	w.Keep(k, written)
	return written, nil
}

// neverVersion is a resource version that no object has: etcd counts from one,
// and the first write makes it two. An apply that names it conflicts with any
// object that is there. If there is none, the API server ignores the version and creates the object.
const neverVersion = "1"

// isOtherObject says whether an apply was refused since the object is not the one that
// was looked at: it was made, or deleted, or made anew in the meantime.
func isOtherObject(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status := answer.Status()
	switch {
	case webhookMessage(status) != "": // the service's webhook refuses with a conflict
		return false
	case apierrors.IsConflict(err):
		return !hasCause(status, string(metav1.CauseTypeFieldManagerConflict))
	case apierrors.IsInvalid(err):
		return status.Details != nil && slices.ContainsFunc(status.Details.Causes,
			func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
	}
	return false
}

// displaced is the fault for an object that is another one than was looked at. If
// it is ours all the same, as another run makes it, the next look goes on from it.
func (w *Writer) displaced(ctx context.Context, k Kind, config *unstructured.Unstructured, refusal error) error {
	now, err := w.Object(ctx, k, config.GetNamespace(), config.GetName())
	if err == nil {
		if err := w.CheckOwner(k, now); err != nil {
			return err
		}
		w.Keep(k, now)
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "apply " + string(k), On: Attempt{Namespace: config.GetNamespace(), Name: config.GetName()}.on(),
		Status: http.StatusConflict,
		Err:    fmt.Errorf("another client has just created or deleted it: %s", Shorten(redact.Text(refusal.Error()))),
		Next:   "run the same command again",
	}
}

// Patch sends a JSON merge patch of what others own too, unless all of it is so already.
func (w *Writer) Patch(ctx context.Context, k Kind, live *unstructured.Unstructured, fields map[string]any) error {
	if Within(fields, live.Object) {
		return nil
	}
	written, err := w.MergePatch(ctx, "change", hubapi.FieldManager, k, live, fields)
	if err != nil {
		return err
	}
	w.Keep(k, written)
	return nil
}

// MergePatch sends a JSON merge patch under a field manager; op is what it does.
func (w *Writer) MergePatch(ctx context.Context, op, manager string, k Kind, live *unstructured.Unstructured,
	fields map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write a patch of %s %s: %w", k, live.GetName(), err)
	}
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	written, err := w.Resource(k, live.GetNamespace()).Patch(ctx, live.GetName(), types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		return nil, w.Fault(Attempt{Op: op + " " + string(k), Verb: "patch", Kind: k, Namespace: live.GetNamespace(), Name: live.GetName(),
			FromFile: w.FromFile}, err)
	}
	return written, nil
}

// Keep puts what was just written into its store, for the next observation.
func (w *Writer) Keep(k Kind, written *unstructured.Unstructured) {
	if s := w.storeOf(k, written); s != nil {
		s.keep(written)
	}
}

func (w *Writer) storeOf(k Kind, u *unstructured.Unstructured) *Store {
	if at := w.Watching(u.GetNamespace()); at != nil {
		return at.Stores[k]
	}
	return nil
}

// Touch has the service look at an object again.
func (w *Writer) Touch(ctx context.Context, k Kind, live *unstructured.Unstructured) error {
	return w.Patch(ctx, k, live, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{hubapi.AnnotationTouched: w.Now().UTC().Format(time.RFC3339Nano)},
	}})
}

// Remove deletes an object and does not wait for its end. It takes the object out of its store, unless a finalizer
// holds it. An object that is gone already is a success.
func (w *Writer) Remove(ctx context.Context, k Kind, live *unstructured.Unstructured) error {
	if err := w.Delete(ctx, k, live); err != nil {
		return err
	}
	if s := w.storeOf(k, live); s != nil && len(live.GetFinalizers()) == 0 {
		_ = s.Delete(live) // an object of the right type is always taken
	}
	return nil
}

// Delete deletes an object, which stays in its store until the watch says that it is gone.
// One that is being deleted already is left to its finalizers.
func (w *Writer) Delete(ctx context.Context, k Kind, live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() != nil {
		return nil
	}
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	uid, background := live.GetUID(), metav1.DeletePropagationBackground
	err := w.Resource(k, live.GetNamespace()).Delete(ctx, live.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return w.Fault(Attempt{Op: "delete " + string(k), Verb: "delete", Kind: k, Namespace: live.GetNamespace(), Name: live.GetName()}, err)
}

// OfCluster are the objects of a kind that carry the cluster's label.
func (w *Writer) OfCluster(k Kind) []*unstructured.Unstructured {
	return slices.DeleteFunc(w.Namespace.Store(k).All(), func(u *unstructured.Unstructured) bool {
		return Label(u,
			hubapi.LabelCluster) != w.Cluster
	})
}
