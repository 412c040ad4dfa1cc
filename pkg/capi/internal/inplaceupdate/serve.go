package inplaceupdate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// Registrar is a server that hooks are served by, as the webhook server of a manager is one.
type Registrar interface {
	Register(path string, handler http.Handler)
}

// handler is one hook, as it is served.
type handler struct {
	name string // of the handler; "" for that of discovery
	hook runtimecatalog.GroupVersionHook
	http.Handler
}

const (
	// largestRequest is the most that a request may have: some objects of Cluster API.
	largestRequest = 1 << 20
	// decodedAtOnce is how many requests are decoded at once. Anything in the cluster may send some, and one may take a
	// hundred times its length in memory.
	decodedAtOnce = 4
)

// Register makes a server serve the hooks, and what Cluster API discovers them by.
func (e *Extension) Register(server Registrar) error {
	catalog, of := runtimecatalog.New(), newSlots()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return fmt.Errorf("know the hooks of Cluster API: %w", err)
	}
	hooks := []struct {
		name    string
		hook    runtimecatalog.Hook
		handler func(schema.GroupVersionKind) http.Handler
	}{
		{"can-update-machine", runtimehooksv1.CanUpdateMachine, serving(of, e.CanUpdateMachine)},
		{"can-update-machine-set", runtimehooksv1.CanUpdateMachineSet, serving(of, e.CanUpdateMachineSet)},
		{"update-machine", runtimehooksv1.UpdateMachine, serving(of, e.UpdateMachine)},
	}
	// Whether Machines are replaced must not depend on whether we answer: if no process answers, Cluster API is to wait
	// (FailurePolicyFail).
	var served []handler
	var told []runtimehooksv1.ExtensionHandler
	for _, h := range hooks {
		hook, kind, err := lookUp(catalog, h.hook)
		if err != nil {
			return err
		}
		served = append(served, handler{h.name, hook, h.handler(kind)})
		told = append(told, runtimehooksv1.ExtensionHandler{
			Name: h.name, RequestHook: runtimehooksv1.GroupVersionHook{APIVersion: hook.GroupVersion().String(), Hook: hook.Hook},
			TimeoutSeconds: ptr.To[int32](hookTimeout), FailurePolicy: ptr.To(runtimehooksv1.FailurePolicyFail),
		})
	}
	hook, kind, err := lookUp(catalog, runtimehooksv1.Discovery)
	if err != nil {
		return err
	}
	discover := func(_ context.Context, _ *runtimehooksv1.DiscoveryRequest, response *runtimehooksv1.DiscoveryResponse) {
		response.Status, response.Handlers = runtimehooksv1.ResponseStatusSuccess, told
	}
	for _, h := range append(served, handler{"", hook, serving(of, discover)(kind)}) {
		server.Register(runtimecatalog.GVHToPath(h.hook, h.name), h)
	}
	return nil
}

// lookUp is a hook by its function, and the kind of its responses.
func lookUp(catalog *runtimecatalog.Catalog, hook runtimecatalog.Hook) (runtimecatalog.GroupVersionHook, schema.GroupVersionKind, error) {
	found, err := catalog.GroupVersionHook(hook)
	if err != nil {
		return found, schema.GroupVersionKind{}, fmt.Errorf("find a hook of Cluster API: %w", err)
	}
	kind, err := catalog.Response(found)
	if err != nil {
		return found, kind, fmt.Errorf("find what hook %s is answered by: %w", found.Hook, err)
	}
	return found, kind, nil
}

// slots are taken while requests are decoded.
type slots chan struct{}

func newSlots() slots { return make(slots, decodedAtOnce) }

// errBusy says that a request was not decoded in its time.
var errBusy = errors.New("too many requests are being read: send it again")

// decode decodes the body of a request. It is read before its turn comes, since it may come slowly.
func (s slots) decode(ctx context.Context, body io.Reader, request any) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return errBusy
	}
	defer func() { <-s }()
	return json.NewDecoder(bytes.NewReader(text)).Decode(request)
}

// responseTo is a pointer to a response.
type responseTo[R any] interface {
	*R
	runtimehooksv1.ResponseObject
}

// serving serves a hook over HTTP. Cluster API gives up after hookTimeout: no longer does serving wait for the rest of
// a request, nor for an answer. A request that cannot be read is answered as one that fails: an HTTP status other than
// 200 is for what is no hook at all, and for what was not processed.
func serving[Q, R any, P responseTo[R]](of slots, hook func(context.Context, *Q, P)) func(schema.GroupVersionKind) http.Handler {
	return func(kind schema.GroupVersionKind) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.Error(w, "hooks are called by POST", http.StatusMethodNotAllowed)
				return
			}
			ctx, cancel := context.WithTimeout(r.Context(), hookTimeout*time.Second)
			defer cancel()
			if until, bounded := ctx.Deadline(); bounded {
				_ = http.NewResponseController(w).SetReadDeadline(until) // a server without deadlines is a test's
			}
			var request Q
			response := P(new(R))
			response.GetObjectKind().SetGroupVersionKind(kind)
			err := of.decode(ctx, http.MaxBytesReader(w, r.Body, largestRequest), &request)
			switch {
			case errors.Is(err, errBusy):
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			case err != nil:
				response.SetStatus(runtimehooksv1.ResponseStatusFailure)
				response.SetMessage(fmt.Sprintf("the request cannot be read: %v", err))
			default:
				hook(ctx, &request, response)
			}
			data, err := json.Marshal(response)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data) // a client that has gone needs no answer
		})
	}
}
