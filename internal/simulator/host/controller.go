package host

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// spokes is the clusters in the making whose controller runs in this fleet.
type spokes struct {
	mu      sync.Mutex
	running map[string]bool
	group   sync.WaitGroup
}

func newSpokes() *spokes { return &spokes{running: map[string]bool{}} }

func (s *spokes) start(cluster string, run func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[cluster] {
		return
	}
	s.running[cluster] = true
	s.group.Go(func() {
		run()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, cluster)
	})
}

func (s *spokes) wait() { s.group.Wait() }

// controller is the assisted-installer-controller of one new cluster: the part
// of an installation that runs inside the cluster itself.
type controller struct {
	fleet   *Fleet
	cluster string
	version string
	// takes is how long the operators need from the beginning of finalizing.
	takes time.Duration

	// since is when that part of finalizing began, place how many chapters of
	// it are over, rest that a stage has just begun; olm tells that the
	// operators on top have been started.
	since     time.Time
	place     int
	rest      bool
	operators map[string]operatorReport
	olm       bool
}

func (f *Fleet) startController(ctx context.Context, args installArgs) {
	c := &controller{
		fleet: f, cluster: args.ClusterID, version: args.OpenshiftVersion,
		operators: map[string]operatorReport{},
		takes:     newJitter(f.cfg.Seed, len(f.lives)).of(operatorsTime),
	}
	f.spokes.start(args.ClusterID, func() { c.run(ctx) })
}

func (c *controller) logf(format string, args ...any) {
	c.fleet.logf("controller: "+format, args...)
}

func (c *controller) run(ctx context.Context) {
	c.logf("starts")
	for {
		var cluster clusterView
		err := c.fleet.api.get(ctx, clusterPath(c.cluster), &cluster)
		switch {
		case status(err) == http.StatusNotFound:
			c.logf("ends: the cluster is gone")
			return
		case err != nil:
			c.logf("cannot read the cluster: %v", err)
		case !slices.Contains([]string{"installing", "installing-pending-user-action", "finalizing"}, cluster.Status):
			c.logf("ends: the cluster is %s", cluster.Status)
			if cluster.Status == "error" && !c.since.IsZero() {
				c.cutShort(ctx)
			}
			return
		default:
			c.advanceNodes(ctx, cluster)
			if cluster.Status == "finalizing" {
				c.finalize(ctx)
			}
		}
		if c.fleet.cfg.Clock.Sleep(ctx, nodeTick) != nil {
			return
		}
	}
}

func (c *controller) advanceNodes(ctx context.Context, cluster clusterView) {
	for _, h := range cluster.Hosts {
		c.fleet.advance(ctx, h, stageDone)
	}
}
