package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// sideBySide is how many scopes are acted on at once.
const sideBySide = 8

// memory is what a run remembers: what was refused. Losing it costs one
// repeated attempt, never a wrong write.
type memory struct {
	mu       sync.Mutex
	refusals map[string]refusal
}

// refusal is an action that did not succeed.
type refusal struct {
	inputs   string // fingerprint of what the action was to write
	err      error
	attempts int
	at       time.Time
	until    time.Time // not to be tried again before
	forGood  bool      // not to be tried again with the same inputs
}

func newMemory() *memory { return &memory{refusals: map[string]refusal{}} }

// fingerprint tells whether an action is still the one that was refused.
func fingerprint(a Action) string {
	data, err := json.Marshal(struct {
		Kind     Kind
		Target   string
		Settings Settings
		Changes  []Change
	}{a.Kind, a.Target, a.Settings, a.Changes})
	if err != nil {
		return a.Key
	}
	return Digest(data)
}

const (
	firstBackoff = 2 * time.Second
	lastBackoff  = time.Minute
)

// refused remembers that an action failed.
func (m *memory) refused(a Action, err error, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.refusals[a.Key]
	if r.inputs != fingerprint(a) {
		r = refusal{inputs: fingerprint(a)}
	}
	r.err, r.at = err, now
	r.attempts++
	wait := min(lastBackoff, firstBackoff<<min(r.attempts-1, 6))
	var fault *Fault
	if errors.As(err, &fault) {
		r.forGood = fault.Permanent || fault.Code == CodeAuth
		wait = max(wait, fault.RetryAfter)
	}
	r.until = now.Add(wait)
	m.refusals[a.Key] = r
}

func (m *memory) succeeded(a Action) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.refusals, a.Key)
}

// apply takes out of a plan what was refused: for good, it becomes a blocker;
// for a while, a wait.
func (m *memory) apply(plan *Plan, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := plan.Actions[:0:0]
	for _, a := range plan.Actions {
		r, known := m.refusals[a.Key]
		switch {
		case !known || r.inputs != fingerprint(a):
			kept = append(kept, a)
		case r.forGood:
			plan.Blockers = append(plan.Blockers, r.blocker(a))
		case now.Before(r.until):
			plan.Waits = append(plan.Waits, Wait{
				Key: a.Key + "/retry", Scope: a.Scope, Since: r.at, Who: WhoService,
				For: fmt.Sprintf("another try to %s: %v", a.Kind.phrase(), r.err),
			})
		default:
			kept = append(kept, a)
		}
	}
	plan.Actions = kept
	if plan.Verdict == VerdictWorking && len(kept) == 0 {
		plan.Verdict = ""
		p := planner{plan: *plan}
		*plan = p.finish()
	}
}

func (r refusal) blocker(a Action) Blocker {
	cure := CureNow
	switch CodeOf(r.err) {
	case CodeAuth:
		cure = CureAuth
	case CodeNotFound:
		cure = CureOwner
	}
	next := NextOf(r.err)
	if next == "" {
		next = "change the file and run the same command again"
	}
	field := ""
	if len(a.Changes) == 1 {
		field = a.Changes[0].Field
	}
	return Blocker{
		Key: a.Key + "/refused", Scope: a.Scope, Reason: "Refused", Cure: cure, Since: r.at, Field: field, Remedy: next,
		Message: fmt.Sprintf("the service refused to %s: %v", a.Kind.phrase(), r.err),
	}
}

// phrase is the kind as a person says it.
func (k Kind) phrase() string {
	switch k {
	case RegisterCluster:
		return "register the cluster"
	case WithdrawCluster:
		return "withdraw this run's duplicate"
	case UpdateCluster:
		return "update the cluster"
	case SetOverrides:
		return "set the install-config overrides"
	case UploadManifest:
		return "upload the manifest"
	case IgnoreValidations:
		return "set the ignored validations"
	case RegisterInfraEnv:
		return "register the InfraEnv"
	case UpdateInfraEnv:
		return "update the InfraEnv"
	case RenewImage:
		return "renew the discovery image's URL"
	case UpdateHost:
		return "configure the host"
	case BindHost:
		return "bind the host"
	case StartInstall:
		return "start the installation"
	case AllowAddHosts:
		return "let hosts be added"
	case InstallHost:
		return "install the host"
	case SaveNoIngress, SaveKubeconfig:
		return "save the kubeconfig"
	case SavePassword:
		return "save the kubeadmin password"
	}
	return string(k)
}

// act carries out a plan's actions: those of one scope in their order, scopes
// side by side. It returns how many succeeded.
func (r *run) act(ctx context.Context, actions []Action) int {
	var scopes []Scope
	byScope := map[Scope][]Action{}
	for _, a := range actions {
		if byScope[a.Scope] == nil {
			scopes = append(scopes, a.Scope)
		}
		byScope[a.Scope] = append(byScope[a.Scope], a)
	}
	var (
		group sync.WaitGroup
		done  int
		mu    sync.Mutex
		slots = make(chan struct{}, sideBySide)
	)
	for _, scope := range scopes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			for _, a := range byScope[scope] {
				err := r.one(ctx, a)
				if err != nil {
					return // what follows in this scope stands on it
				}
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if done == len(actions) && slices.ContainsFunc(actions, func(a Action) bool { return a.Settings[SetPullSecret] != "" }) {
		r.desired.Options.ResendSecrets = false // all of them were sent
	}
	return done
}

// one carries out one action and tells of it.
func (r *run) one(ctx context.Context, a Action) error {
	err := r.send(ctx, a)
	if context.Cause(ctx) != nil && err != nil {
		return err // the run is being left; nothing was refused
	}
	event := Event{Type: EventAction, Key: a.Key, State: "done", Reason: string(a.Kind), Message: a.describe()}
	if a.Scope != ScopeCluster {
		event.Host = hostOf(a.Scope)
	}
	if err != nil {
		r.memory.refused(a, err, r.now())
		event.State, event.Severity = "failed", SeverityWarning
		event.Message = fmt.Sprintf("could not %s: %v", a.Kind.phrase(), err)
		event.Next = NextOf(err)
	} else {
		r.memory.succeeded(a)
	}
	r.tell(event)
	return err
}

func (r *run) send(ctx context.Context, a Action) error {
	switch a.Kind {
	case SaveNoIngress, SaveKubeconfig, SavePassword:
		data, err := r.service.Credential(ctx, a.Target, a.Name)
		if err != nil {
			return err
		}
		return r.files.Save(ctx, r.desired.Spec.Metadata.Name, a.Name, data)
	}
	return r.service.Act(ctx, r.desired, a)
}

// describe is the action as it is told of once it is done.
func (a Action) describe() string {
	switch a.Kind {
	case UploadManifest, UpdateHost, BindHost, RegisterInfraEnv, UpdateInfraEnv, InstallHost:
		return fmt.Sprintf("%s %s", a.Kind.phrase(), a.Name)
	case StartInstall:
		return "start the installation: " + a.Reason
	}
	return a.Kind.phrase()
}
