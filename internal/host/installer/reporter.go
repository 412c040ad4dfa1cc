//go:build linux

package installer

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

const (
	wholePercent = 100
	// percentStep is how much progress is told at least, as assisted-installer does.
	percentStep = 5
)

// reporter tells the service how much is written. What writes does not wait for the service: if that is slow, it is told only
// the newest number.
type reporter struct {
	run  *run
	news chan int
	done chan struct{}

	mu    sync.Mutex // the output of a program may come after what started it ended
	ended bool
	told  int
	seen  int
}

func (r *run) newReporter(ctx context.Context) *reporter {
	p := &reporter{run: r, news: make(chan int, 1), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for percent := range p.news {
			r.post(ctx, fmt.Sprintf("%d%%", percent))
		}
	}()
	return p
}

// percent takes a number. It begins anew when the number falls.
func (p *reporter) percent(percent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if percent < p.seen {
		p.told = 0
	}
	p.seen = percent
	if percent < p.told+percentStep && (percent != wholePercent || p.told == wholePercent) {
		return
	}
	p.told = percent
	select {
	case <-p.news: // older, and not told yet
	default:
	}
	p.news <- percent
}

// end waits until the last number is told.
func (p *reporter) end() {
	p.mu.Lock()
	p.ended = true
	close(p.news)
	p.mu.Unlock()
	<-p.done
}

var rsyncPercent = regexp.MustCompile(`\s([0-9]{1,3})%\s`)

// rsyncProgress reads what `rsync --info=progress2` prints, such as "  1.23G  42%  101.32MB/s    0:00:11 (xfr#5, to-chk=0/9)".
type rsyncProgress struct {
	*reporter
	line []byte
}

// longestLine is the most that is kept of a line without end.
const longestLine = 4096

// Write implements io.Writer.
func (p *rsyncProgress) Write(output []byte) (int, error) {
	p.line = append(p.line, output...)
	for {
		end := bytes.IndexAny(p.line, "\r\n")
		if end < 0 {
			break
		}
		p.read(p.line[:end])
		p.line = p.line[end+1:]
	}
	if len(p.line) > longestLine {
		p.line = nil
	}
	return len(output), nil
}

func (p *rsyncProgress) read(line []byte) {
	found := rsyncPercent.FindSubmatch(line)
	if found == nil {
		return
	}
	if percent, err := strconv.Atoi(string(found[1])); err == nil && percent <= wholePercent {
		p.percent(percent)
	}
}
