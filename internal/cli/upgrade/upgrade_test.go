package upgrade

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// site is a command that is answered one look after the other, the last of them for good.
type site struct {
	*clusterOptions

	asks []bool // whether each look was allowed to ask
}

type answer struct {
	upgrade.Decision

	err error
}

func newSite(line string, answers ...answer) *site {
	words := append([]string{"oaictl"}, strings.Fields(line)...)
	a := app.New(app.Identify(words), streams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, streams.Env{})
	a.Clock = clock.Real()
	s := &site{clusterOptions: &clusterOptions{
		App: a, To: "4.20.5", Timeout: time.Hour, Every: 15 * time.Second, warned: map[string]bool{}, shown: progress.None(),
		found: &install.Found{Ref: model.ClusterRef{Name: "lab", BaseDomain: "example.com"}},
	}}
	s.turn = func(_ context.Context, ask bool) (*upgrade.State, upgrade.Decision, error) {
		next := answers[min(len(s.asks), len(answers)-1)]
		s.asks = append(s.asks, ask)
		if next.err != nil {
			return nil, upgrade.Decision{}, next.err
		}
		return &upgrade.State{}, next.Decision, nil
	}
	return s
}

func (s *site) run(ctx context.Context) (upgrade.Decision, time.Duration, error) {
	began := s.Clock.Now()
	_, d, err := s.upgrade(ctx)
	return d, s.Clock.Now().Sub(began), err
}

var (
	asks = answer{Decision: upgrade.Decision{
		Verdict: model.VerdictWorking, Reason: "UpgradeRequesting", Message: "The cluster is asked", Asks: &upgrade.Update{Version: "4.20.5"},
	}}
	waits  = answer{Decision: upgrade.Decision{Verdict: model.VerdictWaiting, Reason: "UpgradeInProgress", Message: "Update to 4.20.5 begins"}}
	behind = answer{Decision: upgrade.Decision{Verdict: model.VerdictBlocked, Reason: "OperatorBehind", Message: "The operator is behind", Passes: true}}
	isDone = answer{Decision: upgrade.Decision{Verdict: model.VerdictInstalled, Reason: "UpgradeCompleted", Message: "The cluster runs 4.20.5"}}
)

// TestEnds: how each run ends, and that a cluster which was asked is not asked again.
func TestEnds(t *testing.T) {
	away := answer{err: &model.Fault{Code: model.CodeFailure, Err: errors.New("connection refused")}}
	for name, test := range map[string]struct {
		answers []answer
		detach  bool
		asks    []bool
		code    model.Code
		says    string
	}{
		"is done":                          {answers: []answer{asks, waits, isDone}, asks: []bool{true, false, false}},
		"is done, and was away":            {answers: []answer{asks, away, away, isDone}, asks: []bool{true, false, false, false}},
		"another has asked":                {answers: []answer{waits, isDone}, asks: []bool{true, false}},
		"once the operator has read it":    {answers: []answer{behind, asks, isDone}, asks: []bool{true, true, false}},
		"detached":                         {answers: []answer{behind, asks}, detach: true, asks: []bool{true, true}},
		"withdrawn":                        {answers: []answer{asks, waits, asks}, asks: []bool{true, false, false}, code: model.CodeFailed, says: "the request to update to 4.20.5 was withdrawn"},
		"withdrawn, that another has made": {answers: []answer{waits, asks}, asks: []bool{true, false}, code: model.CodeFailed, says: "withdrawn"},
		"away from the first":              {answers: []answer{away}, asks: []bool{true}, code: model.CodeFailure, says: "connection refused"},
		"the credentials are taken away": {
			answers: []answer{asks, {err: &model.Fault{Code: model.CodeAuth, Err: errors.New("forbidden")}}}, asks: []bool{true, false}, code: model.CodeAuth, says: "forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite("upgrade cluster lab --to 4.20.5", test.answers...)
				s.Detach = test.detach
				d, _, err := s.run(t.Context())
				if app.CodeOf(err) != test.code || err != nil && !strings.Contains(err.Error(), test.says) {
					t.Errorf("it ends with %d: %v", app.CodeOf(err), err)
				}
				if !slices.Equal(s.asks, test.asks) {
					t.Errorf("it may ask %v, and should %v", s.asks, test.asks)
				}
				if test.says == "withdrawn" && (d.Verdict != model.VerdictBlocked || d.Asks != nil || d.Reason != "UpgradeWithdrawn") {
					t.Errorf("the decision is %+v", d)
				}
			})
		})
	}
}

// TestTimeout ends the wait when it is due, however rarely is looked, and says whether anything goes on.
func TestTimeout(t *testing.T) {
	for says, answers := range map[string][]answer{
		"and goes on: Update to 4.20.5 begins":                          {asks, waits},
		"and the cluster was asked for nothing: The operator is behind": {behind},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite("upgrade cluster lab --to 4.20.5", answers...)
			s.Timeout, s.Every = time.Minute, time.Hour
			_, took, err := s.run(t.Context())
			if app.CodeOf(err) != model.CodeTimeout || !strings.Contains(err.Error(), says) || took > time.Minute+time.Second {
				t.Errorf("after %s it ends with %d: %v", took, app.CodeOf(err), err)
			}
		})
	}
}

// TestNoTimeout: a timeout of zero is none, as in the other commands.
func TestNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite("upgrade cluster lab --to 4.20.5", asks, waits, waits, isDone)
		s.Timeout, s.Every = 0, time.Hour
		if _, took, err := s.run(t.Context()); err != nil || took < 3*time.Hour {
			t.Errorf("after %s it ends with %v", took, err)
		}
	})
}

// TestEmptyVersion: a script whose variable is empty does not learn that all is done.
func TestEmptyVersion(t *testing.T) {
	for _, given := range []string{"", "v"} {
		a := app.New(app.Identify([]string{"oaictl"}), streams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, streams.Env{})
		a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) {
			return nil, errors.New("the service is asked")
		}
		command := NewCluster(a)
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs([]string{"lab", "--to", given})
		if err := command.ExecuteContext(t.Context()); app.CodeOf(err) != model.CodeUsage || !strings.Contains(err.Error(), "--to needs a VERSION") {
			t.Errorf("--to %q ends with %d: %v", given, app.CodeOf(err), err)
		}
	}
}

// TestTextHasTheNotes: what -o json says of an update that runs, the plain output says too, and once.
func TestTextHasTheNotes(t *testing.T) {
	const paused, lags = "MachineConfigPool worker is paused", "1 of 5 nodes\x1b[2J run an older kubelet"
	shown := text(&output.Upgrade{Cluster: "lab", InTheWay: []string{paused}, Notes: []string{paused, lags}}, true)
	if strings.Count(shown, paused) != 1 || !strings.Contains(shown, "\nNotes:\n  1 of 5 nodes\\u001b[2J run an older kubelet\n") {
		t.Errorf("it says %s", shown)
	}
}

// TestEventOfAnInterrupt: the last event has the exit code that the command ends with.
func TestEventOfAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&install.Interrupt{Code: model.CodeInterrupted})
	broken := &model.Fault{Code: model.CodeFailure, Err: context.Canceled}
	if code := endCode(ctx, broken); code != int(model.CodeInterrupted) {
		t.Errorf("interrupted, it has %d", code)
	}
	if code := endCode(ctx, nil); code != 0 {
		t.Errorf("done before the interrupt, it has %d", code)
	}
	if code := endCode(t.Context(), broken); code != int(model.CodeFailure) {
		t.Errorf("broken, it has %d", code)
	}
}
