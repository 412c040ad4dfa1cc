//go:build linux

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

const (
	infraEnvID = strfmt.UUID("11111111-1111-4111-8111-111111111111")
	hostID     = strfmt.UUID("22222222-2222-4222-8222-222222222222")
	clusterID  = strfmt.UUID("33333333-3333-4333-8333-333333333333")
	ownImage   = "quay.io/edge-infrastructure/assisted-installer-agent:latest"
	token      = "token-of-the-machine"
)

// fakeService answers from functions, and notes what it gets with the time since it was made.
type fakeService struct {
	register     func(n int) (*models.HostRegistrationResponse, error)
	instructions func(n int) (*models.Steps, error)
	status       func() (string, error)
	reply        func(*models.StepReply) error

	mu         sync.Mutex
	began      time.Time
	registered []time.Duration
	asked      []time.Duration
	hosts      int
	replies    []models.StepReply
}

func answered(status int) error { return &service.Error{Doing: "x", Status: status} }

func (f *fakeService) Register(ctx context.Context, infraEnv strfmt.UUID, host *models.HostCreateParams) (*models.HostRegistrationResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if infraEnv != infraEnvID || *host.HostID != hostID || host.DiscoveryAgentVersion != ownImage {
		return nil, errors.New("another host")
	}
	f.registered = append(f.registered, time.Since(f.began))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.register == nil {
		return response(ownImage), nil
	}
	return f.register(len(f.registered))
}

// response is the service's answer to a registration.
func response(image string) *models.HostRegistrationResponse {
	infraEnv, host := infraEnvID, hostID
	argument, _ := json.Marshal(models.NextStepCmdRequest{AgentVersion: &image, HostID: &host, InfraEnvID: &infraEnv})
	return &models.HostRegistrationResponse{
		NextStepRunnerCommand: &models.HostRegistrationResponseAO1NextStepRunnerCommand{Args: []string{string(argument)}},
	}
}

func (f *fakeService) Instructions(ctx context.Context, infraEnv, host strfmt.UUID, _ string) (*models.Steps, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if infraEnv != infraEnvID || host != hostID {
		return nil, answered(http.StatusNotFound)
	}
	f.asked = append(f.asked, time.Since(f.began))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.instructions == nil {
		return wanted(60), nil
	}
	return f.instructions(len(f.asked))
}

func (f *fakeService) Status(context.Context, strfmt.UUID, strfmt.UUID) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts++
	if f.status == nil {
		return models.HostStatusKnown, nil
	}
	return f.status()
}

func (f *fakeService) Reply(_ context.Context, _, _ strfmt.UUID, reply *models.StepReply) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replies = append(f.replies, *reply)
	if f.reply != nil {
		return f.reply(reply)
	}
	return nil
}

// wanted are steps of the given types, with the seconds to wait.
func wanted(seconds int64, types ...models.StepType) *models.Steps {
	action := models.StepsPostStepActionContinue
	steps := &models.Steps{NextInstructionSeconds: seconds, PostStepAction: &action}
	for _, kind := range types {
		steps.Instructions = append(steps.Instructions, &models.Step{StepID: string(kind) + "-1", StepType: kind, Args: []string{}})
	}
	return steps
}

func leave() *models.Steps {
	steps := wanted(60)
	action := models.StepsPostStepActionExit
	steps.PostStepAction = &action
	return steps
}

// does is an executor made of a function.
type does func(ctx context.Context, args []string) Reply

func (d does) Execute(ctx context.Context, args []string) Reply { return d(ctx, args) }

type identity struct{ err error }

func (i identity) HostID(context.Context) (strfmt.UUID, error) { return hostID, i.err }

// rig is an agent with all around it. It is for a synctest bubble, whose time the agent's clock shows.
type rig struct {
	*Agent
	service *fakeService
	runner  *machine.Recorder
	log     *bytes.Buffer
}

func newRig(t *testing.T, service *fakeService) rig {
	t.Helper()
	service.began = time.Now()
	log := &bytes.Buffer{}
	runner := &machine.Recorder{}
	return rig{
		Agent: &Agent{
			Options: Options{
				URL: "http://192.0.2.1:8090", InfraEnv: infraEnvID, Version: ownImage, Interval: time.Minute, Token: token,
			},
			Service: service, Identity: identity{}, Runner: runner, Files: hostfile.Files{Root: t.TempDir()},
			Executors: map[models.StepType]Executor{}, Clock: clock.Real(), Log: slog.New(slog.NewTextHandler(log, nil)),
		},
		service: service, runner: runner, log: log,
	}
}

// runFor runs the agent for a while.
func (r rig) runFor(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the agent ended: %v", err)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
