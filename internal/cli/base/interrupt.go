package base

import (
	"context"
	"errors"
	"io"
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

// InterruptOf is the signal by which ctx ended, nil if it did not end by one.
func InterruptOf(ctx context.Context) *install.Interrupt {
	if ctx.Err() == nil {
		return nil
	}
	by, _ := errors.AsType[*install.Interrupt](context.Cause(ctx))
	return by
}

// UntilDone is r, whose reads end when ctx does: a person at a prompt, or a pipe
// that nobody writes to, must not hold up an interrupt. The read that was cut
// short stays behind and gets what would have come; the process is about to
// end.
func UntilDone(ctx context.Context, r io.Reader) io.Reader {
	if r == nil {
		return nil
	}
	return &endingReader{ctx: ctx, from: r}
}

type endingReader struct {
	ctx  context.Context
	from io.Reader
}

func (r *endingReader) Read(into []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	type result struct {
		data []byte
		err  error
	}
	arrived := make(chan result, 1)
	own := make([]byte, len(into)) // into is the caller's again once Read returns
	go func() {
		n, err := r.from.Read(own)
		arrived <- result{own[:n], err}
	}()
	select {
	case got := <-arrived:
		return copy(into, got.data), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}

// Stopped is the end of something that plays until it is stopped: by whom, if
// by a signal, with nothing that would have to be taken up again.
func Stopped(ctx context.Context, op string, err error) error {
	if by := InterruptOf(ctx); by != nil {
		return &install.Fault{Code: by.Code, Op: op, Err: by}
	}
	return err
}
