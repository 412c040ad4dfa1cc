package app

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestAskWithin: a question that is withdrawn ends, and what is typed for it answers no other.
func TestAskWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		defer keyboard.Close()
		var out strings.Builder
		a := &App{IO: streams.Streams{In: in, Err: &out}}
		ctx, withdraw := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := a.AskWithin(ctx, "first?")
			ended <- err
		}()
		synctest.Wait()
		withdraw()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the first ends with %v", err)
		}
		if _, err := keyboard.Write([]byte("y\n")); err != nil { // too late
			t.Fatal(err)
		}
		synctest.Wait()
		answered := make(chan bool)
		go func() {
			yes, err := a.AskWithin(t.Context(), "second?")
			if err != nil {
				t.Error(err)
			}
			answered <- yes
		}()
		synctest.Wait()
		select {
		case yes := <-answered:
			t.Fatalf("the second is answered %v by what was typed before it", yes)
		default:
		}
		must.Get(keyboard.Write([]byte("yes\n")))(t)
		if !<-answered {
			t.Error("yes is no")
		}
		go func() {
			yes, err := a.Ask("third?")
			answered <- yes && err == nil
		}()
		must.Get(keyboard.Write([]byte("n\n")))(t)
		if <-answered {
			t.Error("no is yes")
		}
		if got := strings.Count(out.String(), "[y/N]"); got != 3 {
			t.Errorf("asked %d times: %s", got, out.String())
		}
	})
}
