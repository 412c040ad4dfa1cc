package capi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// writes counts what is written to a management cluster, but for Events and Leases.
type writes struct {
	mu    sync.Mutex
	count map[string]int
}

// through is a transport whose writes are counted.
func (w *writes) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		what := resourceOf(request.URL.Path)
		if request.Method != http.MethodGet && request.Method != http.MethodHead && what != "events" && what != "leases" && !strings.HasSuffix(what, "reviews") {
			w.mu.Lock()
			w.count[request.Method+" "+what]++
			w.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
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

// take is how many there were since it was last asked, and which.
func (w *writes) take() (total int, which string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for _, what := range slices.Sorted(maps.Keys(w.count)) {
		total += w.count[what]
		texts = append(texts, fmt.Sprintf("%d %s", w.count[what], what))
	}
	w.count = map[string]int{}
	return total, strings.Join(texts, ", ")
}
