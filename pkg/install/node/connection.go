package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	certificates "k8s.io/api/certificates/v1"
	"k8s.io/klog/v2"

	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// How long calls may take, and how often is looked at what is not watched.
const (
	callTimeout = 20 * time.Second
	firstList   = 30 * time.Second
	freshFor    = 10 * time.Second
	rarelyFor   = 10 * time.Minute
)

// connection is what is known of one cluster by one kubeconfig.
type connection struct {
	*workloadclient.Client

	cluster string // the service's id
	from    string // where the kubeconfig is from
	clock   install.Clock
	time    *serverTime
	stop    context.CancelFunc

	mu   sync.Mutex
	news *kubewatch.Signal // of the next change since the last look

	nodes   *nodeStore
	client  *requestStore
	serving *requestStore

	polled   time.Time // when what follows was read last
	rarely   time.Time
	platform platform
	polls    polls
	etcd     *model.Etcd // nil where it is not needed, or there is none
	etcdRead time.Time   // with what was polled then
	// etcdInstalled is how many members the cluster was installed with, 0 where that is not known.
	etcdInstalled int
	etcdWatch     *etcdWatch                       // nil where it is not wanted
	beginEtcd     func() *etcdWatch                // nil before anything is watched
	luks          map[string]*model.DiskEncryption // by the names of rendered configs, which never change

	leaving  leaving // of nodes that are to be removed
	read     time.Time
	exact    bool        // what is listed is to be as new as can be
	stale    atomic.Bool // something was written since the last look
	refusals refusals
}

// request is a request with the version that its API server has it in.
type request struct {
	model.CertificateRequest
	version string
}

// connect makes the clients of the cluster of a kubeconfig, and begins to watch. It sends nothing that is waited for. The
// requests have no limit of time: a watch lasts, and each other call has its own deadline.
func connect(ctx context.Context, kubeconfig []byte, config *Config, now install.Clock) (*connection, error) {
	c := &connection{clock: now, time: &serverTime{clock: now}, news: kubewatch.NewSignal()}
	var err error
	c.Client, err = workloadclient.Connect(kubeconfig, workloadclient.Options{Config: config.Connection,
		Wrap: func(next http.RoundTripper) http.RoundTripper {
			return &transport{next: next, clock: now, log: config.Log, time: c.time}
		}})
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(withoutLogging(context.WithoutCancel(ctx)))
	c.stop = func() { stop(); c.Close() }
	c.nodes = watch(life, c, "nodes", c.Core.Nodes(), "", readNode)
	c.client = c.watchRequests(life, certificates.KubeAPIServerClientKubeletSignerName)
	c.serving = c.watchRequests(life, certificates.KubeletServingSignerName)
	c.beginEtcd = func() *etcdWatch { return c.watchEtcd(life) }
	return c, nil
}

// there is the present moment on the API server's clock, which is ours until it has told the time.
func (c *connection) there() time.Time {
	if now, known := c.time.Now(); known {
		return now
	}
	return c.clock.Now()
}

// look is the cluster as it is now, with times on the clock that shows now.
func (c *connection) look(ctx context.Context, now time.Time, removal *model.Removal, ofEtcd etcdWanted) (_ *model.Spoke, err error) {
	c.renew() // before it is read: what changes meanwhile is news
	fresh := freshFor
	if c.exact = removal != nil; c.exact {
		fresh = freshForRemoval
	}
	if c.stale.Swap(false) {
		fresh = 0
		defer func() {
			if err != nil {
				c.stale.Store(true)
			}
		}()
	}
	if err := c.poll(ctx, fresh); err != nil {
		return nil, err
	}
	if err := c.synced(ctx); err != nil {
		return nil, err
	}
	etcd := c.etcd
	if ofEtcd != etcdUnwanted {
		if etcd, err = c.seeEtcd(ctx, ofEtcd == etcdWatched); err != nil {
			return nil, err
		}
	}
	if own := c.clock.Now(); removal != nil && (c.read.IsZero() || own.Sub(c.read) >= fresh) {
		if err := c.readLeaving(ctx, removal); err != nil {
			return nil, err
		}
		c.read = own
	}
	there, known := c.time.Now()
	if !known {
		return nil, errNoClock
	}
	var odd error
	ago := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return now.Add(-max(0, there.Sub(at)))
	}
	created := func(at time.Time) time.Time { // which the API server itself dates
		if at.Sub(there) > oddClock {
			odd = fmt.Errorf("%w: its time is %s, but it has an object that was created at %s",
				errNoClock, there.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
		}
		return ago(at)
	}
	spoke := c.platform.spoke()
	spoke.From, spoke.ID, spoke.Version, spoke.MachineAPI = c.from, c.polls.id, c.polls.version, c.polls.machineAPI
	spoke.Pools, spoke.Operators = c.polls.pools, c.polls.operators
	spoke.Machines, spoke.MachineSets, spoke.BareMetalHosts = c.polls.machines, c.polls.sets, c.polls.hosts
	if etcd != nil {
		own := *etcd
		spoke.Etcd = &own
	}
	if removal != nil {
		c.leaving.into(spoke, ago)
	}
	spoke.Nodes = c.nodes.All()
	for i := range spoke.Nodes {
		n := &spoke.Nodes[i]
		n.Created, n.ReadySince = created(n.Created), ago(n.ReadySince)
	}
	for _, s := range []*requestStore{c.client, c.serving} {
		for _, r := range s.All() {
			r.Created, r.ConditionAt = created(r.Created), ago(r.ConditionAt)
			spoke.Requests = append(spoke.Requests, r.CertificateRequest)
		}
	}
	return spoke, odd
}

// oddClock is how far what an API server dates may be ahead of the time that its answers tell.
const oddClock = 30 * time.Second

var errNoClock = errors.New("the time of its API server is not known, so oaictl cannot check certificate requests")

// synced waits for the first lists, and says why nothing comes where nothing does.
func (c *connection) synced(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstList)
	defer cancel()
	if err := await(ctx, "nodes", c.nodes); err != nil {
		return err
	}
	for _, s := range []*requestStore{c.client, c.serving} {
		if err := await(ctx, "certificate requests", s); err != nil {
			return err
		}
	}
	return nil
}

// transport passes calls on, tells of them, and learns the server's time from them.
type transport struct {
	next  http.RoundTripper
	clock install.Clock
	log   func(install.Call)
	time  *serverTime
}

// RoundTrip is of http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	began := t.clock.Now()
	response, err := t.next.RoundTrip(r)
	call := install.Call{Method: r.Method, URL: r.URL.Path, Duration: t.clock.Now().Sub(began)}
	if r.URL.Query().Get("watch") != "" {
		call.Method = "WATCH"
	}
	if err != nil {
		call.Error = redact.Text(err.Error())
	} else {
		call.Status = response.StatusCode
		t.time.observe(response.Header.Get("Date"))
	}
	if t.log != nil {
		t.log(call)
	}
	return response, err
}

// CloseIdleConnections ends those that are open.
func (t *transport) CloseIdleConnections() {
	if closer, is := t.next.(interface{ CloseIdleConnections() }); is {
		closer.CloseIdleConnections()
	}
}

// serverTime is the API server's clock, as far as its answers tell.
type serverTime struct {
	clock install.Clock
	mu    sync.Mutex
	date  time.Time // of the last answer
	own   time.Time // our clock then
}

func (s *serverTime) observe(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date, s.own = at, s.clock.Now()
}

// Now is the present moment on the server's clock, if it has ever told the time.
func (s *serverTime) Now() (now time.Time, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.date.Add(s.clock.Now().Sub(s.own)), !s.date.IsZero()
}

// tell signals a change.
func (c *connection) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news.Give()
}

// renew says that all has been seen until now.
func (c *connection) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news.IsGiven() {
		c.news = kubewatch.NewSignal()
	}
}

// changed is closed at the next change since the last look.
func (c *connection) changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news.Given()
}

// withoutLogging keeps what client-go would write to the standard error to itself: what goes wrong is
// said in what is observed.
func withoutLogging(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

var errNoList = errors.New("it has not answered yet")

func listFault(what string, err error) error { return fmt.Errorf("list its %s: %w", what, err) }
