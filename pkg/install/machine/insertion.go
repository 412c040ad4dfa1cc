package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// How long a BMC may take to insert an image, on the network's own time. Many answer
// at once and read it later; some answer when they have all of it.
const (
	answersSoon  = 5 * time.Second  // how long an action waits for the answer
	sentWithin   = time.Minute      // after the last byte that our server sent
	insertWithin = 15 * time.Minute // where nothing was fetched, or it is not ours to serve
	insertTick   = 5 * time.Second
)

var errClosed = errors.New("nobody waits for the insertion any more")

// insertion is an image on its way into a drive. There is never more than one for a
// host: a second would have the BMC read twice, and change what a machine boots from.
type insertion struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	done chan struct{} // closed in the end
	err  error         // then
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
// goes on, also after ctx; that it failed is what the next call says.
func (p *Plane) insert(ctx context.Context, desired *install.Desired, host string) error {
	begun, earlier := p.begin(ctx, host)
	switch {
	case begun == nil && !earlier.ended():
		return nil
	case begun == nil:
		return earlier.err
	}
	go func() {
		defer close(begun.done)
		begun.err = p.carryOut(begun, desired, host)
	}()
	moment, left := context.WithCancel(ctx)
	defer left()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		_ = p.network.Sleep(moment, answersSoon) // it ends with the moment, too
	}()
	select {
	case <-passed:
		return nil
	case <-begun.done:
		p.forget(host, begun)
		return begun.err
	}
}

// begin notes an insertion, unless there is an earlier one: one that is under way, or
// one that failed and of which nobody has heard yet.
func (p *Plane) begin(ctx context.Context, host string) (begun, earlier *insertion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier = p.insertions[host]; earlier != nil {
		if !earlier.ended() {
			return nil, earlier
		}
		delete(p.insertions, host)
		if earlier.err != nil {
			return nil, earlier
		}
	}
	own, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	begun = &insertion{ctx: own, stop: stop, done: make(chan struct{})}
	p.insertions[host] = begun
	return begun, nil
}

// forget drops an insertion whose end is known.
func (p *Plane) forget(host string, ended *insertion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.insertions[host] == ended {
		delete(p.insertions, host)
	}
}

// settle drops how an insertion ended, once the image is seen in the drive.
func (p *Plane) settle(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.insertions[host]; i != nil && i.ended() {
		delete(p.insertions, host)
	}
}

// carryOut inserts a host's image: what is in the drive by now is looked at first.
func (p *Plane) carryOut(i *insertion, desired *install.Desired, host string) error {
	ctx := i.ctx
	defer i.stop(nil)
	if err := p.media.Prepare(ctx, host); err != nil {
		return err
	}
	go p.lose(ctx, i.stop, host)
	err := p.with(ctx, desired, host, "", func(s *opened) error { return s.act(model.InsertMedia) })
	var late *trouble
	if err != nil && errors.As(context.Cause(ctx), &late) {
		return late
	}
	return err
}

// lose ends an insertion that nothing comes of any more.
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
			stop(&trouble{kind: model.TroubleOther, text: fmt.Sprintf("its BMC has not answered to the insertion, and read nothing for %s", sentWithin)})
		case !fetched && now.Sub(began) >= insertWithin:
			stop(&trouble{kind: model.TroubleOther, text: fmt.Sprintf("its BMC has not answered to the insertion for %s", insertWithin)})
		}
	}
}
