package hub

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

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install"
)

// writer writes the objects of one cluster.
type writer struct {
	*Client
	at      *Namespace
	cluster string // as the label has it
	// adopts is the id of a cluster whose objects may be written although they
	// have no label.
	adopts string
	ofFile bool
	// asked are objects that are not watched, as the hub had them before the first
	// write, nil where it had none; each is taken for that once.
	asked map[string]*unstructured.Unstructured
}

// all brings objects to what they shall be, in their order.
func (w *writer) all(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if _, err := w.whole(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// whole applies all that an object says, beside what was applied before. Only
// of manifests what it says is all that there shall be.
func (w *writer) whole(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k, known := byKind(want.GetKind())
	if !known {
		return nil, fmt.Errorf("no %s is ever written", want.GetKind())
	}
	live, err := w.live(ctx, k, want.GetNamespace(), want.GetName())
	if err != nil {
		return nil, err
	}
	written, err := w.wholeOver(ctx, k, live, want)
	var fault *install.Fault
	if live != nil || !errors.As(err, &fault) || fault.Permanent || fault.Status != http.StatusConflict {
		return written, err
	}
	// Another action, or another run, has made it just now.
	if now, reading := w.live(ctx, k, want.GetNamespace(), want.GetName()); reading == nil && now != nil {
		return w.wholeOver(ctx, k, now, want)
	}
	return nil, err
}

// wholeOver applies all that an object says to it as it is, nil where there is
// none.
func (w *writer) wholeOver(ctx context.Context, k kind, live, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fields := map[string]any{}
	if live != nil {
		if err := w.mine(k, live); err != nil {
			return nil, err
		}
		var err error
		if fields, err = owned(live); err != nil {
			return nil, err
		}
		if holdsManifests(want) {
			delete(fields, "data")
		}
	}
	return w.apply(ctx, k, live, configuration(want, merged(fields, want.Object)))
}

// some applies fields of an object that is there, beside what was applied
// before; a field that want does not have is given up.
func (w *writer) some(ctx context.Context, live, want *unstructured.Unstructured, paths []objects.Path) (*unstructured.Unstructured, error) {
	k, known := byKind(live.GetKind())
	if !known {
		return nil, fmt.Errorf("no %s is ever written", live.GetKind())
	}
	if err := w.mine(k, live); err != nil {
		return nil, err
	}
	fields, err := owned(live)
	if err != nil {
		return nil, err
	}
	if err := take(fields, want.Object, paths); err != nil {
		return nil, err
	}
	return w.apply(ctx, k, live, configuration(live, fields))
}

// mine refuses to write an object of somebody else.
func (w *writer) mine(k kind, live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() != nil {
		return beingDeleted(live)
	}
	owner := live.GetLabels()[hubapi.LabelCluster]
	if owner == w.cluster || w.adopts != "" && owner == "" && k.adoptable() {
		return nil
	}
	f := &install.Fault{
		Code: install.CodeNotFound, Op: "apply " + k.name, On: attempt{namespace: live.GetNamespace(), name: live.GetName()}.on(), Permanent: true,
		Err:  fmt.Errorf("there is one already that oaictl did not make for this cluster: it has no label %s: %s", hubapi.LabelCluster, w.cluster),
		Next: "use another metadata.name or --namespace, or delete that object if it is not needed",
	}
	if owner != "" {
		f.Err = fmt.Errorf("there is one already that belongs to the cluster %s of oaictl", owner)
	}
	return f
}

// live is an object as it is, nil where there is none. What is watched is known;
// the rest is asked for.
func (w *writer) live(ctx context.Context, k kind, namespace, name string) (*unstructured.Unstructured, error) {
	if namespace == w.at.name {
		if s, watched := w.at.stores[k.name]; watched {
			if u := s.get(name); u != nil || k.with == "" {
				return u, nil
			}
		}
	}
	if u, known := w.asked[k.name+" "+id(namespace, name)]; known {
		delete(w.asked, k.name+" "+id(namespace, name))
		return u, nil
	}
	ctx, cancel := brief(ctx)
	defer cancel()
	u, err := w.client(k, namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, w.fault(attempt{op: "read " + k.name, verb: "get", kind: k, namespace: namespace, name: name}, err)
	}
	return u, nil
}

func (c *Client) client(k kind, namespace string) dynamic.ResourceInterface {
	if k.clusterWide() {
		return c.dynamic.Resource(k.GroupVersionResource)
	}
	return c.dynamic.Resource(k.GroupVersionResource).Namespace(namespace)
}

// apply sends a configuration, unless nothing would change. What was not there
// when it was looked for is only made, and what was there only changed: an object
// that somebody else puts into its place meanwhile is not merged into.
func (w *writer) apply(ctx context.Context, k kind, live, config *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live != nil {
		differs, err := changes(live, config)
		if err != nil || !differs {
			return live, err
		}
		config.SetUID(live.GetUID())
	} else {
		config.SetResourceVersion(neverVersion)
	}
	short, cancel := brief(ctx)
	defer cancel()
	written, err := w.client(k, config.GetNamespace()).Apply(short, config.GetName(), config, metav1.ApplyOptions{FieldManager: hubapi.FieldManager})
	if another(err) {
		return nil, w.displaced(ctx, k, config, err)
	}
	if err != nil {
		return nil, w.fault(attempt{op: "apply " + k.name, verb: "patch", kind: k, namespace: config.GetNamespace(), name: config.GetName(), ofFile: w.ofFile}, err)
	}
	w.kept(k, written)
	return written, nil
}

// neverVersion is a resource version that no object has: etcd counts from one,
// and the first write makes it two. An apply that names it conflicts with any
// object that is there; the API server makes a missing one whatever it names.
const neverVersion = "1"

// another says whether an apply was refused since the object is not the one that
// was looked at: it was made, or deleted, or made anew in the meantime.
func another(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status := answer.Status()
	switch {
	case denied(status) != "": // the service's webhook refuses with a conflict
		return false
	case apierrors.IsConflict(err):
		return !hasCause(status, string(metav1.CauseTypeFieldManagerConflict))
	case apierrors.IsInvalid(err):
		return status.Details != nil && slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
	}
	return false
}

// displaced is the fault for an object that is another one than was looked at. If
// it is ours all the same, as another run makes it, the next look goes on from it.
func (w *writer) displaced(ctx context.Context, k kind, config *unstructured.Unstructured, refusal error) error {
	ctx, cancel := brief(ctx)
	defer cancel()
	now, err := w.client(k, config.GetNamespace()).Get(ctx, config.GetName(), metav1.GetOptions{})
	if err == nil {
		if err := w.mine(k, now); err != nil {
			return err
		}
		w.kept(k, now)
	}
	return &install.Fault{
		Code: install.CodeFailure, Op: "apply " + k.name, On: attempt{namespace: config.GetNamespace(), name: config.GetName()}.on(), Status: http.StatusConflict,
		Err: fmt.Errorf("it was made or deleted by somebody else just now: %s", short(redact.Text(refusal.Error()))), Next: "run the same command again",
	}
}

// patch is patched for who has no use for what the object is then.
func (w *writer) patch(ctx context.Context, k kind, live *unstructured.Unstructured, fields map[string]any) error {
	_, err := w.patched(ctx, k, live, fields)
	return err
}

// patched changes fields of an object that others own too: a JSON merge patch,
// unless all of it is so already. It gives the object as it is then.
func (w *writer) patched(ctx context.Context, k kind, live *unstructured.Unstructured, fields map[string]any) (*unstructured.Unstructured, error) {
	if within(fields, live.Object) {
		return live, nil
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write a patch of %s %s: %w", k.name, live.GetName(), err)
	}
	ctx, cancel := brief(ctx)
	defer cancel()
	written, err := w.client(k, live.GetNamespace()).Patch(ctx, live.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: hubapi.FieldManager})
	if err != nil {
		return nil, w.fault(attempt{op: "change " + k.name, verb: "patch", kind: k, namespace: live.GetNamespace(), name: live.GetName(), ofFile: w.ofFile}, err)
	}
	w.kept(k, written)
	return written, nil
}

// kept puts what was just written on its store, so that the next observation
// shows it.
func (w *writer) kept(k kind, written *unstructured.Unstructured) {
	at := w.watching(written.GetNamespace())
	if at == nil {
		return
	}
	if s, watched := at.stores[k.name]; watched {
		s.keep(written)
	}
}

// dropped takes what was just deleted off its store; what a finalizer holds is
// still there.
func (w *writer) dropped(k kind, live *unstructured.Unstructured) {
	at := w.watching(live.GetNamespace())
	if at == nil || len(live.GetFinalizers()) > 0 {
		return
	}
	if s, watched := at.stores[k.name]; watched {
		_ = s.Delete(live) // an object of the right type is always taken
	}
}

// touch has the service look at an object again.
func (w *writer) touch(ctx context.Context, k kind, live *unstructured.Unstructured) error {
	return w.patch(ctx, k, live, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{hubapi.AnnotationTouched: w.now().UTC().Format(time.RFC3339Nano)},
	}})
}

// remove deletes an object that nobody waits for. One that is gone already is a
// success.
func (w *writer) remove(ctx context.Context, k kind, live *unstructured.Unstructured) error {
	if err := w.sendDelete(ctx, k, live); err != nil {
		return err
	}
	w.dropped(k, live)
	return nil
}

// sendDelete deletes an object, which stays on its store until the watch tells
// that it is gone: whether a finalizer holds it is only known then.
func (w *writer) sendDelete(ctx context.Context, k kind, live *unstructured.Unstructured) error {
	ctx, cancel := brief(ctx)
	defer cancel()
	uid, background := live.GetUID(), metav1.DeletePropagationBackground
	err := w.client(k, live.GetNamespace()).Delete(ctx, live.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return w.fault(attempt{op: "delete " + k.name, verb: "delete", kind: k, namespace: live.GetNamespace(), name: live.GetName()}, err)
}

// ours are the objects of a kind that carry the cluster's label.
func (w *writer) ours(k kind) []*unstructured.Unstructured {
	return slices.DeleteFunc(w.at.store(k).all(), func(u *unstructured.Unstructured) bool { return u.GetLabels()[hubapi.LabelCluster] != w.cluster })
}
