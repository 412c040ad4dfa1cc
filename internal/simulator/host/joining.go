package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// Joining is a machine that runs the system that was installed on its disk.
type Joining struct {
	Machine Machine
	// ClusterID is the service's id of the cluster.
	ClusterID string
	// Hostname is what the service had it called.
	Hostname string
	// Role is control-plane, worker or arbiter.
	Role string
	// Pool is the MachineConfigPool that it was installed for; empty is its role's.
	Pool string
	// Installation tells one installation of its disk from the next.
	Installation string
	// MetaData are the texts of its config drive, by their keys; nil without one.
	MetaData map[string]string
	// Became is to be called when its node is there, and when that becomes Ready.
	Became func(ready bool)
}

type nodeLife struct {
	added        bool // whether the disk holds such a system
	installation int
	hostname     string
	pool         string
	stop         context.CancelFunc // ends its kubelet; nil while the machine does not run its disk
	running      sync.WaitGroup
	there, ready bool // as its kubelet says, where one is played
}

func (l *machineRun) isAdded(ctx context.Context, cluster string) bool {
	c, err := l.fleet.reader.clusterAt(ctx, cluster, statusAge)
	if err != nil {
		return l.fleet.cfg.Boot == Day2
	}
	return c.takesHosts()
}

func (c *clusterView) takesHosts() bool {
	return c.Kind == "AddHostsCluster" || c.Status == "adding-hosts"
}

// joins starts the kubelet of a machine that was added, or of any, once its system is up. It
// runs until the machine goes off, or boots anything.
func (l *machineRun) joins(ctx context.Context, args *installArgs) {
	if l.fleet.cfg.Joins == nil || !l.node.added && !l.fleet.cfg.JoinsAll {
		return
	}
	ctx, l.node.stop = context.WithCancel(ctx)
	up := l.jitter.of(diskBootTime) + l.jitter.of(ignitionTime) + l.jitter.of(kubeletTime)
	l.schedule(up, func(context.Context) {
		l.mu.Lock()
		j := Joining{
			Machine: l.spec, ClusterID: args.ClusterID, Hostname: cmp.Or(l.node.hostname, l.spec.Hostname), Role: scenario.NormalRole(args.Role),
			Pool: l.node.pool, Installation: fmt.Sprintf("%s-%d", l.spec.UUID, l.node.installation), Became: l.became,
		}
		l.node.there, l.node.ready = false, false
		l.mu.Unlock()
		if disk, is := l.spec.Chassis.(DiskWriter); is {
			if _, system := disk.Written(); system != nil {
				j.MetaData = system.MetaData
			}
		}
		l.node.running.Go(func() {
			if err := l.fleet.cfg.Joins(ctx, j); err != nil && ctx.Err() == nil {
				l.logf("cannot join its cluster: %v", err)
			}
		})
	})
}

func (l *machineRun) became(ready bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node.there, l.node.ready = true, ready
}

// reportNode does what a hub's Agent controller does for a host that is added: it looks into the
// cluster, and tells the service that the host has joined, and that its node is Ready. A service
// that is no hub's has no such stages.
func (l *machineRun) reportNode(ctx context.Context, h hostView) {
	place := slices.Index(h.ProgressStages, h.Progress.CurrentStage)
	if !l.node.added || l.written == nil || place < slices.Index(h.ProgressStages, models.HostStageRebooting) {
		return
	}
	for _, stage := range []models.HostStage{models.HostStageJoined, models.HostStageDone} {
		if slices.Index(h.ProgressStages, stage) <= place || !l.nodeReached(stage) {
			continue
		}
		if err := putProgress(ctx, l.fleet.api, h.InfraEnvID, h.ID, stage, ""); err != nil {
			l.logf("the hub cannot report that it is %s: %v", stage, err)
			return
		}
		l.logf("stage %s", stage)
	}
}

// nodeReached reports whether the machine's node is as far as a stage says. Where no cluster is
// played, that is after some time.
func (l *machineRun) nodeReached(stage models.HostStage) bool {
	if l.fleet.cfg.Joins == nil {
		due, known := l.fleet.nodes.Load(l.spec.UUID)
		return known && due.(node).reached(stage, l.fleet.now())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node.there && (l.node.ready || stage == models.HostStageJoined)
}

// kubeletTime is what a machine's first boot from its disk takes longer than one that reports stages: it updates itself first.
const kubeletTime = time.Minute

// stays reports whether the machine runs on as a node, though nothing more will come of it for
// the service, and says so the first time.
func (l *machineRun) stays(why string) bool {
	if l.node.stop == nil {
		return false
	}
	l.logf("%s, and runs on", why)
	l.fleet.cfg.Ended(l.spec.Name, why)
	return true
}

func (l *machineRun) leave() {
	if l.node.stop != nil {
		l.node.stop()
		l.node.stop = nil
	}
}
