// Package kube speaks to the API server of a hub. It knows the kinds of objects that
// an install consists of and who owns their fields, and nothing of what is decided.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Client speaks to the API server of a hub. Its methods are safe for concurrent use.
type Client struct {
	Host      string
	Namespace string // that lists are confined to, "" for none
	Clock     install.Clock
	Dynamic   dynamic.Interface
	Raw       *rest.RESTClient
	Texts     hubapi.Texts // of all objects that are kept
	Informers Informers    // nil for none
	time      *ServerTime

	connecting sync.Mutex // one at a time asks what the hub has
	mu         sync.Mutex
	closed     bool
	stop       context.CancelFunc    // ends all watches; nil before the first
	life       context.Context       // of the watches
	Served     map[Kind]bool         // the kinds that the hub has; nil before it was asked
	Namespaces map[string]*Namespace // that are watched, by name, all together by \"\"
	follows    bool                  // lists are read from what is watched
}

// Informers fill a store with the objects of a kind in a namespace, as hub.Config says.
type Informers = func(life context.Context, kind schema.GroupVersionKind, namespace string, into kubewatch.Filled) bool

// RequestTimeout is how long a call of the API server may take, beside those that watch.
const RequestTimeout = 30 * time.Second

// New makes the client for a namespace, "" for all; it does not talk to the hub yet. The
// clock is the machine's own if nil. A connection that cannot be used is an error with
// CodeUsage.
func New(connection *rest.Config, namespace string, now install.Clock, log func(install.Call)) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, &model.Fault{Code: model.CodeUsage, Op: "use kubeconfig", Permanent: true, Err: err,
			Next: "give --kubeconfig FILE, and --context NAME where it has several"}
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
		return nil, &model.Fault{Code: model.CodeFailure, Op: "watch the hub", Permanent: true, Err: errors.New("the plane was closed")}
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

// Connect asks, once, what the hub serves. A hub that lacks what an install
// needs is a fault that names it.
func (c *Client) Connect(ctx context.Context) (served map[Kind]bool, err error) {
	c.connecting.Lock()
	defer c.connecting.Unlock()
	c.mu.Lock()
	served = c.Served
	c.mu.Unlock()
	if served != nil {
		return served, nil
	}
	have := map[string]bool{}
	for _, version := range []string{
		hubapi.GroupHive + "/" + hubapi.VersionHive, hubapi.GroupHiveExtension + "/" + hubapi.VersionHiveExtension,
		hubapi.GroupAgentInstall + "/" + hubapi.VersionAgentInstall, hubapi.GroupMetal3 + "/" + hubapi.VersionMetal3,
	} {
		names, err := c.resourcesOf(ctx, version)
		if err != nil {
			return nil, err
		}
		group, _, _ := strings.Cut(version, "/")
		for _, name := range names {
			have[name+"."+group] = true
		}
	}
	var missing []string
	served = map[Kind]bool{}
	for _, k := range Known() {
		name := k.Resource().GroupResource().String()
		served[k] = k.Resource().Group == "" || have[name]
		if !served[k] && slices.Contains(Required(), k) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, &model.Fault{
			Code: model.CodeFailure, Op: "use the hub", On: c.Host, Permanent: true,
			Err: fmt.Errorf("it does not serve %s: either this is another cluster, or the assisted-service's operator is not installed",
				strings.Join(missing, ", ")),
			Next: "check --kubeconfig and --context; on a hub, install the multicluster engine (or the infrastructure operator) and create an " +
				"AgentServiceConfig",
		}
	}
	c.mu.Lock()
	c.Served = served
	c.mu.Unlock()
	return served, nil
}

// resourcesOf are the resources of a group's version, none where the hub does not know it.
func (c *Client) resourcesOf(ctx context.Context, groupVersion string) ([]string, error) {
	var list metav1.APIResourceList
	if found, err := c.readDiscovery(ctx, groupVersion, "/apis/"+groupVersion, &list); err != nil || !found {
		return nil, err
	}
	names := make([]string, 0, len(list.APIResources))
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	return names, nil
}

// loggingTransport passes calls on, tells of them, and learns the server's time from them.
type loggingTransport struct {
	next  http.RoundTripper
	clock install.Clock
	log   func(install.Call)
	time  *ServerTime
}

// RoundTrip is of http.RoundTripper.
func (c *loggingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	began := c.clock.Now()
	response, err := c.next.RoundTrip(request)
	call := install.Call{Method: request.Method, URL: request.URL.Path, Duration: c.clock.Now().Sub(began)}
	if request.URL.Query().Get("watch") != "" {
		call.Method = "WATCH"
	}
	switch {
	case err != nil:
		call.Error = redact.Text(err.Error())
	default:
		call.Status = response.StatusCode
		c.time.observe(response.Header.Get("Date"))
	}
	if c.log != nil {
		c.log(call)
	}
	return response, err
}

// ServerTime is the API server's clock, as far as its answers tell.
type ServerTime struct {
	clock  install.Clock
	mu     sync.Mutex
	known  bool
	offset time.Duration
}

// minimumOffset is what the whole seconds of a Date, and the way of an answer, explain.
const minimumOffset = 3 * time.Second

// observe learns from the first answer how far the server's clock is from ours.
func (s *ServerTime) observe(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return
	}
	s.known = true
	if offset := at.Sub(s.clock.Now()); offset.Abs() > minimumOffset {
		s.offset = offset
	}
}

// Now is the present moment on the server's clock.
func (s *ServerTime) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.Now().Add(s.offset)
}

// WithTimeout gives a call its deadline, and keeps client-go from logging it.
func WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(withoutLogging(ctx), RequestTimeout)
}

// withoutLogging keeps what client-go would write to the standard error to itself: what
// goes wrong is reported by the plane.
func withoutLogging(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// rawConfig is for calls whose answers are read as they are.
func rawConfig(kube *rest.Config) *rest.Config {
	raw := rest.CopyConfig(kube)
	raw.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	raw.APIPath = "/apis"
	return raw
}

// retryTransport sends a call that was not authorised once more: by then client-go has
// had the credential plug-in make new ones.
type retryTransport struct{ next http.RoundTripper }

// renewsCredentials says whether the credentials of a connection are made anew once they are
// refused. Those that stand in a kubeconfig would be the same again.
func renewsCredentials(kube *rest.Config) bool {
	return kube.ExecProvider != nil || kube.AuthProvider != nil
}

// RoundTrip is of http.RoundTripper.
func (r *retryTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	again := request.Clone(request.Context())
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return response, nil
		}
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil //nolint:nilerr // the answer that there is says more
		}
	}
	_ = response.Body.Close()
	return r.next.RoundTrip(again)
}
