//go:build unix

package app

import (
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestSignals sends this process what Ctrl-C and kill send: the first ends the
// context with its code, the second leaves at once.
func TestSignals(t *testing.T) {
	for sig, code := range map[syscall.Signal]model.Code{syscall.SIGINT: model.CodeInterrupted, syscall.SIGTERM: model.CodeTerminated} {
		left := make(chan int, 1)
		ctx, stop := WithSignals(t.Context(), func(code int) { left <- code })
		if InterruptOf(ctx) != nil {
			t.Fatal("interrupted before any signal")
		}
		must.Do(t, syscall.Kill(syscall.Getpid(), sig))
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Fatalf("%v does not end the context", sig)
		}
		if by := InterruptOf(ctx); by == nil || by.Code != code {
			t.Errorf("%v: ended by %v", sig, by)
		}
		must.Do(t, syscall.Kill(syscall.Getpid(), sig))
		select {
		case got := <-left:
			if got != int(code) {
				t.Errorf("a second %v leaves with %d", sig, got)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("a second %v does not leave", sig)
		}
		stop()
		stop()
	}
}
