//go:build linux

package image

import (
	"context"
	"io"
	"sync"
)

// ahead reads a stream into buffers while earlier ones are still in use: reading, unpacking and writing overlap.
type ahead struct {
	full, free chan []byte
	stop       chan struct{}
	stopped    func()
	ended      sync.WaitGroup
	err        error // why the stream ended; set before full is closed
	rest       []byte
	whole      []byte // the buffer that rest is the end of
}

// readAhead starts to read r. Each buffer is filled, except the last. The caller calls close.
func readAhead(r io.Reader, buffers ...[]byte) *ahead {
	a := &ahead{full: make(chan []byte, len(buffers)), free: make(chan []byte, len(buffers)), stop: make(chan struct{})}
	a.stopped = sync.OnceFunc(func() { close(a.stop) })
	for _, buffer := range buffers {
		a.free <- buffer
	}
	a.ended.Go(func() {
		a.err = a.fill(r)
		close(a.full)
	})
	return a
}

// fill returns why the stream ended: io.EOF if nothing is wrong.
func (a *ahead) fill(r io.Reader) error {
	for {
		select {
		case <-a.stop:
			return context.Canceled
		case buffer := <-a.free:
			n, err := readFull(r, buffer[:cap(buffer)])
			if n > 0 {
				a.full <- buffer[:n]
			}
			if err != nil {
				return err
			}
		}
	}
}

// readFull fills a buffer. Its error is that of the stream: io.ReadFull hides whether a stream ended or was cut off.
func readFull(r io.Reader, buffer []byte) (int, error) {
	n := 0
	for n < len(buffer) {
		more, err := r.Read(buffer[n:])
		n += more
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// next has the next buffer. The error is io.EOF at the end of the stream.
func (a *ahead) next(ctx context.Context) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case buffer, open := <-a.full:
		if !open {
			return nil, a.err
		}
		return buffer, nil
	}
}

// done gives a buffer back.
func (a *ahead) done(buffer []byte) { a.free <- buffer }

// Read implements io.Reader. It is not used together with next.
func (a *ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.whole != nil {
			a.done(a.whole)
			a.whole = nil
		}
		buffer, open := <-a.full
		if !open {
			return 0, a.err
		}
		a.rest, a.whole = buffer, buffer
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// close ends the reading, and waits until it has ended.
func (a *ahead) close() {
	a.stopped()
	a.ended.Wait()
}
