package hub

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
)

// clientConfig says which API server to talk to and how.
type clientConfig struct {
	kube      *rest.Config
	namespace string        // "" for all
	clock     install.Clock // the machine's own if nil
	log       func(Call)
}

// Client speaks to the API server of a hub. Its methods are safe for concurrent use.
type Client struct {
	host      string
	namespace string // that lists are confined to, "" for none
	clock     install.Clock
	dynamic   dynamic.Interface
	raw       *rest.RESTClient
	time      *serverTime

	connecting sync.Mutex // one at a time asks what the hub has
	mu         sync.Mutex
	closed     bool
	stop       context.CancelFunc // ends all watches; nil before the first
	life       context.Context    // of the watches
	have       *served
	namespaces map[string]*Namespace // that are watched, by name
	views      map[string]*Namespace // what lists are read from where they are followed, by scope; nil where they are not
}

// requestTime is how long one call of the API server may take, beside those that
// watch.
const requestTime = 30 * time.Second

// newClient makes the client; it does not talk to the hub yet. A connection that cannot
// be used is an error with CodeUsage.
func newClient(config clientConfig) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, &install.Fault{Code: install.CodeUsage, Op: "use kubeconfig", Permanent: true, Err: err, Next: "give --kubeconfig FILE, and --context NAME where it has several"}
	}
	if config.kube == nil {
		return fail(errors.New("there is no connection to a hub"))
	}
	c := &Client{host: config.kube.Host, namespace: config.namespace, clock: config.clock, namespaces: map[string]*Namespace{}}
	if c.clock == nil {
		c.clock = clock.Real()
	}
	c.time = &serverTime{clock: c.clock}
	kube := rest.CopyConfig(config.kube)
	kube.Timeout = 0 // watches last; every other call has its own deadline
	if kube.QPS == 0 {
		kube.QPS, kube.Burst = 50, 100 // the API server itself sees to fairness
	}
	kube.WarningHandler = rest.NoWarnings{}
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &caller{next: next, clock: c.clock, log: config.log, time: c.time}
	})
	transport, err := rest.HTTPClientFor(kube)
	if err != nil {
		return fail(err)
	}
	if renews(kube) {
		transport.Transport = &refresher{next: transport.Transport}
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(kube, transport); err != nil {
		return fail(err)
	}
	if c.raw, err = rest.UnversionedRESTClientForConfigAndClient(rawConfig(kube), transport); err != nil {
		return fail(err)
	}
	return c, nil
}

// close ends all watches. Nothing is asked of the client after it.
func (c *Client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.stop != nil {
		c.stop()
	}
}

// lifetime is the context that watches live in. It is ctx without its end: they
// go on when the observation that began them is over.
func (c *Client) lifetime(ctx context.Context) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &install.Fault{Code: install.CodeFailure, Op: "watch the hub", Permanent: true, Err: errors.New("the plane was closed")}
	}
	if c.life == nil {
		c.life, c.stop = context.WithCancel(quiet(context.WithoutCancel(ctx)))
	}
	return c.life, nil
}

// namespaceOf is the namespace of a cluster's objects: the one that was asked
// for, else the one named after the cluster, with dashes for dots.
func (c *Client) namespaceOf(cluster string) string {
	return cmp.Or(c.namespace, strings.ReplaceAll(cluster, ".", "-"))
}

// now is the present moment on the API server's clock.
func (c *Client) now() time.Time { return c.time.now() }
