package host

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

const defaultAgentVersion = "quay.io/edge-infrastructure/assisted-installer-agent:latest"

// machineRun is a machine from power-on to being a node. One goroutine lives it; others touch only what mu guards.
type machineRun struct {
	fleet *Fleet
	index int
	spec  Machine
	// stranger marks a machine that a scenario makes appear.
	stranger bool

	jitter jitter
	agenda agenda
	// session counts boots; what a former boot has put on the agenda is void.
	session int
	ended   bool
	// known is true once the service has accepted the machine, watched while its state is monitored.
	known, watched bool

	agentVersion string
	replied      map[models.StepType]replied
	inFlight     map[models.StepType]bool
	logsGathered bool
	install      *installation
	// written is what was last installed on the disk; nil is an empty disk.
	written *installArgs
	// writtenByOthers is how often others had written the disk when it was last looked at.
	writtenByOthers int
	image           atomic.Pointer[liveImage]
	// on and starts are how the machine's controller had it switched when it was last looked at.
	on     bool
	starts int
	node   nodeLife

	mu       sync.Mutex
	role     string           // of the service, once known
	status   string           // of the service, as last seen
	stage    models.HostStage // as last reported
	answered []string         // types of instructions, each once
	troubles []*activeRule
}

func newLife(f *Fleet, index int, spec Machine) *machineRun {
	l := &machineRun{
		fleet: f, index: index, spec: spec,
		jitter:       newJitter(f.cfg.Seed, index),
		agentVersion: defaultAgentVersion,
		replied:      map[models.StepType]replied{},
		inFlight:     map[models.StepType]bool{},
	}
	l.image.Store(&liveImage{api: f.api, infraEnv: spec.InfraEnvID})
	for _, rule := range f.cfg.Scenario.HostRules() {
		if rule.Do != scenario.DoAppear && rule.Do != scenario.DoOperatorsTimeout { // which hit no single machine that is there
			l.troubles = append(l.troubles, &activeRule{rule: rule})
		}
	}
	return l
}

// run lives the life until it ends by itself or with ctx.
func (l *machineRun) run(ctx context.Context) {
	defer l.node.running.Wait()
	defer l.leave()
	if l.spec.Chassis == nil {
		l.schedule(l.jitter.of(10*time.Second), l.powerOn)
	}
	for !l.ended {
		switched := l.follow()
		e, more := l.agenda.next()
		switch {
		case more:
			due, err := l.await(ctx, e, switched)
			if err != nil {
				return
			}
			if due {
				done := clock.Freeze(l.fleet.cfg.Clock)
				e.do(ctx)
				done()
			}
		case switched == nil && l.node.stop == nil:
			return
		default:
			select {
			case <-switched:
			case <-ctx.Done():
				return
			}
		}
	}
}

// schedule puts do on the agenda, to be void once the machine has booted anew.
func (l *machineRun) schedule(d time.Duration, do func(context.Context)) {
	session := l.session
	l.agenda.add(l.fleet.now().Add(d), func(ctx context.Context) {
		if l.session == session {
			do(ctx)
		}
	})
}

func (l *machineRun) end(why string) {
	l.logf("%s", why)
	l.ended = true
	if !l.stranger {
		l.fleet.cfg.Ended(l.spec.Name, why)
	}
}

// conclude is for machines that are part of a cluster, and of which nothing more will be seen in
// the service. One that was added to an open fleet may still be switched by its controller.
func (l *machineRun) conclude(why string) {
	if l.spec.Chassis == nil || !l.fleet.cfg.Open {
		l.end(why)
		return
	}
	l.logf("%s", why)
	l.fleet.cfg.Ended(l.spec.Name, why)
}

// rest is for machines from which nothing more will come unless their controller has them boot again.
func (l *machineRun) rest(why string) {
	if l.stays(why) {
		return
	}
	if l.spec.Chassis == nil {
		l.end(why)
		return
	}
	l.logf("%s", why)
	l.reset()
}

func (l *machineRun) logf(format string, args ...any) {
	l.fleet.logf("%s: "+format, append([]any{l.spec.Name}, args...)...)
}

func (l *machineRun) reset() {
	l.leave()
	l.session++
	l.agenda = nil
	l.install = nil
	l.inFlight = map[models.StepType]bool{}
	l.replied = map[models.StepType]replied{}
	l.logsGathered = false
	l.watched = false
}

// powerOn boots the discovery image, when the time for it has come.
func (l *machineRun) powerOn(ctx context.Context) {
	l.notice()
	if l.stranger && (l.trouble(scenario.DoAppear) == nil || !l.borrowImage()) {
		l.schedule(waitForDayTwo/2, l.powerOn)
		return
	}
	if l.staysDark(l.powerOn) {
		return
	}
	if !l.dayHasCome(ctx) {
		l.schedule(waitForDayTwo, l.powerOn)
		return
	}
	l.bootISO()
}

// staysDark says whether a trouble keeps a machine from booting, and has it try again once that ends.
func (l *machineRun) staysDark(again func(context.Context)) bool {
	dark := l.trouble(scenario.DoNeverBoot)
	if dark == nil {
		return false
	}
	if left, ends := dark.left(l.fleet.now()); ends {
		l.schedule(left, again)
	} else {
		l.end("never boots")
	}
	return true
}

func (l *machineRun) dayHasCome(ctx context.Context) bool {
	if l.fleet.cfg.Boot == Day1 {
		return true
	}
	ie, err := read[infraEnvView](ctx, l.fleet.reader, infraEnvPath(l.infraEnv()), statusAge)
	if err != nil || ie.ClusterID == "" {
		return err == nil
	}
	c, err := l.fleet.reader.clusterAt(ctx, ie.ClusterID, statusAge)
	return err == nil && c.Status == "adding-hosts"
}

func (l *machineRun) bootISO() { l.bootDiscovery("boots the discovery image") }

func (l *machineRun) bootDiscovery(as string) {
	l.reset()
	l.fleet.nodes.Delete(l.spec.UUID)
	l.setStage("")
	l.logf("%s", as)
	l.schedule(l.jitter.of(bootTime), l.register)
}

// register tells the service of the machine. Once refused, the agent gives up until the next boot.
func (l *machineRun) register(ctx context.Context) {
	l.replied = map[models.StepType]replied{}
	var h hostView
	err := l.agentAPI().send(ctx, http.MethodPost, infraEnvPath(l.infraEnv())+"/hosts",
		registration{HostID: l.spec.UUID, AgentVersion: l.agentVersion}, &h)
	switch {
	case err == nil:
	case refused(err):
		l.freeze(err)
		return
	default:
		l.logf("cannot register: %v", err)
		l.schedule(retryTime, l.register)
		return
	}
	l.logf("registered, %s", h.Status)
	if !l.known && !l.stranger {
		l.fleet.cfg.Registered(l.spec.Name)
	}
	l.known = true
	l.know(h)
	l.fleet.noteRegistration(h.CheckedInAt)
	l.watch()
	l.poll(ctx)
}

// freeze stops the agent for good. Only a host that the service still knows can be wanted again.
func (l *machineRun) freeze(err error) {
	if status(err) == http.StatusNotFound || !l.known {
		l.rest("stops its agent: " + err.Error())
		return
	}
	l.logf("stops its agent: %v", err)
	l.watch()
}

func (l *machineRun) watch() {
	if !l.watched {
		l.watched = true
		l.schedule(personTick, l.attend)
	}
}

func (l *machineRun) poll(ctx context.Context) {
	l.refreshStatus(ctx)
	l.notice()
	if off := l.trouble(scenario.DoPowerOff); off != nil {
		l.powerOff(off)
		return
	}
	if mute := l.trouble(scenario.DoStopAgent); mute != nil {
		l.logf("stops its agent")
		if left, ends := mute.left(l.fleet.now()); ends {
			l.schedule(left, l.poll)
		}
		return
	}
	var todo steps
	err := l.agentAPI().get(ctx, l.instructionsPath(true), &todo)
	if status(err) == http.StatusNotFound {
		l.freeze(err)
		return
	}
	if err != nil {
		l.logf("gets no instructions: %v", err)
		l.schedule(retryTime, l.poll)
		return
	}
	for _, s := range todo.Instructions {
		l.perform(ctx, s)
	}
	if todo.PostStepAction != nil && *todo.PostStepAction == models.StepsPostStepActionExit {
		l.logf("leaves and registers again")
		l.session++
		l.watched = false
		l.inFlight = map[models.StepType]bool{}
		l.schedule(agentRestartTime, l.register)
		return
	}
	next := time.Duration(cmp.Or(todo.SimulatedSeconds, todo.NextInstructionSeconds)) * time.Second
	if next <= 0 {
		next = retryTime
	}
	l.schedule(next, l.poll)
}

// steps is the service's answer to a poll. A simulated service with a fast clock adds the pause on that clock, which is also
// the clock of the host.
type steps struct {
	models.Steps
	SimulatedSeconds int64 `json:"simulated_next_instruction_seconds"`
}

// powerOff is the machine going dark, and coming back when the trouble ends: from its disk if written.
func (l *machineRun) powerOff(off *activeRule) {
	l.reset()
	l.setPower(false)
	l.logf("loses power")
	l.watch()
	left, ends := off.left(l.fleet.now())
	if !ends {
		return
	}
	l.schedule(left, func(ctx context.Context) {
		l.setPower(true)
		switch {
		case l.spec.Chassis != nil:
			l.start(ctx)
		case l.written != nil:
			l.bootDisk(ctx)
		default:
			l.bootISO()
		}
	})
}

// attend is a person looking at the service now and then, and doing what has to be done at the machine.
func (l *machineRun) attend(ctx context.Context) {
	h, err := l.fleet.reader.host(ctx, l.infraEnv(), l.spec.UUID, personTick)
	if status(err) == http.StatusNotFound {
		l.rest("is no longer known to the service")
		return
	}
	if err != nil {
		l.schedule(personTick, l.attend)
		return
	}
	l.know(h)
	switch h.Status {
	case "installing-in-progress", "installing-pending-user-action":
		l.reportNode(ctx, h)
	case "resetting-pending-user-action", "unbinding-pending-user-action":
		if l.spec.Chassis != nil {
			break // its BMC can do this without a person
		}
		l.logf("is %s: a person must boot it from the ISO", h.Status)
		l.schedule(l.jitter.of(personTime), func(context.Context) {
			l.settleTroubles()
			l.written = nil
			l.bootISO()
		})
		return
	case "added-to-existing-cluster":
		switch {
		case l.stays("is part of the cluster"):
		case l.fleet.cfg.Joins != nil && (l.install != nil || l.written != nil): // it has still to boot its disk
			l.schedule(personTick, l.attend)
		default:
			l.conclude("is part of the cluster")
		}
		return
	case "installed":
		c, err := l.fleet.reader.clusterAt(ctx, h.ClusterID, personTick)
		if status(err) == http.StatusNotFound || err == nil && (c.Status == "installed" || c.Status == "adding-hosts") {
			if !l.stays("is part of the cluster") {
				l.conclude("is part of the cluster")
			}
			return
		}
	}
	l.schedule(personTick, l.attend)
}

func (l *machineRun) know(h hostView) {
	role := h.Role
	if h.Bootstrap {
		role = "bootstrap"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.role, l.status = role, h.Status
	l.node.hostname, l.node.pool = h.RequestedHostname, h.MachineConfigPool
}

func (l *machineRun) refreshStatus(ctx context.Context) {
	waits := func(t *activeRule) bool { return t.begun.IsZero() && t.rule.At.State != "" }
	l.mu.Lock()
	wanted := slices.ContainsFunc(l.troubles, waits)
	l.mu.Unlock()
	if !wanted {
		return
	}
	if h, err := l.fleet.reader.host(ctx, l.infraEnv(), l.spec.UUID, statusAge); err == nil {
		l.know(h)
	}
}

func (l *machineRun) setStage(stage models.HostStage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage = stage
}
