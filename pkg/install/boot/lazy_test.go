package boot

import (
	"context"
	"errors"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

// TestLazyOnce has two wait for one attempt, and one of them give up.
func TestLazyOnce(t *testing.T) {
	var b lazy[string]
	tries, given := 0, ""
	slow := make(chan error)
	bring := func() (string, error) {
		tries++
		return "it", <-slow
	}
	if _, here, _ := b.result(); here {
		t.Error("it is here before it was wanted")
	}
	first := b.begin(bring)
	impatient, stop := context.WithCancelCause(t.Context())
	left := errors.New("somebody left")
	stop(left)
	if _, err := b.begin(bring).wait(impatient); !errors.Is(err, left) {
		t.Errorf("who gives up has %v", err)
	}
	if _, here, _ := b.result(); here {
		t.Error("it is here while it is on its way")
	}
	refused := errors.New("refused")
	slow <- refused
	if _, err := first.wait(t.Context()); !errors.Is(err, refused) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
	again := b.begin(bring)
	slow <- nil
	for range 2 {
		if got, err := again.wait(t.Context()); got != "it" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		again = b.begin(bring)
	}
	if got, here, _ := b.result(); !here || got != "it" || tries != 2 {
		t.Errorf("%q after %d tries", got, tries)
	}
	for range 2 {
		check.Do(t, b.close(func(what string) error { given += what; return nil }))
	}
	check.Equal(t, given, "it", "given back")
}

// TestLazyIsHere: what is here is found even by a caller with an expired context.
func TestLazyIsHere(t *testing.T) {
	var b lazy[string]
	run := b.begin(func() (string, error) { return "here", nil })
	<-run.done
	over, stop := context.WithCancel(t.Context())
	stop()
	for range 100 { // a select takes any of two that are ready
		if got, err := run.wait(over); got != "here" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
}
