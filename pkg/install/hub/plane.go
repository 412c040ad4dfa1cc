// Package hub is the service plane over a hub: a Kubernetes cluster on which the
// assisted-service runs as an operator and is spoken to through objects.
//
// It reads from watches. The first observation of a cluster starts them, and
// later ones send nothing: they only put together what the watches have
// brought (a program with informers for the same API server gives those: see
// Config). It writes by server-side apply under one field manager and never by
// force, so that what others have set stays theirs, and it sends nothing where
// an object is already as it shall be.
package hub

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// Config says which hub to talk to and how.
type Config struct {
	Kube *rest.Config // the connection to the hub's API server
	// Namespace that the objects of a cluster stand in; "" for the one that is
	// named after the cluster.
	Namespace string
	Clock     install.Clock // the machine's own if nil
	// Log is called for every call of the API server; its argument holds no secret. It may be called from several
	// goroutines at once.
	Log func(install.Call)
	// HTTPClient reads what the service itself hands out by URL: logs, events,
	// images. Nil for one that trusts the system's certificates.
	HTTPClient *http.Client
	// Informers let the plane read the cache of a program that watches the same API server anyway. A call returns at once;
	// it is false if the cache does not have a kind in a namespace, and the plane watches that by itself. Else the first
	// complete list is given to a store by Replace, and later changes one by one, until life ends. Fail takes why the cache
	// is not kept up to date at present, and nil once it is again. Objects are *unstructured.Unstructured with their managed
	// fields, and are shared: the plane does not change them. Of ConfigMaps only those with the label oaictl.io/cluster
	// are given. Nil for a plane that watches everything by itself.
	Informers func(life context.Context, kind schema.GroupVersionKind, namespace string, into interface {
		cache.ReflectorStore
		Fail(err error)
	}) bool
}

// Plane is the service plane. Its methods are safe for concurrent use.
type Plane struct {
	api  *kube.Client
	http *http.Client

	mu        sync.Mutex
	memories  map[string]*clusterMemory    // by id
	imageSets map[string]imageSetRecord    // by name
	signals   map[string]*kubewatch.Signal // of changes since a cluster was observed, by its id
	enrolled  map[string]*enrolled         // by namespace
}

var (
	_ install.Backend  = (*Plane)(nil)
	_ install.Notifier = (*Plane)(nil)
)

// New makes the plane; it does not talk to the hub yet. A connection that cannot
// be used is an error with CodeUsage.
func New(config Config) (*Plane, error) {
	api, err := kube.New(config.Kube, config.Namespace, config.Clock, config.Log)
	if err != nil {
		return nil, err
	}
	api.Informers = config.Informers
	p := &Plane{
		api: api, http: config.HTTPClient,
		memories: map[string]*clusterMemory{}, imageSets: map[string]imageSetRecord{}, signals: map[string]*kubewatch.Signal{},
	}
	if p.http == nil {
		p.http = &http.Client{}
	}
	return p, nil
}

// Close ends all watches. Nothing is asked of the plane after it.
func (p *Plane) Close() { p.api.Close() }

// Follow has lists read what watches bring, from the next list on: for callers that list again and again. The first
// list of a kind begins to watch it, and waits until all of it is there; no later one asks the API server for anything.
func (p *Plane) Follow() { p.api.Follow() }
