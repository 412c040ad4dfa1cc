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
				by := interruptBy(sig)
				if again {
					exit(int(by.Code))
				}
				cancel(by)
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

func interruptBy(sig os.Signal) *install.Interrupt {
	if sig == syscall.SIGTERM {
		return &install.Interrupt{Signal: "terminated", Code: install.CodeTerminated}
	}
	return &install.Interrupt{Signal: "interrupt", Code: install.CodeInterrupted}
}

// interruptOf is the signal by which ctx ended, nil if it did not end by one.
func interruptOf(ctx context.Context) *install.Interrupt {
	var by *install.Interrupt
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &by) {
		return by
	}
	return nil
}
