package kube

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

// Client speaks to the API server of a hub. Its methods are safe for concurrent use.
type Client struct {
	Host      string
	Namespace string // that lists are confined to, "" for none
	Clock     install.Clock
	Dynamic   dynamic.Interface
	Raw       *rest.RESTClient
	time      *ServerTime

	connecting sync.Mutex // one at a time asks what the hub has
	mu         sync.Mutex
	closed     bool
	stop       context.CancelFunc // ends all watches; nil before the first
	life       context.Context    // of the watches
	have       Served
	Namespaces map[string]*Namespace // that are watched, by name
	views      map[string]*Namespace // what lists are read from where they are followed, by scope; nil where they are not
}

// RequestTimeout is how long one call of the API server may take, beside those that
// watch.
const RequestTimeout = 30 * time.Second

// New makes the client for a namespace, "" for all; it does not talk to the hub yet. The
// clock is the machine's own if nil. A connection that cannot be used is an error with
// CodeUsage.
func New(connection *rest.Config, namespace string, now install.Clock, log func(Call)) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, &install.Fault{Code: install.CodeUsage, Op: "use kubeconfig", Permanent: true, Err: err, Next: "give --kubeconfig FILE, and --context NAME where it has several"}
	}
	if connection == nil {
		return fail(errors.New("there is no connection to a hub"))
	}
	c := &Client{Host: connection.Host, Namespace: namespace, Clock: now, Namespaces: map[string]*Namespace{}}
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	c.time = &ServerTime{clock: c.Clock}
	kube := rest.CopyConfig(connection)
	kube.Timeout = 0 // watches last; every other call has its own deadline
	if kube.QPS == 0 {
		kube.QPS, kube.Burst = 50, 100 // the API server itself sees to fairness
	}
	kube.WarningHandler = rest.NoWarnings{}
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &loggingTransport{next: next, clock: c.Clock, log: log, time: c.time}
	})
	transport, err := rest.HTTPClientFor(kube)
	if err != nil {
		return fail(err)
	}
	if renewsCredentials(kube) {
		transport.Transport = &retryTransport{next: transport.Transport}
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(kube, transport); err != nil {
		return fail(err)
	}
	if c.Raw, err = rest.UnversionedRESTClientForConfigAndClient(rawConfig(kube), transport); err != nil {
		return fail(err)
	}
	return c, nil
}

// Close ends all watches. Nothing is asked of the client after it.
func (c *Client) Close() {
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
		c.life, c.stop = context.WithCancel(withoutLogging(context.WithoutCancel(ctx)))
	}
	return c.life, nil
}

// NamespaceOf is the namespace of a cluster's objects: the one that was asked
// for, else the one named after the cluster, with dashes for dots.
func (c *Client) NamespaceOf(cluster string) string {
	return cmp.Or(c.Namespace, strings.ReplaceAll(cluster, ".", "-"))
}

// Now is the present moment on the API server's clock.
func (c *Client) Now() time.Time { return c.time.Now() }
