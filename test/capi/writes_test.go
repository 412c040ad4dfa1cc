//go:build e2e

package capi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// writes counts what is written to a management cluster, except Events and Leases.
type writes struct {
	named bool // the object is reported, too
	reads bool // single objects that are read, and lists, are counted, too

	mu    sync.Mutex
	count map[string]int
}

// through is a transport whose writes are counted.
func (w *writes) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		what := resourceOf(request.URL.Path)
		if w.counts(request) && what != "events" && what != "leases" && !strings.HasSuffix(what, "reviews") {
			w.mu.Lock()
			if w.named {
				what += " " + nameOf(request.URL.Path)
			}
			w.count[request.Method+" "+what]++
			w.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// counts reports whether requests of that kind are counted.
func (w *writes) counts(request *http.Request) bool {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		return true
	}
	return w.reads && request.URL.Query().Get("watch") == ""
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// resourceOf is the resource of a path of the API server, with its subresource.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if at := slices.Index(parts, "namespaces"); at >= 0 && len(parts) > at+2 {
		parts = parts[at+2:]
	} else if len(parts) > 3 {
		parts = parts[3:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}

// nameOf is the name of the object that a path is of; "" where it is of all.
func nameOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if at := slices.Index(parts, "namespaces"); at >= 0 && len(parts) > at+3 {
		return parts[at+3]
	}
	return ""
}

// all is what was written since it was last asked.
func (w *writes) all() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.count
	w.count = map[string]int{}
	return all
}

// take is how many there were since it was last asked, and which.
func (w *writes) take() (total int, which string) {
	var texts []string
	count := w.all()
	for _, what := range slices.Sorted(maps.Keys(count)) {
		total += count[what]
		texts = append(texts, fmt.Sprintf("%d %s", count[what], what))
	}
	return total, strings.Join(texts, ", ")
}
