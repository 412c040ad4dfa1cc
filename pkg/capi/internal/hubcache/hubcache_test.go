package hubcache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	framework "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/internal/shared/must"
)

var agents = hubapi.GroupVersionKind(hubapi.KindAgent)

func agent(namespace, name, role string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"role": role}}}
	u.SetGroupVersionKind(agents)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID(namespace + name))
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "oaictl", Operation: metav1.ManagedFieldsOperationApply}})
	return u
}

// plane is the store of a plane.
type plane struct {
	*kubewatch.Store[*unstructured.Unstructured, *unstructured.Unstructured]
}

func newPlane() plane {
	return plane{kubewatch.NewStore(kubewatch.Config[*unstructured.Unstructured, *unstructured.Unstructured]{
		What: "agents", Key: (*unstructured.Unstructured).GetName, Changed: func(*unstructured.Unstructured) {},
		Read: func(u *unstructured.Unstructured) *unstructured.Unstructured { return u },
	})}
}

// has are the names and roles of its objects.
func (p plane) has() []string {
	var all []string
	for _, u := range p.All() {
		role, _, _ := unstructured.NestedString(u.Object, "spec", "role")
		all = append(all, u.GetName()+" "+role)
	}
	return all
}

// informers are those of a manager's cache with one kind.
type informers struct {
	cache.Informers

	informer toolscache.SharedIndexInformer
	refuses  atomic.Bool
}

func (i *informers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	if i.refuses.Load() {
		return nil, errNoAnswer
	}
	return i.informer, nil
}

var errNoAnswer = errors.New("the API server does not answer")

// apiServer is an API server with Agents.
type apiServer struct {
	*framework.FakeControllerSource

	silent atomic.Bool
}

func newAPIServer() *apiServer {
	return &apiServer{FakeControllerSource: framework.NewFakeControllerSource()}
}

// List is of cache.ListerWatcher.
func (s *apiServer) List(o metav1.ListOptions) (runtime.Object, error) {
	if s.silent.Load() {
		return nil, errNoAnswer
	}
	return s.FakeControllerSource.List(o)
}

// started is a cache with the Agents of a source.
func started(t *testing.T, source *apiServer) (*Cache, *informers) {
	t.Helper()
	t.Cleanup(func() { source.Shutdown() })
	options := cache.Options{}
	c := must.Get(New(&options, Scope{Planes: true}))(t)
	made := &informers{informer: options.NewInformer(source, agent("", "", ""), 0, toolscache.Indexers{})}
	must.Do(t, made.informer.SetTransform(options.DefaultTransform))
	// The usual handler waits by a time that it keeps for the whole process, across the clocks of tests.
	must.Do(t, made.informer.SetWatchErrorHandler(func(*toolscache.Reflector, error) {}))
	go made.informer.RunWithContext(t.Context())
	c.Informers = made
	return c, made
}

// TestFill: a store has the objects of its namespace and no others, from the first complete list until its life ends.
func TestFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newAPIServer()
		for _, u := range []*unstructured.Unstructured{agent("a", "1", "x"), agent("a", "2", "x"), agent("b", "1", "x")} {
			source.Add(u)
		}
		c, made := started(t, source)
		made.refuses.Store(true)
		lifeOfA, endA := context.WithCancel(t.Context())
		a, b, later := newPlane(), newPlane(), newPlane()
		if !c.Fill(lifeOfA, agents, "a", a) || !c.Fill(t.Context(), agents, "b", b) {
			t.Fatal("the cache does not have all namespaces")
		}
		check.Says(t, a.Wait(t.Context()), errNoAnswer.Error())
		made.refuses.Store(false)
		time.Sleep(2 * retryAfter)
		check.Do(t, errors.Join(a.Wait(t.Context()), a.Failing(), b.Wait(t.Context()), b.Failing()))
		check.Slice(t, a.has(), []string{"1 x", "2 x"})
		check.Slice(t, b.has(), []string{"1 x"})

		changes := b.Changes()
		source.Add(agent("a", "3", "x"))
		source.Modify(agent("a", "1", "y"))
		source.Delete(agent("a", "2", "x"))
		synctest.Wait()
		check.Slice(t, a.has(), []string{"1 y", "3 x"}, "after changes")
		check.Equal(t, b.Changes(), changes, "changes of another namespace")
		c.Fill(t.Context(), agents, "a", later)
		synctest.Wait()
		check.Slice(t, later.has(), []string{"1 y", "3 x"}, "in a second store")

		source.DeleteDropWatch(agent("a", "3", "x"))
		source.ResetWatch()
		time.Sleep(time.Minute)
		check.Slice(t, a.has(), []string{"1 y"}, "after a deletion that was missed")

		endA()
		synctest.Wait()
		source.Modify(agent("a", "1", "z"))
		synctest.Wait()
		check.Slice(t, a.has(), []string{"1 y"}, "after its end")
		check.Slice(t, later.has(), []string{"1 z"}, "in the other store")
		k := c.kind(agents)
		check.Equal(t, len(k.stores["a"]), 1, "stores that are filled")
		if fields := later.Get("1").GetManagedFields(); len(fields) != 1 || later.Get("1") != k.objects["a"]["1"] {
			t.Errorf("the informer's own object is not shared; managed fields %v", fields)
		}
	})
}

// TestOwnWritesAreReadAtOnce, and are in memory once when the informer has brought them, too.
func TestOwnWritesAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newAPIServer()
		source.Add(agent("a", "1", "x"))
		c, _ := started(t, source)
		p := newPlane()
		c.Fill(t.Context(), agents, "a", p)
		must.Do(t, p.Wait(t.Context()))
		written := agent("a", "1", "y")
		written.SetResourceVersion("2")
		p.Write(written)
		check.Slice(t, p.has(), []string{"1 y"})
		source.Modify(agent("a", "1", "y")) // which is version 2
		synctest.Wait()
		if held := c.kind(agents).objects["a"]["1"]; held.GetResourceVersion() != "2" || p.Get("1") != held || p.All()[0] != held {
			t.Error("the object is held twice")
		}
	})
}

// TestWritesThatTheInformerNeverSaw: an object that was written while the watch was broken, and was deleted by another user
// before the next list, is gone after it.
func TestWritesThatTheInformerNeverSaw(t *testing.T) {
	for name, again := range map[string]bool{"of a new name": false, "of an object that was there before": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newAPIServer()
				source.Add(agent("a", "1", "x"))
				c, _ := started(t, source)
				p := newPlane()
				c.Fill(t.Context(), agents, "a", p)
				must.Do(t, p.Wait(t.Context()))
				synctest.Wait()
				made, version, left := agent("a", "2", "own"), "2", []string{"1 x"}
				if again {
					source.DeleteDropWatch(agent("a", "1", "x"))
					made, version, left = agent("a", "1", "own"), "3", nil
					made.SetUID("again")
				}
				source.AddDropWatch(made.DeepCopy())
				made.SetResourceVersion(version)
				p.Write(made)
				source.DeleteDropWatch(made.DeepCopy())
				source.ResetWatch()
				time.Sleep(3 * settles)
				check.Slice(t, p.has(), left)
				changes := p.Changes()
				time.Sleep(time.Hour)
				check.Equal(t, p.Changes(), changes, "changes while nothing changes")
			})
		})
	}
}

// TestRestoredServerWithoutAnObject: the list of a server that was restored from a backup sets back from which version on own
// writes count, also if all objects that it has are as they were.
func TestRestoredServerWithoutAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newAPIServer()
		source.Add(agent("a", "1", "x"))
		c, made := started(t, source)
		p := newPlane()
		c.Fill(t.Context(), agents, "a", p)
		must.Do(t, p.Wait(t.Context()))
		synctest.Wait()
		lost := agent("a", "2", "x")
		lost.SetResourceVersion("90")
		c.kind(agents).OnAdd(lost, false)
		c.kind(agents).OnDelete(toolscache.DeletedFinalStateUnknown{Key: "a/2", Obj: lost})
		source.ResetWatch()
		time.Sleep(3 * settles)
		check.Equal(t, made.informer.LastSyncResourceVersion(), "1")
		written := agent("a", "3", "own")
		written.SetResourceVersion("53")
		p.Write(written)
		check.Slice(t, p.has(), []string{"1 x", "3 own"})
	})
}

// TestFailures: stores hear why the informer is not kept up to date, and that it is again.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newAPIServer()
		source.silent.Store(true)
		c, _ := started(t, source)
		early, late := newPlane(), newPlane()
		c.Fill(t.Context(), agents, "a", early)
		check.Says(t, early.Wait(t.Context()), errNoAnswer.Error())
		c.Fill(t.Context(), agents, "a", late)
		check.Says(t, late.Wait(t.Context()), errNoAnswer.Error())
		source.silent.Store(false)
		time.Sleep(time.Minute)
		check.Do(t, errors.Join(early.Wait(t.Context()), early.Failing(), late.Wait(t.Context()), late.Failing()))
	})
}

// TestRestoredServer: an API server that is restored from a backup counts from an earlier version, and so do own writes.
func TestRestoredServer(t *testing.T) {
	c := must.Get(New(&cache.Options{}, Scope{Planes: true}))(t)
	k, p := c.kind(agents), newPlane()
	versioned := func(name, version, role string) *unstructured.Unstructured {
		u := agent("a", name, role)
		u.SetResourceVersion(version)
		return u
	}
	k.OnAdd(versioned("1", "90", "x"), true)
	k.enter("a", &store{Filled: p})
	for s := range k.stores["a"] {
		k.list("a", s)
	}
	k.OnUpdate(nil, versioned("1", "50", "restored"))
	p.Write(versioned("2", "52", "x"))
	check.Slice(t, p.has(), []string{"1 restored", "2 x"})
	check.Equal(t, k.version, "50")
	k.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "a/1", Obj: versioned("1", "53", "")})
	check.Slice(t, p.has(), []string{"2 x"})
	if len(k.objects) != 0 {
		t.Errorf("kept is %v", k.objects)
	}
}

// TestScope: what a manager's cache does not have is left to the plane.
func TestScope(t *testing.T) {
	deployments := hubapi.GroupVersionKind(hubapi.KindClusterDeployment)
	for name, test := range map[string]struct {
		scope     Scope
		of        schema.GroupVersionKind
		namespace string
		want      bool
	}{
		"all namespaces":                        {Scope{Planes: true}, deployments, "lab", true},
		"one namespace":                         {Scope{Planes: true, Namespace: "lab"}, deployments, "lab", true},
		"another namespace":                     {Scope{Planes: true, Namespace: "lab"}, deployments, "other", false},
		"all at once":                           {Scope{Planes: true}, deployments, "", false},
		"Agents of a namespace of their own":    {Scope{Planes: true, Namespace: "lab", Agents: "pool"}, agents, "pool", true},
		"Agents beside it":                      {Scope{Planes: true, Namespace: "lab", Agents: "pool"}, agents, "lab", false},
		"Agents of all namespaces":              {Scope{Planes: true}, agents, "lab", true},
		"other objects of that namespace":       {Scope{Planes: true, Namespace: "lab", Agents: "pool"}, deployments, "pool", false},
		"Secrets":                               {Scope{Planes: true}, hubapi.GroupVersionKind(hubapi.KindSecret), "lab", false},
		"ConfigMaps":                            {Scope{Planes: true}, hubapi.GroupVersionKind(hubapi.KindConfigMap), "lab", true},
		"a manager that reaches a service only": {Scope{}, deployments, "lab", false},
	} {
		c := must.Get(New(&cache.Options{}, test.scope))(t)
		c.Informers = &informers{informer: toolscache.NewSharedIndexInformer(newAPIServer(), agent("", "", ""), 0, nil)}
		life, end := context.WithCancel(t.Context())
		check.Equal(t, c.Fill(life, test.of, test.namespace, newPlane()), test.want, name)
		end()
	}
}

// TestOptions: what is cached of objects, and which ones.
func TestOptions(t *testing.T) {
	machine := &unstructured.Unstructured{}
	machine.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	machine.SetKind("Metal3Machine")
	machine.SetManagedFields(agent("", "", "").GetManagedFields())
	for name, test := range map[string]struct {
		scope  Scope
		object client.Object
		fields int // managed
	}{
		"of a hub, for planes":      {Scope{Planes: true}, agent("a", "1", ""), 1},
		"of a hub, without planes":  {Scope{}, agent("a", "1", ""), 0},
		"of no hub":                 {Scope{Planes: true}, machine, 0},
		"of a type of Kubernetes":   {Scope{Planes: true}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: machine.GetManagedFields()}}, 0},
		"ConfigMaps, as they are":   {Scope{Planes: true}, configMap(), 1},
		"ConfigMaps without planes": {Scope{}, configMap(), 0},
	} {
		options := cache.Options{}
		must.Get(New(&options, test.scope))(t)
		kept := must.Get(options.DefaultTransform(test.object))(t)
		check.Equal(t, len(kept.(client.Object).GetManagedFields()), test.fields, name)
	}
	options := cache.Options{}
	must.Get(New(&options, Scope{Agents: "pool", Planes: true}))(t)
	var limits []string
	for object, by := range options.ByObject {
		if by.Label != nil {
			limits = append(limits, by.Label.String())
		}
		limits = append(limits, slices.Collect(maps.Keys(by.Namespaces))...)
		check.Equal(t, object.GetName(), "")
	}
	slices.Sort(limits)
	check.Slice(t, limits, []string{hubapi.LabelCluster, "pool"})
}

func configMap() *unstructured.Unstructured {
	u := agent("a", "1", "")
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindConfigMap))
	return u
}
