package cli

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
)

// phase is how far a cluster's install has come, as far as verbs care.
type phase int

const (
	beforeInstall phase = iota
	duringInstall
	brokenInstall // failed or cancelled
	afterInstall
	unknownPhase
)

// phaseOf is the phase that a status of the service stands for.
func phaseOf(status string) phase {
	switch status {
	case "insufficient", "pending-for-input", "ready":
		return beforeInstall
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing":
		return duringInstall
	case "error", "cancelled":
		return brokenInstall
	case "installed", "adding-hosts":
		return afterInstall
	}
	return unknownPhase
}

// advice is why a verb does not suit a phase, and what does.
type advice struct{ why, next string }

// outOfTurn makes what a service says to a verb that comes at the wrong time,
// 409, into the state that the cluster is in and what suits it. Errors of other
// kinds, and phases that there is no advice for, stay as they are, save for the
// cluster's name.
func outOfTurn(err error, op string, seen *base.Observation, by map[phase]advice) error {
	var fault *install.Fault
	if !errors.As(err, &fault) || fault.Status != http.StatusConflict {
		return err
	}
	out := *fault
	out.Op, out.On, out.Next = op, seen.Name(), "oaictl describe cluster "+seen.Ref.Name
	if a, found := by[phaseOf(seen.Ref.Status)]; found {
		out.Err, out.Next = fmt.Errorf("%s (the service calls it %s)", a.why, seen.Ref.Status), a.next
	} else {
		out.Err = fmt.Errorf("it is %s: %w", seen.Ref.Status, fault.Err)
	}
	return &out
}

// goOnOrGiveUp is what can be done with a cluster whose install has not begun.
func goOnOrGiveUp(s *base.Observation) string {
	return "to go on, run oaictl create cluster -f FILE; to give it up, run oaictl delete cluster " + s.Ref.Name
}

func cancelRefused(err error, seen *base.Observation) error {
	return outOfTurn(err, "cancel the install of", seen, map[phase]advice{
		beforeInstall: {"its install has not begun, so there is nothing to cancel", goOnOrGiveUp(seen)},
		brokenInstall: {"the install has ended, so there is nothing to cancel", "oaictl reset " + seen.Ref.Name},
		afterInstall:  {"the install is done, so there is nothing to cancel", "oaictl download kubeconfig " + seen.Ref.Name},
	})
}

func resetRefused(err error, seen *base.Observation) error {
	return outOfTurn(err, "reset the install of", seen, map[phase]advice{
		beforeInstall: {"its install has not begun, so there is nothing to reset", goOnOrGiveUp(seen)},
		duringInstall: {"the install runs", "oaictl cancel " + seen.Ref.Name},
		afterInstall:  {"an installed cluster cannot be reset", "oaictl describe cluster " + seen.Ref.Name},
	})
}

func deleteRefused(err error, seen *base.Observation) error {
	return outOfTurn(err, "delete cluster", seen, map[phase]advice{
		duringInstall: {"the service keeps a cluster while it is being installed", "oaictl cancel " + seen.Ref.Name},
	})
}

// notThereYet is for the files that an install makes.
func notThereYet(err error, file string, seen *base.Observation) error {
	wait := "oaictl wait cluster " + seen.Ref.Name + " --for installed"
	during := wait
	if file == "kubeconfig" {
		during += ", or take the one without the ingress certificate: oaictl download kubeconfig " + seen.Ref.Name + " --no-ingress"
	}
	return outOfTurn(err, "download "+file+" of", seen, map[phase]advice{
		beforeInstall: {"the install, which makes it, has not begun", wait},
		duringInstall: {"the install has not made it yet", during},
		brokenInstall: {"the install ended before it was made", "oaictl why " + seen.Ref.Name},
	})
}

// hostNotThatFar is for the Ignition that an install makes for a host.
func hostNotThatFar(err error, host install.Host) error {
	var fault *install.Fault
	if !errors.As(err, &fault) || fault.Status != http.StatusConflict {
		return err
	}
	out := *fault
	out.On, out.Next = document.OfHost(host, "").Name, "oaictl get hosts"
	out.Err = fmt.Errorf("it is %s, and its Ignition is made once its cluster's install runs", host.Status)
	return &out
}
