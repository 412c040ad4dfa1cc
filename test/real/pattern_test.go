//go:build e2e

package real

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// offers is what of the suite there is to run, and how much of it did.
type offers struct {
	mu    sync.Mutex
	parts []string // of the tests that were begun
	ran   int
}

// suite is this one: a process runs it once.
var suite offers

// begins marks a test as one that runs, beside others.
func begins(t *testing.T) {
	t.Helper()
	suite.runs(1)
	t.Parallel()
}

// runs records that so many more tests run.
func (o *offers) runs(more int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ran += more
}

// offer records that a test has a part.
func (o *offers) offer(t *testing.T, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parts = append(o.parts, t.Name()+"/"+name)
}

// part runs a part of a test, beside others, where the pattern asks for it.
func part(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	suite.offer(t, name)
	t.Run(name, func(t *testing.T) {
		begins(t)
		test(t)
	})
}

// nothing says that a pattern fits no test, and what there is; nil where one ran.
func (o *offers) nothing(pattern string, tests func() []string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ran > 0 {
		return nil
	}
	there := slices.Sorted(slices.Values(o.parts))
	if len(there) == 0 {
		there = tests()
	}
	return fmt.Errorf("no test fits RUN=%q; there are:\n  %s", pattern, strings.Join(there, "\n  "))
}

// tests are the names of the suite's tests, as the binary itself lists them.
func tests() []string {
	list, err := exec.CommandContext(context.Background(), os.Args[0], "-test.list", ".").Output()
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Fields(string(list))
}

// TestPatternThatFitsNothing: a run with a pattern that matches no test fails, and says which tests there are.
func TestPatternThatFitsNothing(t *testing.T) {
	begins(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"release_tag": "", "versions": {"assisted-installer-service": "quay.io/x"}}`)
	}))
	defer service.Close()
	for _, tc := range []struct {
		pattern, says string
		fits          bool
	}{
		{"TestNoSuch", "\n  TestInstall\n", false},
		{"TestInstall$/compcat", "\n  TestInstall/compact\n", false},
		{"TestInstall$/compact/nosuch", "\n  TestInstall/compact/rest\n", false},
		{"TestHosted", "", true},
	} {
		run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", tc.pattern)
		run.Env = append(os.Environ(), "OAICTL_REAL_SERVICE="+service.URL, "OAICTL_REAL_HUB=")
		text, err := run.CombinedOutput()
		said := bytes.Contains(text, fmt.Appendf(nil, "no test fits RUN=%q; there are:", tc.pattern))
		if (err == nil) != tc.fits || said == tc.fits || !strings.Contains(string(text), tc.says) {
			t.Errorf("%s: %v\n%s", tc.pattern, err, text)
		}
	}
}
