package host

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

// op is one part of an installation. It returns done when the next one may
// follow after wait; else it is run again after wait. A negative wait ends the
// installation where it is.
type op func(ctx context.Context) (wait time.Duration, done bool)

// parked is the wait of an op after which nothing follows by itself.
const parked = -1

type installation struct {
	step  *models.Step
	args  installArgs
	todo  []op
	index int
}

// singleNode reports whether the machine becomes a whole cluster by itself.
func (a *installArgs) singleNode() bool { return a.Role == "bootstrap" && a.controlPlanes() == 1 }

// controlPlanes is the number of control plane machines. Old services know of one and of three.
func (a *installArgs) controlPlanes() int {
	switch {
	case a.ControlPlaneCount > 0:
		return a.ControlPlaneCount
	case a.HighAvailability == "None":
		return 1
	}
	return 3
}

// startInstall runs the installer, unless it runs: the step is repeated at every poll until there is progress.
func (l *machineRun) startInstall(s *models.Step) {
	if l.install != nil {
		return
	}
	inst := &installation{step: s}
	if err := argument(s, &inst.args); err != nil {
		l.schedule(0, func(ctx context.Context) { l.reply(ctx, s, failed(err)) })
		return
	}
	inst.args.HostID = cmp.Or(inst.args.HostID, l.spec.UUID)
	inst.args.InfraEnvID = cmp.Or(inst.args.InfraEnvID, l.infraEnv())
	l.mu.Lock()
	l.role = inst.args.Role
	l.mu.Unlock()
	inst.todo = l.plan(inst)
	l.install = inst
	l.logf("installs as %s", inst.args.Role)
	l.schedule(l.jitter.of(startingTime), l.proceed(inst))
}

func (l *machineRun) proceed(inst *installation) func(context.Context) {
	return func(ctx context.Context) {
		if l.install != inst || inst.index >= len(inst.todo) {
			return
		}
		wait, done := inst.todo[inst.index](ctx)
		if done {
			inst.index++
		}
		if l.install == inst && wait >= 0 {
			l.schedule(wait, l.proceed(inst))
		}
	}
}

func (l *machineRun) plan(inst *installation) []op {
	role := inst.args.Role
	start := l.stageOp(inst, models.HostStageStartingInstallation, role, l.jitter.of(startingTime))
	installing := func(as string) op { return l.stageOp(inst, models.HostStageInstalling, as, l.jitter.of(preparingDisk)) }
	write := append(l.writeImage(inst), l.pause(l.jitter.of(bootloader)))
	finish := []op{l.sendLogs(inst), l.rebootOp(inst)}
	var middle []op
	switch {
	case inst.args.singleNode():
		middle = append(middle, installing(role), l.fetchBootstrap(inst))
		middle = append(middle, l.stageOp(inst, models.HostStageWaitingForBootkube, "", l.jitter.of(bootkubeInPlace)))
		middle = append(middle, write...)
	case role == "bootstrap":
		// Its disk is a master's. It fetches what makes it the bootstrap before.
		middle = append(middle, l.fetchBootstrap(inst), installing("master"), l.fetchIgnition(inst))
		middle = append(append(middle, write...), l.bootstrapTail(inst)...)
	case role == "worker":
		middle = append([]op{installing(role), l.fetchIgnition(inst)}, write...)
		middle = append(middle, l.waitForControlPlane(inst))
	default:
		middle = append([]op{installing(role), l.fetchIgnition(inst)}, write...)
	}
	return append(append([]op{start}, middle...), finish...)
}

func (l *machineRun) pause(d time.Duration) op {
	return func(context.Context) (time.Duration, bool) { return d, true }
}

// stageOp reports a stage and stays in it for hold, and longer or for good if a trouble says so.
func (l *machineRun) stageOp(inst *installation, stage models.HostStage, info string, hold time.Duration) op {
	reported := false
	return func(ctx context.Context) (time.Duration, bool) {
		if !reported {
			if err := l.report(ctx, stage, info); err != nil && !refused(err) {
				return progressRetry, false
			}
			reported = true
			l.logf("stage %s", stage)
			l.enter(stage)
		}
		if wait, held := l.held(ctx, inst); held {
			return wait, false
		}
		return hold, true
	}
}

func (l *machineRun) held(ctx context.Context, inst *installation) (time.Duration, bool) {
	if t := l.trouble(scenario.DoFail); t != nil {
		reason := t.rule.Args.String("reason", "failed after 3 attempts, last error: exit status 1")
		return l.fail(ctx, inst, reason, func() { l.finish(t) })
	}
	if off := l.trouble(scenario.DoPowerOff); off != nil {
		l.powerOff(off)
		return parked, true
	}
	if t := l.trouble(scenario.DoStall); t != nil {
		left, ends := t.left(l.fleet.now())
		if !ends {
			return personTick, true
		}
		return left, true
	}
	return 0, false
}

func (l *machineRun) fail(ctx context.Context, inst *installation, reason string, then func()) (time.Duration, bool) {
	if err := l.report(ctx, models.HostStageFailed, reason); err != nil && !refused(err) {
		return progressRetry, true
	}
	l.logf("fails: %s", reason)
	l.reply(ctx, inst.step, models.StepReply{ExitCode: 1, Error: reason})
	l.install = nil
	then()
	return parked, true
}

func (l *machineRun) report(ctx context.Context, stage models.HostStage, info string) error {
	err := putProgress(ctx, l.agentAPI(), l.infraEnv(), l.spec.UUID, stage, info)
	if err != nil {
		l.logf("cannot report stage %s: %v", stage, err)
	}
	return err
}

func putProgress(ctx context.Context, api *client, infraEnv, host string, stage models.HostStage, info string) error {
	return api.send(ctx, http.MethodPut, hostPath(infraEnv, host)+"/progress",
		models.HostProgress{CurrentStage: stage, ProgressInfo: info}, nil)
}

func (l *machineRun) writeImage(inst *installation) []op {
	pace := l.jitter.of(writingTime) * percentStep / 100
	ops := []op{l.stageOp(inst, models.HostStageWritingImageToDisk, "", pace)}
	for percent := percentStep; percent <= 100; percent += percentStep {
		ops = append(ops, func(ctx context.Context) (time.Duration, bool) {
			if wait, held := l.held(ctx, inst); held {
				return wait, false
			}
			// A percentage that gets lost is made good by the next one.
			_ = l.report(ctx, models.HostStageWritingImageToDisk, strconv.Itoa(percent)+"%")
			return pace, true
		})
	}
	return ops
}

func (l *machineRun) fetch(inst *installation, path string) op {
	const tries = 10
	attempt := 0
	return func(ctx context.Context) (time.Duration, bool) {
		err := l.agentAPI().get(ctx, path, nil)
		if err == nil {
			return time.Second, true
		}
		attempt++
		l.logf("cannot download: %v", err)
		if refused(err) && attempt >= tries {
			wait, _ := l.fail(ctx, inst, fmt.Sprintf("failed to download %s: HTTP %d", path, status(err)), func() {})
			return wait, false
		}
		return progressRetry, false
	}
}

// fetchIgnition gets the machine's own Ignition; this path alone has infra-env in the singular.
func (l *machineRun) fetchIgnition(inst *installation) op {
	return l.fetch(inst, "/v2/infra-env/"+inst.args.InfraEnvID+"/hosts/"+inst.args.HostID+"/downloads/ignition")
}

// fetchBootstrap gets the Ignition of the bootstrap, which has its kubeconfig, too.
func (l *machineRun) fetchBootstrap(inst *installation) op {
	return l.fetch(inst, clusterPath(inst.args.ClusterID)+"/downloads/files?file_name=bootstrap.ign")
}

// waitForControlPlane holds a worker until two control plane nodes are done, but for one added on day 2.
func (l *machineRun) waitForControlPlane(inst *installation) op {
	const enough = 2
	enter := l.stageOp(inst, models.HostStageWaitingForControlPlane, "", 0)
	return func(ctx context.Context) (time.Duration, bool) {
		c, err := l.fleet.reader.clusterAt(ctx, inst.args.ClusterID, statusAge)
		if err != nil {
			return progressRetry, false
		}
		if c.takesHosts() {
			return 0, true
		}
		if wait, entered := enter(ctx); !entered {
			return wait, false
		}
		done := 0
		for _, h := range c.Hosts {
			if controlPlane(h.Role) && h.Progress.CurrentStage == models.HostStageDone {
				done++
			}
		}
		return peerPoll, done >= enough
	}
}

// controlPlane counts arbiters in, as the installer does.
func controlPlane(role string) bool {
	return role == "master" || role == "bootstrap" || role == "arbiter"
}

func (l *machineRun) sendLogs(inst *installation) op {
	return func(ctx context.Context) (time.Duration, bool) {
		l.uploadLogs(ctx, inst.args.ClusterID, inst.args.InfraEnvID)
		return l.jitter.of(logsTime), true
	}
}

func (l *machineRun) rebootOp(inst *installation) op {
	enter := l.stageOp(inst, models.HostStageRebooting, "", 0)
	shutdown := l.jitter.of(shutdownTime)
	return func(ctx context.Context) (time.Duration, bool) {
		if wait, done := enter(ctx); !done {
			return wait, false
		}
		l.reply(ctx, inst.step, models.StepReply{})
		l.schedule(shutdown, func(ctx context.Context) { l.reboot(ctx, inst) })
		return parked, true
	}
}

// reboot leaves the live system, for the disk or, in trouble, the ISO again.
func (l *machineRun) reboot(ctx context.Context, inst *installation) {
	args := inst.args
	l.written = &args
	l.node.added = l.isAdded(ctx, args.ClusterID)
	l.node.installation++
	if t := l.trouble(scenario.DoBootISO); t != nil {
		l.logf("boots the ISO instead of its disk")
		l.bootISO()
		if t.rule.For() > 0 {
			l.schedule(t.rule.For(), func(ctx context.Context) {
				l.logf("has its boot order put right")
				l.finish(t)
				l.bootDisk(ctx)
			})
		}
		return
	}
	if l.spec.Chassis != nil {
		l.start(ctx) // which may find its boot order wrong
		return
	}
	l.bootDisk(ctx)
}

func (l *machineRun) bootDisk(ctx context.Context) {
	args := *l.written
	l.reset()
	l.setStage(models.HostStageRebooting)
	l.logf("boots from its disk")
	l.watch()
	l.fleet.nodes.Store(l.spec.UUID, newNode(l.fleet.now(), l.jitter.of))
	l.joins(ctx, &args)
	if args.singleNode() {
		l.fleet.startController(ctx, args)
	}
}

// bootstrapTail hosts the first control plane, after the bootstrap's own disk, until others carry it.
func (l *machineRun) bootstrapTail(inst *installation) []op {
	return []op{
		l.stageOp(inst, models.HostStageWaitingForControlPlane, "Waiting for bootstrap node preparation", l.jitter.of(bootstrapPreparing)),
		l.stageOp(inst, models.HostStageWaitingForControlPlane, "Waiting for masters to join bootstrap control plane", 0),
		l.waitForMasters(inst),
		l.stageOp(inst, models.HostStageWaitingForBootkube, "", l.jitter.of(bootkubeTime)),
		l.stageOp(inst, models.HostStageWaitingForBootkube, "waiting for ETCD bootstrap to be complete", 0),
		l.stageOp(inst, models.HostStageWaitingForController, "waiting for controller pod ready event", l.jitter.of(controllerTime)),
		func(ctx context.Context) (time.Duration, bool) {
			l.fleet.startController(ctx, inst.args)
			return peerPoll, true
		},
	}
}

// waitForMasters reports the other control plane nodes as they join: all but the bootstrap, but two at most.
func (l *machineRun) waitForMasters(inst *installation) op {
	enough := min(max(inst.args.controlPlanes(), 2)-1, 2)
	return func(ctx context.Context) (time.Duration, bool) {
		if wait, held := l.held(ctx, inst); held {
			return wait, false
		}
		c, err := l.fleet.reader.clusterAt(ctx, inst.args.ClusterID, statusAge)
		if err != nil {
			return peerPoll, false
		}
		joined, arbiters, arbitersJoined := 0, 0, 0
		for _, h := range c.Hosts {
			if !controlPlane(h.Role) || h.ID == l.spec.UUID {
				continue
			}
			stage := l.fleet.advance(ctx, h, models.HostStageJoined)
			there := stage == models.HostStageJoined || stage == models.HostStageDone
			switch {
			case h.Role == "arbiter":
				arbiters++
				if there {
					arbitersJoined++
				}
			case there:
				joined++
			}
		}
		if joined >= enough && (arbiters == 0 || arbitersJoined > 0) {
			return l.jitter.of(peerPoll), true
		}
		return peerPoll, false
	}
}
