package hub

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
)

// Config says which hub to talk to and how.
type Config struct {
	// Kube is the connection to the hub's API server.
	Kube *rest.Config
	// Namespace that the objects of a cluster stand in; "" for the one that is
	// named after the cluster.
	Namespace string
	// Clock is the machine's own if nil.
	Clock install.Clock
	// Log is told of every call of the API server; what it is told holds no
	// secret. It may be called from several goroutines at once.
	Log func(Call)
	// HTTPClient reads what the service itself hands out by URL: logs, events,
	// images. Nil for one that trusts the system's certificates.
	HTTPClient *http.Client
}

// Plane is the service plane. Its methods are safe for concurrent use.
type Plane struct {
	host      string
	namespace string
	clock     install.Clock
	dynamic   dynamic.Interface
	raw       *rest.RESTClient
	http      *http.Client
	time      *serverTime

	connecting sync.Mutex // one at a time asks what the hub has
	mu         sync.Mutex
	closed     bool
	stop       context.CancelFunc // ends all watches; nil before the first
	life       context.Context    // of the watches
	have       *served
	places     map[string]*place         // by namespace
	watched    map[string]*cluster       // by id
	imageSets  map[string]imageSetRecord // by name
	views      map[string]*place         // what lists are read from where they are followed, by scope; nil where they are not
}

var _ install.Backend = (*Plane)(nil)

// requestTime is how long one call of the API server may take, beside those that
// watch.
const requestTime = 30 * time.Second

// New makes the plane; it does not talk to the hub yet. A connection that cannot
// be used is an error with CodeUsage.
func New(config Config) (*Plane, error) {
	fail := func(err error) (*Plane, error) {
		return nil, &install.Fault{Code: install.CodeUsage, Op: "use kubeconfig", Permanent: true, Err: err, Next: "give --kubeconfig FILE, and --context NAME where it has several"}
	}
	if config.Kube == nil {
		return fail(errors.New("there is no connection to a hub"))
	}
	p := &Plane{
		host: config.Kube.Host, namespace: config.Namespace, clock: config.Clock, http: config.HTTPClient,
		places: map[string]*place{}, watched: map[string]*cluster{}, imageSets: map[string]imageSetRecord{},
	}
	if p.clock == nil {
		p.clock = clock.Real()
	}
	if p.http == nil {
		p.http = &http.Client{}
	}
	p.time = &serverTime{clock: p.clock}
	kube := rest.CopyConfig(config.Kube)
	kube.Timeout = 0 // watches last; every other call has its own deadline
	if kube.QPS == 0 {
		kube.QPS, kube.Burst = 50, 100 // the API server itself sees to fairness
	}
	kube.WarningHandler = rest.NoWarnings{}
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &caller{next: next, clock: p.clock, log: config.Log, time: p.time}
	})
	client, err := rest.HTTPClientFor(kube)
	if err != nil {
		return fail(err)
	}
	if renews(kube) {
		client.Transport = &refresher{next: client.Transport}
	}
	if p.dynamic, err = dynamic.NewForConfigAndClient(kube, client); err != nil {
		return fail(err)
	}
	if p.raw, err = rest.UnversionedRESTClientForConfigAndClient(rawConfig(kube), client); err != nil {
		return fail(err)
	}
	return p, nil
}

// Close ends all watches. Nothing is asked of the plane after it.
func (p *Plane) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.stop != nil {
		p.stop()
	}
}

// lifetime is the context that watches live in. It is ctx without its end: they
// go on when the observation that began them is over.
func (p *Plane) lifetime(ctx context.Context) (context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, &install.Fault{Code: install.CodeFailure, Op: "watch the hub", Permanent: true, Err: errors.New("the plane was closed")}
	}
	if p.life == nil {
		p.life, p.stop = context.WithCancel(quiet(context.WithoutCancel(ctx)))
	}
	return p.life, nil
}
