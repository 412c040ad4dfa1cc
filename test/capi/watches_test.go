//go:build e2e

package capi

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// watches counts the watches of an API server that are open at once.
type watches struct {
	mu         sync.Mutex
	open, most map[string]int // by resource
}

func newWatches() *watches { return &watches{open: map[string]int{}, most: map[string]int{}} }

// through is a transport whose watches are counted.
func (w *watches) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK || request.URL.Query().Get("watch") == "" {
			return response, err
		}
		what := watchedResource(request.URL.Path)
		w.add(what, 1)
		response.Body = &watchedBody{ReadCloser: response.Body, closed: sync.OnceFunc(func() { w.add(what, -1) })}
		return response, nil
	})
}

func (w *watches) add(what string, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[what] += count
	w.most[what] = max(w.most[what], w.open[what])
}

// atOnce is how many watches of each resource were open at once, as a text for a person, and those of more than one.
func (w *watches) atOnce() (text string, several []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	total := 0
	for _, what := range slices.Sorted(maps.Keys(w.most)) {
		total += w.most[what]
		texts = append(texts, fmt.Sprintf("%d %s", w.most[what], what))
		if w.most[what] > 1 {
			several = append(several, what)
		}
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(texts, ", ")), several
}

// watchedBody is what a watch brings.
type watchedBody struct {
	io.ReadCloser

	closed func()
}

// Close ends the watch.
func (b *watchedBody) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}

// watchedResource is the resource of a path of the API server with its group, in any namespace.
func watchedResource(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := "core"
	if parts[0] == "apis" {
		group = parts[1]
	}
	return parts[len(parts)-1] + "." + group
}

// checkWatches reports the kinds that a provider has watched more than once at a time.
func (r *rig) checkWatches() {
	r.t.Helper()
	for _, provider := range slices.Sorted(maps.Keys(r.accounts)) {
		text, several := r.accounts[provider].watches.atOnce()
		r.t.Logf("the %s provider had open watches: %s", provider, text)
		if len(several) > 0 {
			r.t.Errorf("the %s provider watches more than once: %s", provider, strings.Join(several, ", "))
		}
	}
}
