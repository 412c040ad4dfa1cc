//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Executor does one type of step.
type Executor interface {
	// Execute does a step with the service's arguments, which are not checked yet. It returns soon after ctx ends.
	Execute(ctx context.Context, args []string) Reply
}

// forHost is an executor that refuses steps for another host.
type forHost interface {
	executeFor(ctx context.Context, own strfmt.UUID, args []string) Reply
}

// Tool is a step of another package, with its result as a program has it.
type Tool interface {
	Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string)
}

// Of makes an executor of a tool.
func Of(t Tool) Executor { return tool{t} }

type tool struct{ Tool }

func (t tool) Execute(ctx context.Context, args []string) Reply {
	code, stdout, stderr := t.Tool.Execute(ctx, args)
	return Reply{ExitCode: code, Output: stdout, Error: stderr}
}

// Reply is the result of a step.
type Reply struct {
	// ExitCode is 0 if the step succeeded. The service knows some others, such as alreadyRunning.
	ExitCode int
	// Output is what the service reads, most often JSON.
	Output string
	// Error is for people, and may be there although the step succeeded.
	Error string
}

const (
	// refused is the exit code of a step that did not run because of its arguments or type.
	refused = -1
	// mediaLost is the exit code by which the service knows that the removable medium is gone.
	mediaLost = 256
	// replyFor is for how long the service keeps an output: the same is not sent again before.
	replyFor = time.Hour
	// longestOutput and longestError are how many bytes of a result are sent.
	longestOutput = 8 << 20
	longestError  = 64 << 10
	// mostSteps bounds the steps of one answer, and those that run at once.
	mostSteps = 64
)

// refusal of a step by its error.
func refuse(err error) Reply { return Reply{ExitCode: refused, Error: err.Error()} }

// work says for which host steps run.
type work struct {
	target
	// restart makes the host register again.
	restart func()
	// spacing is the time between two runs of a step whose result does not change soon.
	spacing time.Duration
}

// steps runs the steps of a machine: at most one of a type at once, and the latest that came meanwhile after it.
type steps struct {
	service   Service
	executors map[models.StepType]Executor
	media     *media
	clock     clock.Clock
	log       *slog.Logger

	mu      sync.Mutex
	running map[models.StepType]*running
	count   int // how many goroutines run steps
	sent    map[models.StepType]*sent
	group   sync.WaitGroup
}

type running struct {
	args []string
	next *pending // the latest step that came meanwhile; nil if there is none
}

type pending struct {
	work work
	step *models.Step
}

// sent is a result that the service has.
type sent struct {
	args   []string
	output string
	at     time.Time // when it was sent
	ran    time.Time // when a step had this result last
}

func (a *Agent) newSteps() *steps {
	s := &steps{
		service: a.Service, executors: a.Executors, clock: a.Clock, log: a.Log,
		running: map[models.StepType]*running{}, sent: map[models.StepType]*sent{},
	}
	if !a.Options.Dry.Enabled {
		s.media = &media{files: a.Files, clock: a.Clock, log: a.Log}
	}
	return s
}

// wait returns when no step runs any more.
func (s *steps) wait() { s.group.Wait() }

// forget makes all results be sent again.
func (s *steps) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sent)
}

// take starts steps. It does not wait for them.
func (s *steps) take(ctx context.Context, w work, list []*models.Step) {
	if len(list) > mostSteps {
		s.log.Warn("the assisted-service gives more steps than an agent does at once", "steps", len(list), "most", mostSteps)
		list = list[:mostSteps]
	}
	for _, step := range list {
		if step != nil && s.due(w, step) {
			s.group.Go(func() { s.runAll(ctx, w, step) })
		}
	}
}

// due reports whether a step is to start now. One that comes while another of its type runs is kept for later, unless it
// is the same: its result comes anyway.
func (s *steps) due(w work, step *models.Step) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if step.StepType == models.StepTypeInstall {
		return s.begin() // its executor has a lock, and the service expects an answer
	}
	if before := s.running[step.StepType]; before != nil {
		if slices.Equal(before.args, step.Args) {
			before.next = nil
		} else {
			before.next = &pending{w, step}
		}
		return false
	}
	last := s.sent[step.StepType]
	if last != nil && settled(step.StepType) && slices.Equal(last.args, step.Args) && s.clock.Now().Sub(last.ran) < w.spacing {
		return false
	}
	if !s.begin() {
		return false
	}
	s.running[step.StepType] = &running{args: step.Args}
	return true
}

// begin counts a step that begins, unless so many run that one more would be too much for the machine. The mutex is locked.
func (s *steps) begin() bool {
	if s.count >= mostSteps {
		s.log.Warn("too many steps run: another one does not begin before some have ended", "most", mostSteps)
		return false
	}
	s.count++
	return true
}

// end counts a step that ended.
func (s *steps) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
}

// settled reports whether a result is the same for a while: the step is costly, and it is enough to run it as often as the
// service asks hosts that are ready.
func settled(kind models.StepType) bool {
	switch kind {
	case models.StepTypeInventory, models.StepTypeFreeNetworkAddresses, models.StepTypeInstallationDiskSpeedCheck,
		models.StepTypeContainerImageAvailability:
		return true
	}
	return false
}

// runAll runs a step, and then the latest of its type that came meanwhile.
func (s *steps) runAll(ctx context.Context, w work, step *models.Step) {
	defer s.end()
	for next := (&pending{w, step}); next != nil; {
		s.run(ctx, next.work, next.step)
		if step.StepType == models.StepTypeInstall {
			return
		}
		s.mu.Lock()
		next = s.running[step.StepType].next
		if next == nil {
			delete(s.running, step.StepType)
		} else {
			s.running[step.StepType] = &running{args: next.step.Args}
		}
		s.mu.Unlock()
	}
}

// run does one step and sends its result.
func (s *steps) run(ctx context.Context, w work, step *models.Step) {
	log := s.log.With("step", shown(step.StepID))
	if err := s.media.lost(ctx); err != nil {
		log.Error("the installation medium cannot be read, so the step does not run", "error", err)
		s.send(ctx, w, step, Reply{ExitCode: mediaLost, Error: err.Error()})
		return
	}
	began := s.clock.Now()
	log.Debug("the step begins")
	reply := bounded(s.execute(ctx, w, step, log))
	if reply.ExitCode != 0 {
		if err := s.media.lost(ctx); err != nil {
			log.Error("the installation medium cannot be read any more", "error", err)
			reply.ExitCode = mediaLost
		}
	}
	if ctx.Err() != nil {
		return
	}
	said, known := log.Info, reply.ExitCode == 0 && s.has(step, reply.Output)
	switch {
	case known:
		said = log.Debug // as most results are
	case reply.ExitCode == alreadyRunning:
		said = log.Info // the service repeats a step until it hears of it
	case reply.ExitCode != 0:
		said = log.Error
	}
	said("the step ended", "exit code", reply.ExitCode, "took", s.clock.Now().Sub(began).Round(time.Millisecond).String(),
		"output bytes", len(reply.Output), "error", shown(reply.Error))
	if !known {
		s.send(ctx, w, step, reply)
	}
	if step.StepType == models.StepTypeUpgradeAgent && upgraded(reply) {
		w.restart()
	}
}

// limitOf is how long a step may take. The installer has limits of its own.
func limitOf(kind models.StepType) time.Duration {
	switch kind {
	case models.StepTypeInstall:
		return 0
	case models.StepTypeLogsGather, models.StepTypeDownloadBootArtifacts, models.StepTypeUpgradeAgent:
		return time.Hour + time.Minute
	}
	return 30 * time.Minute // image-availability may take 960 s, the others less
}

// execute does a step. A mistake of an executor is the result of the step: the agent goes on.
func (s *steps) execute(ctx context.Context, w work, step *models.Step, log *slog.Logger) (reply Reply) {
	executor := s.executors[step.StepType]
	if executor == nil {
		return refuse(fmt.Errorf("failed to find action for step type %s", escape.Word(beginning(string(step.StepType)))))
	}
	defer func() {
		if mistake := recover(); mistake != nil {
			log.Error("the step failed by a mistake in oaictl-host", "mistake", fmt.Sprint(mistake), "stack", string(debug.Stack()))
			reply = refuse(fmt.Errorf("the step failed by a mistake in oaictl-host: %v", mistake))
		}
	}()
	if limit := limitOf(step.StepType); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.clock.Wall(limit), fmt.Errorf("the step took longer than %s", limit))
		defer cancel()
	}
	if bound, is := executor.(forHost); is {
		return bound.executeFor(ctx, w.host, step.Args)
	}
	return executor.Execute(ctx, step.Args)
}

// bounded is a result that can be sent. An output that is too long is not cut, since it would not be JSON any more.
func bounded(reply Reply) Reply {
	if len(reply.Output) > longestOutput {
		said := fmt.Sprintf("the output has %d bytes, and at most %d are sent", len(reply.Output), longestOutput)
		reply = Reply{ExitCode: refused, Error: said + "\n" + reply.Error}
	}
	if len(reply.Error) > longestError {
		reply.Error = strings.ToValidUTF8(reply.Error[:longestError], "") + "\n(cut)"
	}
	reply.Output, reply.Error = strings.ToValidUTF8(reply.Output, "\ufffd"), strings.ToValidUTF8(reply.Error, "\ufffd")
	return reply
}

// beginning is the start of a long text.
func beginning(text string) string {
	const enough = 300
	if len(text) > enough {
		return text[:enough] + "..."
	}
	return text
}

// shown is the start of a text from outside, fit for a log: on one line, without secrets.
func shown(text string) string {
	const enough = 4096 // a secret that is cut off would not be found
	return escape.Word(beginning(redact.Text(text[:min(len(text), enough)])))
}

// send sends a result.
func (s *steps) send(ctx context.Context, w work, step *models.Step, reply Reply) {
	err := s.service.Reply(ctx, w.infraEnv, w.host, &models.StepReply{
		StepType: step.StepType, StepID: step.StepID, ExitCode: int64(reply.ExitCode), Output: reply.Output, Error: reply.Error,
	})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			s.log.Warn("the result of a step was not sent; the step runs again when the service asks for it",
				"step", shown(step.StepID), "error", err)
		}
		return
	}
	if reply.ExitCode == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.clock.Now()
		s.sent[step.StepType] = &sent{args: step.Args, output: reply.Output, at: now, ran: now}
	}
}

// has reports whether the service has this output already.
func (s *steps) has(step *models.Step, output string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.sent[step.StepType]
	if last == nil || last.output != output {
		return false
	}
	now := s.clock.Now()
	if passed := now.Sub(last.at); passed < 0 || passed >= replyFor {
		return false
	}
	last.args, last.ran = step.Args, now
	return true
}
