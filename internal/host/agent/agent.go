//go:build linux

// Package agent registers a machine with an assisted-service, does the steps that the service asks for and sends their
// results, all in one process. It takes the flags of the original agent and next_step_runner, and speaks as they do.
//
// The steps come from outside: their arguments are checked against what a step may do before anything runs, and no
// shell sees them. Executors of steps that only look at the machine or its network are given by other packages.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Service is what the agent needs of the assisted-service. service.Client implements it.
type Service interface {
	Register(ctx context.Context, infraEnv strfmt.UUID, host *models.HostCreateParams) (*models.HostRegistrationResponse, error)
	Instructions(ctx context.Context, infraEnv, host strfmt.UUID, agentVersion string) (*models.Steps, error)
	Reply(ctx context.Context, infraEnv, host strfmt.UUID, reply *models.StepReply) error
	// Status is the host's, such as models.HostStatusKnown.
	Status(ctx context.Context, infraEnv, host strfmt.UUID) (string, error)
}

// Identity finds out which machine this is.
type Identity interface {
	// HostID is the same at each boot of the machine.
	HostID(ctx context.Context) (strfmt.UUID, error)
}

// Agent is a machine's agent.
type Agent struct {
	Options  Options
	Service  Service
	Identity Identity
	Runner   machine.Runner
	Files    hostfile.Files
	// Executors do the steps. A step without one is answered as the original agent answers an unknown step.
	Executors map[models.StepType]Executor
	Clock     clock.Clock
	Log       *slog.Logger
}

// target is a host of an InfraEnv, and the agent's image that the service wants to run on it.
type target struct {
	infraEnv, host strfmt.UUID
	image          string
	// retry is how long the service wants to be left alone after a failure. Zero means that it does not say.
	retry time.Duration
}

// errAgain says that the host has to register again.
var errAgain = errors.New("register again")

// errRebooted says that a dry installer pretended to reboot the machine.
var errRebooted = errors.New("the machine pretends to reboot")

// Run registers the machine and does steps until ctx ends, or until the machine pretends to reboot. It registers again when
// the service asks for it, or does not know the host any more.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	steps := a.newSteps()
	defer steps.wait()
	defer cancel(nil)
	go a.watchReboot(ctx, cancel)
	for {
		began := a.Clock.Now()
		host, err := a.register(ctx)
		if err == nil {
			err = a.work(ctx, steps, host)
		}
		if errors.Is(err, errAgain) {
			// The service, or an image that it names, may want this again and again.
			if stopped := a.Clock.Sleep(ctx, max(0, firstPause-a.Clock.Now().Sub(began))); stopped != nil {
				err = stopped
			}
		}
		if err = a.ended(ctx, err); err == nil || !errors.Is(err, errAgain) {
			return err
		}
		a.Log.Info("the host registers again")
	}
}

// RunSteps does steps for the host that --host-id names, as next_step_runner. It ends without an error when the host has
// to register again: the agent that started it does so.
func (a *Agent) RunSteps(ctx context.Context) error {
	host := a.Options.HostID
	if host == "" {
		return &Usage{errors.New("--host-id is missing")}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	steps := a.newSteps()
	defer steps.wait()
	defer cancel(nil)
	go a.watchReboot(ctx, cancel)
	err := a.ended(ctx, a.poll(ctx, steps, target{infraEnv: a.Options.InfraEnv, host: host, image: a.Options.Version}))
	if errors.Is(err, errAgain) {
		return nil
	}
	return err
}

// ended is nil if the machine pretends to reboot.
func (a *Agent) ended(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errRebooted) {
		a.Log.Info("the agent ends: the machine pretends to reboot")
		return nil
	}
	return err
}

// watchReboot ends a dry run when the machine pretends to reboot.
func (a *Agent) watchReboot(ctx context.Context, cancel context.CancelCauseFunc) {
	dry := a.Options.Dry
	if !dry.Enabled || dry.RebootMarker == "" {
		return
	}
	for a.Clock.Sleep(ctx, time.Second) == nil {
		if a.Files.Exists(dry.RebootMarker) {
			cancel(errRebooted)
			return
		}
	}
}

// identify is this host's id. A dry run has one that a person gave.
func (a *Agent) identify(ctx context.Context) (strfmt.UUID, error) {
	if a.Options.Dry.Enabled {
		return a.Options.Dry.HostID, nil
	}
	id, err := a.Identity.HostID(ctx)
	if err != nil {
		return "", fmt.Errorf("find out the id of this host: %w", err)
	}
	return id, nil
}

const (
	// refusedPause is the time between two attempts to register a host that the service refuses.
	refusedPause = 5 * time.Minute
	// firstPause is the time after the first attempt that got no answer. It doubles up to the flag's interval.
	firstPause = 2 * time.Second
)

// register registers the host, and tries again until that succeeds. What a person has to do about a refusal is in the log.
func (a *Agent) register(ctx context.Context) (target, error) {
	id, err := a.identify(ctx)
	if err != nil {
		return target{}, err
	}
	pause := pauses{least: firstPause, most: a.Options.Interval}
	for began := a.Clock.Now(); ; {
		params := &models.HostCreateParams{HostID: &id, DiscoveryAgentVersion: a.Options.Version}
		response, err := a.Service.Register(ctx, a.Options.InfraEnv, params)
		if err == nil {
			a.Log.Info("the host is registered", "host", id.String(), "infraEnv", a.Options.InfraEnv.String())
			return a.next(id, response), nil
		}
		delay := pause.next()
		if advice := refusal(err); advice != "" {
			delay = refusedPause
			a.Log.Error("the assisted-service refuses this host: "+advice, "host", id.String(), "infraEnv", a.Options.InfraEnv.String(),
				"again in", delay.String(), "since", a.Clock.Now().Sub(began).Round(time.Second).String(), "error", err)
		} else {
			a.Log.Warn("the host cannot register yet", "again in", delay.String(),
				"since", a.Clock.Now().Sub(began).Round(time.Second).String(), "error", err)
		}
		if err := a.Clock.Sleep(ctx, delay); err != nil {
			return target{}, err
		}
	}
}

// refusal is what a person has to do before a host can register, "" if waiting may help.
func refusal(err error) string {
	switch service.StatusOf(err) {
	case http.StatusUnauthorized:
		return "its token is missing or no longer valid; boot the machine from a newly downloaded discovery image"
	case http.StatusForbidden:
		return "it may not register with this InfraEnv; check who owns the InfraEnv, and download its discovery image again"
	case http.StatusNotFound:
		return "the InfraEnv does not exist (any more); create it again, and boot the machine from its discovery image"
	case http.StatusConflict:
		return "the cluster takes no new hosts in its state; reset the cluster, or end its installation, and the host registers by itself"
	}
	return ""
}

// next reads what the service wants to run now. What it leaves out, or what is malformed, is this agent's.
func (a *Agent) next(id strfmt.UUID, response *models.HostRegistrationResponse) target {
	t := target{infraEnv: a.Options.InfraEnv, host: id, image: a.Options.Version}
	command := response.NextStepRunnerCommand
	if command == nil {
		a.Log.Warn("the assisted-service names no agent to run, so this one goes on")
		return t
	}
	if command.RetrySeconds > 0 {
		t.retry = min(time.Duration(min(command.RetrySeconds, int64(time.Hour/time.Second)))*time.Second, time.Hour)
	}
	request, err := parseRunner(command.Args, a.Log)
	if err != nil {
		a.Log.Error("the assisted-service names the agent to run in a way that is not understood, so this one goes on", "error", err)
		return t
	}
	if *request.HostID != id {
		a.Log.Warn("the assisted-service knows this host by another id, which is used now", "own", id.String(), "used", request.HostID.String())
	}
	t.infraEnv, t.host, t.image = *request.InfraEnvID, *request.HostID, *request.AgentVersion
	return t
}

// work does steps until the host has to register again, in this process or in the agent's image that the service names.
func (a *Agent) work(ctx context.Context, steps *steps, t target) error {
	if t.image == a.Options.Version || t.image == "" {
		return a.poll(ctx, steps, t)
	}
	if !a.Runner.Has(podman) {
		a.Log.Warn("the assisted-service names another agent, which needs podman; this machine has none, so this one goes on",
			"named", escape.Word(t.image), "this", a.Options.Version)
		return a.poll(ctx, steps, t)
	}
	return a.runImage(ctx, t)
}

// crashPause is the time after the agent's image that the service names has failed, unless the service says another.
const crashPause = 5 * time.Minute

// runImage runs the agent's image that the service names, as after an upgrade of the agent, and waits until it ends.
func (a *Agent) runImage(ctx context.Context, t target) error {
	if _, err := a.Runner.Run(ctx, machine.Command{Name: podman, Args: []string{"rm", "-i", runnerContainer}}); err != nil {
		a.Log.Warn("the container of an earlier agent cannot be removed", "error", err)
	}
	a.Log.Info("the assisted-service names another agent: it runs in a container now", "image", escape.Word(t.image))
	command := machine.Command{Name: podman, Args: runnerArgs(a.Options, t), Env: secretEnv(a.Options.Token)}
	if _, err := a.Runner.Run(ctx, command); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause := t.retry
		if pause == 0 {
			pause = crashPause
		}
		a.Log.Error("the agent that the assisted-service names has failed", "image", escape.Word(t.image), "again in", pause.String(),
			"error", err)
		if err := a.Clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return errAgain
}

// pauses are times to wait, each twice as long as the one before.
type pauses struct {
	least, most time.Duration
	last        time.Duration
}

func (p *pauses) next() time.Duration {
	p.last = min(max(p.least, 2*p.last), p.most)
	return p.last
}

func (p *pauses) reset() { p.last = 0 }
