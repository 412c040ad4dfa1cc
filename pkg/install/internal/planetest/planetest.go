// Package planetest has what the tests of the service planes share: results kept in memory, and what a plane reports.
package planetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Files keeps results in memory. It keeps no logs.
type Files struct {
	mu    sync.Mutex
	saved map[string][]byte
}

// Observe returns the digests of what was saved.
func (f *Files) Observe(context.Context, model.ClusterRef) (map[string]model.SavedResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := map[string]model.SavedResult{}
	for name, data := range f.saved {
		kept[name] = model.SavedResult{Digest: model.Digest(data), Private: true}
	}
	return kept, nil
}

// Claim allows every cluster.
func (f *Files) Claim(context.Context, model.ClusterRef, func(string) ([]byte, error)) (string, error) {
	return "", nil
}

// Save keeps a result.
func (f *Files) Save(_ context.Context, _ model.ClusterRef, name string, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved == nil {
		f.saved = map[string][]byte{}
	}
	f.saved[name] = data
	return "", nil
}

// Saved is what was saved by a name.
func (f *Files) Saved(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saved[name]
}

// Append drops a line of a log.
func (*Files) Append(context.Context, model.ClusterRef, string, []byte) error { return nil }

// Record returns an empty log.
func (*Files) Record(context.Context, model.ClusterRef, string) ([]byte, error) { return nil, nil }

// Notes gathers reports.
type Notes struct {
	mu  sync.Mutex
	all []string
}

// Add takes a report.
func (n *Notes) Add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

// All are the reports so far.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// With are the reports that contain all of some words.
func (n *Notes) With(words ...string) []string {
	return slices.DeleteFunc(n.All(), func(text string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// Await waits for a report that contains all of some words.
func (n *Notes) Await(t testing.TB, words ...string) {
	t.Helper()
	for range 2000 {
		if len(n.With(words...)) > 0 {
			return
		}
		if err := clock.Real().Sleep(t.Context(), 10*time.Millisecond); err != nil {
			return
		}
	}
	t.Errorf("no note of %q: %q", words, n.All())
}
