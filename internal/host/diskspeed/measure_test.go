//go:build linux

package diskspeed

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// watched is a disk that notes which writes are not zeros, and fails those from a place on.
type watched struct {
	*os.File
	failFrom int64

	mu     sync.Mutex
	writes []int64
}

func (w *watched) WriteAt(p []byte, at int64) (int, error) {
	isData := len(bytes.Trim(p, "\x00")) > 0
	w.mu.Lock()
	defer w.mu.Unlock()
	if isData {
		w.writes = append(w.writes, at)
		if w.failFrom > 0 && at >= w.failFrom {
			return 0, errors.New("a bad sector")
		}
	}
	return w.File.WriteAt(p, at)
}

func open(t *testing.T, size int64) *watched {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "disk")))(t)
	t.Cleanup(func() { must.Do(t, file.Close()) })
	must.Do(t, file.Truncate(size))
	return &watched{File: file}
}

func (w *watched) isEmpty(t *testing.T) bool {
	t.Helper()
	return len(bytes.Trim(must.Get(os.ReadFile(w.Name()))(t), "\x00")) == 0
}

// endsAfter is a context that ends after so many looks.
type endsAfter struct {
	context.Context
	err error

	mu    sync.Mutex
	looks int
}

func (e *endsAfter) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looks--
	if e.looks < 0 {
		return e.err
	}
	return nil
}

func TestTwoWritersWriteTheWholeStart(t *testing.T) {
	const size = 10*block + 100
	d := open(t, 2*size)
	c := checker(t.Output())
	c.size = size
	must.Get(c.measure(t.Context(), d))(t)
	slices.Sort(d.writes)
	var want []int64
	for at := int64(0); at < 10*block; at += block {
		want = append(want, at, at)
	}
	if !slices.Equal(d.writes, want) {
		t.Errorf("wrote at %d, want %d", d.writes, want)
	}
	if !d.isEmpty(t) {
		t.Error("the disk is not empty afterwards")
	}
}

func TestEndOfTheTime(t *testing.T) {
	for name, test := range map[string]struct {
		looks    int
		err      error
		measured bool
	}{
		"at once":                        {0, context.DeadlineExceeded, false},
		"before enough writes":           {enough - 1, context.DeadlineExceeded, false},
		"after enough writes":            {4 * enough, context.DeadlineExceeded, true},
		"the step is stopped meanwhile":  {4 * enough, context.Canceled, false},
		"the time is over after the end": {100 * enough, context.DeadlineExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, 400*block)
			c := checker(t.Output())
			c.size = 300 * block
			duration, err := c.measure(&endsAfter{Context: t.Context(), err: test.err, looks: test.looks}, d)
			if (err == nil) != test.measured || (duration > 0) != test.measured {
				t.Errorf("got %s, %v", duration, err)
			}
			if err != nil && !errors.Is(err, test.err) {
				t.Errorf("got %v", err)
			}
			if !d.isEmpty(t) {
				t.Error("the disk is not empty afterwards")
			}
		})
	}
}

// TestNoTimeIsTheExitCodeOfTimeout: the service knows 124.
func TestNoTimeIsTheExitCodeOfTimeout(t *testing.T) {
	args := ask(t, image(t, "", 0))
	args[1] = "0.000000001"
	code, stdout, stderr := checker(t.Output()).Execute(t.Context(), args)
	if code != exitTimeout || strings.Contains(stdout, "io_sync_duration") || !strings.Contains(stderr, "deadline exceeded") {
		t.Errorf("exit code %d, answer %s, stderr %s", code, stdout, stderr)
	}
}

func TestFailedWrites(t *testing.T) {
	d := open(t, 20*block)
	d.failFrom = 5 * block
	c := checker(t.Output())
	c.size = 10 * block
	if _, err := c.measure(t.Context(), d); err == nil || !strings.Contains(err.Error(), "write at byte 11500: a bad sector") {
		t.Errorf("got %v", err)
	}
	if !d.isEmpty(t) {
		t.Error("the disk is not empty afterwards")
	}
}

func TestSlowest(t *testing.T) {
	fast, slow := []time.Duration{time.Millisecond}, []time.Duration{time.Second}
	failed := errors.New("broken")
	for name, test := range map[string]struct {
		results [][]time.Duration
		errs    []error
		want    time.Duration
		err     bool
	}{
		"the slower one counts":   {[][]time.Duration{slow, fast}, []error{nil, nil}, time.Second, false},
		"one failed":              {[][]time.Duration{nil, fast}, []error{failed, nil}, time.Millisecond, false},
		"both failed":             {[][]time.Duration{nil, nil}, []error{failed, failed}, 0, true},
		"a failed one is no fast": {[][]time.Duration{slow, nil}, []error{nil, failed}, time.Second, false},
	} {
		if got, err := slowest(test.results, test.errs); got != test.want || (err != nil) != test.err {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

func TestPercentile(t *testing.T) {
	upTo := func(n int) []time.Duration {
		var all []time.Duration
		for i := n; i > 0; i-- {
			all = append(all, time.Duration(i))
		}
		return all
	}
	for n, want := range map[int]time.Duration{0: 0, 1: 1, 2: 2, 99: 99, 100: 99, 101: 100, 200: 198, 10029: 9929} {
		if got := percentile(upTo(n)); got != want {
			t.Errorf("of %d: got %d, want %d", n, got, want)
		}
	}
}

// TestPatternIsNoSignature: if the machine loses power while the disk is measured, what is left must not look like data.
func TestPatternIsNoSignature(t *testing.T) {
	start := bytes.Repeat(pattern(), ends/block+1)[:ends]
	if found := signatures(start, make([]byte, ends), diskSize); len(found) > 0 {
		t.Errorf("the pattern looks like %q", found)
	}
	if !bytes.Equal(pattern(), pattern()) {
		t.Error("the pattern is not always the same")
	}
}

// stuck is a clock that stops in the middle of a measurement, as a disk does that no longer answers.
type stuck struct{ released chan struct{} }

func (s stuck) Now() time.Time {
	<-s.released
	return time.Time{}
}

func (stuck) Sleep(context.Context, time.Duration) error { return nil }

func TestDiskThatDoesNotAnswer(t *testing.T) {
	path := image(t, "", 0)
	args := ask(t, path)
	synctest.Test(t, func(t *testing.T) {
		disk := stuck{make(chan struct{})}
		c := checker(t.Output())
		c.Clock = clock.Of(disk)
		code, stdout, stderr := c.Execute(t.Context(), args)
		if code != exitTimeout || strings.Contains(stdout, "io_sync_duration") || !strings.Contains(stderr, "did not answer for 9m0s") {
			t.Errorf("exit code %d, answer %s, stderr %s", code, stdout, stderr)
		}
		close(disk.released) // the disk answers at last
	})
	if content := must.Get(os.ReadFile(path))(t); len(bytes.Trim(content, "\x00")) > 0 {
		t.Error("the disk is not empty after it answered at last")
	}
}
