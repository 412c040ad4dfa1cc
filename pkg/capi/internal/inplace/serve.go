package inplace

import (
	"context"
	"encoding/json"
	"fmt"
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

// largestRequest is the most that a request may have: some objects of Cluster API.
const largestRequest = 8 << 20

// Register has a server serve the hooks, and what Cluster API discovers them by.
func (e *Extension) Register(server Registrar) error {
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return fmt.Errorf("know the hooks of Cluster API: %w", err)
	}
	hooks := []struct {
		name    string
		hook    runtimecatalog.Hook
		handler func(schema.GroupVersionKind) http.Handler
	}{
		{"can-update-machine", runtimehooksv1.CanUpdateMachine, serving(e.CanUpdateMachine)},
		{"can-update-machine-set", runtimehooksv1.CanUpdateMachineSet, serving(e.CanUpdateMachineSet)},
		{"update-machine", runtimehooksv1.UpdateMachine, serving(e.UpdateMachine)},
	}
	// Whether Machines are replaced must not depend on whether we answer: where nobody does, Cluster
	// API is to wait (FailurePolicyFail).
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
	for _, h := range append(served, handler{"", hook, serving(discover)(kind)}) {
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

// responseTo is a pointer to a response.
type responseTo[R any] interface {
	*R
	runtimehooksv1.ResponseObject
}

// serving serves a hook over HTTP. Cluster API gives up after hookTimeout, and so is the rest of a request not waited for
// longer, nor an answer made. A request that cannot be read is answered as one that fails: the
// status of HTTP is for what is no hook at all.
func serving[Q, R any, P responseTo[R]](hook func(context.Context, *Q, P)) func(schema.GroupVersionKind) http.Handler {
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
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestRequest)).Decode(&request); err != nil {
				response.SetStatus(runtimehooksv1.ResponseStatusFailure)
				response.SetMessage(fmt.Sprintf("the request cannot be read: %v", err))
			} else {
				hook(ctx, &request, response)
			}
			data, err := json.Marshal(response)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data) // whoever has gone needs no answer
		})
	}
}
