package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/oaictl/oaictl/pkg/install"
)

// interrupt is why a context ended: somebody asked for it.
type interrupt struct{ code install.Code }

func (i *interrupt) Error() string {
	if i.code == install.CodeTerminated {
		return "terminated"
	}
	return "interrupted"
}

// WithSignals is ctx, ended by the first SIGINT or SIGTERM. A second one
// leaves the process at once through exit. stop gives the signals back.
func WithSignals(ctx context.Context, exit func(code int)) (signals context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	arrived := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	go func() {
		for again := false; ; again = true {
			select {
			case sig := <-arrived:
				code := codeOfSignal(sig)
				if again {
					exit(int(code))
				}
				cancel(&interrupt{code})
			case <-done:
				return
			}
		}
	}()
	var once sync.Once
	return ctx, func() {
		once.Do(func() {
			signal.Stop(arrived)
			close(done)
			cancel(nil)
		})
	}
}

func codeOfSignal(sig os.Signal) install.Code {
	if sig == syscall.SIGTERM {
		return install.CodeTerminated
	}
	return install.CodeInterrupted
}

// interruptOf says whether ctx ended by a signal, and the exit code of that.
func interruptOf(ctx context.Context) (install.Code, bool) {
	var by *interrupt
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &by) {
		return by.code, true
	}
	return 0, false
}
