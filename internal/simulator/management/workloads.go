package management

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

type workloads struct {
	ctx     context.Context // of the site
	config  Config
	service *assisted.Client
	logf    func(string, ...any)

	mu     sync.Mutex
	free   []*rest.Config
	all    map[string]*Workload
	closed bool
	shared sharedCluster

	running sync.WaitGroup
}

func newWorkloads(ctx context.Context, config Config, logf func(string, ...any)) *workloads {
	return &workloads{ctx: ctx, config: config, logf: logf, free: slices.Clone(config.Servers), all: map[string]*Workload{}}
}

// prepare has the API servers know the kinds of workload clusters, which takes them a while.
func (w *workloads) prepare(ctx context.Context) error {
	servers := slices.Clone(w.config.Servers)
	if w.config.Shared != nil {
		servers = append(servers, w.config.Shared)
	}
	var preparing sync.WaitGroup
	errs := make([]error, len(servers))
	for i, server := range servers {
		preparing.Go(func() { errs[i] = spoke.Prepare(ctx, server, w.config.Clock) })
	}
	preparing.Wait()
	return errors.Join(errs...)
}

// access gives a cluster whose installation starts an API server, which refuses connections at first.
func (w *workloads) access(clusterID, name string) (simulator.Access, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.all[clusterID]
	if c == nil {
		var err error
		if c, err = w.open(clusterID, name); c == nil {
			if err != nil {
				w.logf("%s has no API server: %v", name, err)
			}
			return simulator.Access{}, false
		}
		w.all[clusterID] = c
		w.running.Go(func() { c.follow(w.ctx) })
	}
	ca := c.kube.CAData
	if c.view != nil {
		ca = c.view.ca
	}
	return simulator.Access{Server: c.gate.URL(), CA: ca, Cert: c.kube.CertData, Key: c.kube.KeyData}, true
}

// open makes a workload cluster of the next free API server, or the shared one; nil without any.
func (w *workloads) open(clusterID, name string) (*Workload, error) {
	c := &Workload{workloads: w, id: clusterID, name: name, labels: map[string]string{}}
	switch {
	case w.closed:
		return nil, nil
	case len(w.free) > 0:
		c.kube, w.free = w.free[0], w.free[1:]
	case w.config.Shared != nil:
		c.kube = w.config.Shared
		var err error
		if c.view, err = newView(w.ctx, c.kube, clusterID); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("all are taken")
	}
	var err error
	if c.gate, err = newGate(w.ctx); err == nil {
		return c, nil
	}
	if c.view != nil {
		return nil, errors.Join(err, c.view.close())
	}
	w.free = append(w.free, c.kube)
	return nil, err
}

func (w *workloads) named(name string) *Workload {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.all {
		if c.name == name {
			return c
		}
	}
	return nil
}

// forget takes a cluster away that is gone, and gives its API server to the next.
func (w *workloads) forget(c *Workload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c.id)
	if c.view == nil {
		w.free = append(w.free, c.kube)
	}
}

// join has a machine that boots its installed disk join its cluster: by the service's id of that,
// or, where it was imported anew, by what the cluster calls itself.
func (w *workloads) join(ctx context.Context, j host.Joining) error {
	w.mu.Lock()
	c := w.all[j.ClusterID]
	w.mu.Unlock()
	if c == nil {
		var err error
		if c, err = w.imported(ctx, j.ClusterID); err != nil || c == nil {
			return err
		}
	}
	return c.join(ctx, j)
}

// imported is the cluster that the service knows by another id, too; nil where nothing plays it.
func (w *workloads) imported(ctx context.Context, clusterID string) (*Workload, error) {
	var said struct {
		ID string `json:"openshift_cluster_id"`
	}
	if err := w.service.Do(ctx, "GET", "/v2/clusters/"+clusterID+"?exclude-hosts=true", nil, &said); err != nil {
		return nil, fmt.Errorf("read the cluster that it joins: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.all {
		if said.ID != "" && c.openshiftID() == said.ID {
			return c, nil
		}
	}
	return nil, nil
}

func (w *workloads) close() error {
	w.mu.Lock()
	w.closed = true
	all := w.all
	w.mu.Unlock()
	w.running.Wait()
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
		if c.stop != nil {
			c.stop()
		}
	}
	return errors.Join(errs...)
}

// sharedCluster is the one that is played for all that share an API server.
type sharedCluster struct {
	setUp  sync.Mutex
	played *spoke.Spoke
}

const sharedName = "shared"

// sharedSpoke sets it up for the first that needs it, with that one's version.
func (w *workloads) sharedSpoke(ctx context.Context, version string) (*spoke.Spoke, error) {
	w.shared.setUp.Lock()
	defer w.shared.setUp.Unlock()
	if w.shared.played != nil {
		return w.shared.played, nil
	}
	played, err := spoke.New(spoke.Config{
		Kube: w.config.Shared, Clock: w.config.Clock, Stamps: clock.Real(), Shared: true, LeaseEvery: sharedLease,
		Approvers: spoke.Approvers{DayOne: true},
		Cluster: spoke.Cluster{
			Name: sharedName, BaseDomain: "example.com", Version: version, Joining: true,
			ControlPlane: []spoke.Node{{Name: sharedName, Addresses: unused()}},
		},
		Logf: w.logf,
	})
	if err != nil {
		return nil, err
	}
	if err := played.SetUp(ctx); err != nil {
		return nil, err
	}
	if err := played.Installed(ctx); err != nil {
		return nil, err
	}
	w.running.Go(func() { _ = played.Run(w.ctx) }) // which ends with the site
	w.shared.played = played
	return played, nil
}

func addressOf(config *rest.Config) (string, error) {
	u, err := url.Parse(config.Host)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("the address of the API server %q has no host", config.Host)
	}
	return u.Host, nil
}
