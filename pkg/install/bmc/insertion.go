package bmc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// How long a BMC may take to insert an image, on the network's own time. Many answer
// at once and read it later; some answer when they have all of it.
const (
	answersSoon  = 5 * time.Second  // how long an action waits for the answer
	sentWithin   = time.Minute      // after the last byte that our server sent
	insertWithin = 15 * time.Minute // where nothing was fetched, or it is not ours to serve
	insertTick   = 5 * time.Second
)

var errClosed = errors.New("oaictl does not wait for the insertion any more")

// insertion is an image on its way into a drive. There is never more than one for a
// host: a second would have the BMC read twice, and change what a machine boots from.
type insertion struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	done chan struct{} // closed in the end
	err  error         // then
	left bool          // its Act has returned: how it ends is what the next look says
}

func (i *insertion) ended() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

func (p *Plane) inserting(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.insertions[host]
	return i != nil && !i.ended()
}

// insert begins an insertion, and waits a moment for its end. One that takes longer
// goes on, also after ctx; that it failed is what the next look says.
func (p *Plane) insert(ctx context.Context, desired *model.Desired, host string) error {
	begun := p.begin(ctx, host)
	if begun == nil {
		return nil
	}
	go p.run(begun, desired, host)
	moment, left := context.WithCancel(ctx)
	defer left()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		_ = p.network.Sleep(moment, answersSoon) // it ends with the moment, too
	}()
	select {
	case <-passed:
	case <-begun.done:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun.ended() {
		return begun.err
	}
	begun.left = true
	return nil
}

// run carries an insertion out, and records how it ended if no Act waits for that any more.
func (p *Plane) run(i *insertion, desired *model.Desired, host string) {
	err := p.carryOut(i, desired, host)
	closed := errors.Is(context.Cause(i.ctx), errClosed)
	p.mu.Lock()
	i.err = err
	left := i.left
	close(i.done)
	p.mu.Unlock()
	if !closed && (left || err == nil) {
		p.settle(host, model.InsertMedia, err)
	}
}

// begin records an insertion, unless there is one under way.
func (p *Plane) begin(ctx context.Context, host string) *insertion {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier := p.insertions[host]; earlier != nil && !earlier.ended() {
		return nil
	}
	own, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	begun := &insertion{ctx: own, stop: stop, done: make(chan struct{})}
	p.insertions[host] = begun
	return begun
}

// carryOut inserts a host's image: it first reads what is in the drive by now.
func (p *Plane) carryOut(i *insertion, desired *model.Desired, host string) error {
	ctx := i.ctx
	defer i.stop(nil)
	if err := p.media.Prepare(ctx, host); err != nil {
		return err
	}
	go p.lose(ctx, i.stop, host)
	t, err := p.target(desired, host)
	if err != nil {
		return err
	}
	err = p.converse(ctx, t, func(s *connectedMachine) error { return s.act(model.InsertMedia) })
	var late *bmcError
	if err != nil && errors.As(context.Cause(ctx), &late) {
		return late
	}
	return err
}

// lose ends an insertion that makes no progress any more.
func (p *Plane) lose(ctx context.Context, stop context.CancelCauseFunc, host string) {
	began, last := p.network.Now(), p.media.Fetched(host)
	sent, fetched := began, false
	for p.network.Sleep(ctx, insertTick) == nil {
		now, seen := p.network.Now(), p.media.Fetched(host)
		if seen.Bytes != last.Bytes || !seen.Last.Equal(last.Last) {
			sent, last, fetched = now, seen, seen.Bytes > 0
		}
		switch {
		case fetched && now.Sub(sent) >= sentWithin:
			stop(&bmcError{kind: model.TroubleOther, text: fmt.Sprintf("its BMC has not answered the insertion, and has read nothing for %s",
				sentWithin)})
		case !fetched && now.Sub(began) >= insertWithin:
			stop(&bmcError{kind: model.TroubleOther, text: fmt.Sprintf("its BMC has not answered the insertion for %s", insertWithin)})
		}
	}
}
