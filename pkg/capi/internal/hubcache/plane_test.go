//go:build e2e

package hubcache

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// world is a hub with planes of two namespaces.
type world struct {
	*testing.T
	admin   dynamic.Interface
	cache   *Cache // nil where planes watch by themselves
	watched *watched
	mine    *member
	other   *member
}

// member is a namespace with its plane, and the cluster that is to be in it.
type member struct {
	*hub.Plane
	namespace string
	desired   *model.Desired
}

// watched counts watches by their resources.
type watched struct {
	mu  sync.Mutex
	all map[string]int
}

func (w *watched) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusOK && request.URL.Query().Get("watch") != "" {
			w.mu.Lock()
			w.all[path.Base(request.URL.Path)]++
			w.mu.Unlock()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// newWorld has planes with the informers of a cache of a scope, or without for nil.
func newWorld(t *testing.T, scoped func(mine, other string) Scope) *world {
	t.Helper()
	c := server.Start(t)
	w := &world{T: t, admin: must.Get(dynamic.NewForConfig(c.Config))(t), watched: &watched{all: map[string]int{}}}
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64"}}}
	set.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindClusterImageSet))
	set.SetName("openshift-v4.20.33")
	must.Get(w.admin.Resource(hubapi.Resource(set.GetKind())).Apply(t.Context(), set.GetName(), set, metav1.ApplyOptions{FieldManager: "test", Force: true}))(t)

	config := hub.Config{Kube: rest.CopyConfig(c.Config)}
	config.Kube.Wrap(w.watched.through)
	mine, other := c.Namespace(t), c.Namespace(t)
	if scoped != nil {
		scope := scoped(mine, other)
		options := cache.Options{}
		if scope.Namespace != "" {
			options.DefaultNamespaces = map[string]cache.Config{scope.Namespace: {}}
		}
		w.cache = must.Get(New(&options, scope))(t)
		all := must.Get(cache.New(config.Kube, options))(t)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { check.Do(t, all.Start(ctx)) })
		t.Cleanup(func() {
			stop()
			running.Wait()
		})
		w.cache.Informers = all
		config.Informers = w.cache.Fill
	}
	w.mine, w.other = w.member(config, mine), w.member(config, other)
	return w
}

func (w *world) member(config hub.Config, namespace string) *member {
	w.Helper()
	config.Namespace = namespace
	plane := must.Get(hub.New(config))(w)
	w.Cleanup(plane.Close)
	cluster := must.Get(spec.Load(w.Context(), "../../../../examples/compact/cluster.yaml", spec.OSEnv()))(w)
	return &member{plane, namespace, &model.Desired{Spec: cluster}}
}

// register makes the cluster of a namespace.
func (w *world) register(in *member) {
	w.Helper()
	must.Do(w, in.Act(w.Context(), in.desired, model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: in.desired.Spec.Metadata.Name}))
}

func (w *world) observe(in *member) *model.Observed {
	w.Helper()
	return must.Get(in.Observe(w.Context(), in.desired.Query(), nil))(w)
}

// until observes until something is so: a watch takes a moment.
func (w *world) until(what string, in *member, so func(*model.Observed) bool) {
	w.Helper()
	for began := time.Now(); ; {
		observed := w.observe(in)
		if so(observed) {
			return
		}
		if time.Since(began) > time.Minute {
			w.Fatalf("not so after a while: %s; observed %+v", what, observed)
		}
		select {
		case <-in.Changed(in.desired.Query()):
		case <-time.After(time.Second):
		}
	}
}

func (w *world) agents(in *member) dynamic.ResourceInterface {
	return w.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(in.namespace)
}

// boots has a machine of a cluster register.
func (w *world) boots(in *member) *unstructured.Unstructured {
	w.Helper()
	u := agent(in.namespace, "00000000-0000-0000-0000-000000000001", "auto-assign")
	u.SetUID("")
	u.SetManagedFields(nil)
	must.Do(w, unstructured.SetNestedMap(u.Object, map[string]any{
		"approved": false, "role": "auto-assign",
		"clusterDeploymentName": map[string]any{"namespace": in.namespace, "name": in.desired.Spec.Metadata.Name},
	}, "spec"))
	return must.Get(w.agents(in).Create(w.Context(), u, metav1.CreateOptions{}))(w)
}

// TestPlanes: planes see the same from a manager's cache as from their own watches. What a cache does not have, they watch
// by themselves.
func TestPlanes(t *testing.T) {
	everywhere := func(string, string) Scope { return Scope{Planes: true} }
	for name, test := range map[string]struct {
		scope   func(mine, other string) Scope
		watches int // of each kind that is watched
	}{
		"their own watches":                  {nil, 2},
		"a cache of all namespaces":          {everywhere, 1},
		"a cache of one of the namespaces":   {func(mine, _ string) Scope { return Scope{Planes: true, Namespace: mine} }, 2},
		"a cache of other Agents":            {func(mine, other string) Scope { return Scope{Planes: true, Namespace: mine, Agents: other} }, 2},
		"a cache of the Agents of one alone": {func(_, other string) Scope { return Scope{Planes: true, Agents: other} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.scope)
			for _, in := range []*member{w.mine, w.other} {
				if observed := w.observe(in); observed.Cluster != nil || observed.Stale != "" {
					t.Errorf("before anything is there: %+v", observed)
				}
			}
			w.register(w.mine)
			if observed := w.observe(w.mine); observed.Cluster == nil {
				t.Error("a plane does not see at once what it has written")
			}
			w.lives()
			w.keepsApart()
			if test.watches > 0 {
				w.checkWatches(test.watches)
			}
			w.mine.Close()
			w.checkLeft()
		})
	}
}

// lives has a host come, change and go.
func (w *world) lives() {
	w.Helper()
	made := w.boots(w.mine)
	w.until("a host is there", w.mine, func(o *model.Observed) bool { return len(o.Hosts) == 1 })
	made.Object["status"] = map[string]any{
		"role": "auto-assign", "debugInfo": map[string]any{"state": "known"}, "conditions": []any{},
		"validationsInfo": map[string]any{"hardware": []any{map[string]any{"id": "has-min-memory", "status": "failure", "message": "too little"}}},
	}
	must.Get(w.agents(w.mine).UpdateStatus(w.Context(), made, metav1.UpdateOptions{}))(w)
	w.until("its checks are read", w.mine, func(o *model.Observed) bool {
		return slices.ContainsFunc(o.Hosts[0].Validations, func(v model.Validation) bool { return v.ID == "has-min-memory" && v.Message == "too little" })
	})
	must.Do(w, w.agents(w.mine).Delete(w.Context(), made.GetName(), metav1.DeleteOptions{}))
	w.until("the host is gone", w.mine, func(o *model.Observed) bool { return len(o.Hosts) == 0 })
}

// keepsApart makes a cluster of the same name in the other namespace.
func (w *world) keepsApart() {
	w.Helper()
	before := w.observe(w.mine).Cluster
	w.register(w.other)
	w.boots(w.other)
	w.until("the other namespace has a host", w.other, func(o *model.Observed) bool { return o.Cluster != nil && len(o.Hosts) == 1 })
	if observed := w.observe(w.mine); observed.Cluster.ID != before.ID || len(observed.Hosts) > 0 || len(observed.Others) > 0 {
		w.Errorf("it has become %+v", observed)
	}
}

// checkWatches sees that each kind is watched so many times.
func (w *world) checkWatches(want int) {
	w.Helper()
	w.watched.mu.Lock()
	defer w.watched.mu.Unlock()
	if len(w.watched.all) != 8 {
		w.Errorf("watched are %v", slices.Sorted(maps.Keys(w.watched.all)))
	}
	for resource, count := range w.watched.all {
		check.Equal(w, count, want, "watches of "+resource)
	}
}

// checkLeft sees that the cache fills no store of the plane that is closed, and goes on for the other one.
func (w *world) checkLeft() {
	w.Helper()
	if w.cache == nil {
		return
	}
	left := func() (all []string) {
		for _, k := range w.cache.kinds {
			k.mu.Lock()
			all = slices.AppendSeq(all, maps.Keys(k.stores))
			k.mu.Unlock()
		}
		return all
	}
	within, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for slices.Contains(left(), w.mine.namespace) {
		if clock.Real().Sleep(within, 10*time.Millisecond) != nil {
			w.Fatalf("filled are still %v", left())
		}
	}
	must.Do(w, w.agents(w.other).DeleteCollection(w.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.until("the other namespace has no host", w.other, func(o *model.Observed) bool { return len(o.Hosts) == 0 })
}

// TestOutage: while the API server does not answer, what was observed is old, and it is not once it answers again.
func TestOutage(t *testing.T) {
	cached := newWorld(t, func(string, string) Scope { return Scope{Planes: true} })
	watching := newWorld(t, nil)
	for _, w := range []*world{cached, watching} {
		w.observe(w.mine)
	}
	server.Start(t).Down(t)
	for _, w := range []*world{cached, watching} {
		w.until("it is old", w.mine, func(o *model.Observed) bool { return o.Stale != "" })
	}
	server.Start(t).Up(t)
	for _, w := range []*world{cached, watching} {
		w.until("it is new", w.mine, func(o *model.Observed) bool { return o.Stale == "" })
	}
}
