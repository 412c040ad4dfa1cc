package must_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// ended is a test that counts how often it is ended.
type ended struct {
	testing.TB
	times int
}

func (t *ended) Helper()      {}
func (t *ended) Fatal(...any) { t.times++ }

func (t *ended) Fatalf(format string, args ...any) {
	t.times++
	if got := fmt.Sprintf(format, args...); got != "the file: c" {
		t.Errorf("it says %q", got)
	}
}

func TestEndsOnErrors(t *testing.T) {
	e := &ended{TB: t}
	must.Do(e, nil)
	if got := must.Get(1, nil)(e); got != 1 || e.times != 0 {
		t.Errorf("without an error: %d, ended %d times", got, e.times)
	}
	must.Do(e, errors.New("a"))
	must.Get(1, errors.New("b"))(e)
	must.Do(e, errors.New("c"), "the file")
	if e.times != 3 {
		t.Errorf("ended %d times", e.times)
	}
}
