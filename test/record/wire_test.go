//go:build e2e

package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// traffic is what oaictl has asked of a service or of API servers.
type traffic struct {
	ids     *ids
	mu      sync.Mutex
	pending []request // recorded at the end, when the names of all ids are known
}

type request struct {
	verb, object string
	body         []byte
}

func (x *traffic) wrote(verb, object string, body []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending = append(x.pending, request{verb, object, body})
}

func (x *traffic) read(what string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending = append(x.pending, request{"read", what, nil})
}

// note adds everything to a recording.
func (x *traffic) note(r *recording) {
	x.mu.Lock()
	defer x.mu.Unlock()
	writes := map[string][]request{}
	for _, p := range x.pending {
		switch p.verb {
		case "read", "event":
			r.add("%s %s", p.verb, x.ids.tidy(p.object))
		default:
			writes[p.object] = append(writes[p.object], p)
		}
	}
	type sequence struct {
		count int
		lines []string
	}
	alike := map[string][]sequence{} // the writes to each of the objects that have one name except for its random part
	for object, list := range writes {
		object = x.ids.tidy(object)
		var lines []string
		for at, w := range list {
			shape, whole := x.ids.body(w.body, false), x.ids.body(w.body, true)
			lines = append(lines, fmt.Sprintf("%d %s %s", at, w.verb, shape))
			if whole != shape { // which is kept where it is the same each time
				lines = append(lines, fmt.Sprintf("%d %s whole %s", at, w.verb, whole))
			}
		}
		alike[object] = append(alike[object], sequence{len(list), lines})
	}
	for object, lists := range alike {
		r.add("object %s", object)
		r.add("objects %s: %d", object, len(lists))
		slices.SortFunc(lists, func(a, b sequence) int { return slices.Compare(a.lines, b.lines) })
		for number, list := range lists {
			name := object
			if len(lists) > 1 {
				name += fmt.Sprintf(" #%d", number)
			}
			r.add("writes %s: %d", name, list.count)
			for _, line := range list.lines {
				r.add("write %s %s", name, line)
			}
		}
	}
}

// proxy is the address of a proxy before a service, which records what passes.
func (x *traffic) proxy(t *testing.T, service string) string {
	t.Helper()
	target := must.Get(url.Parse(service))(t)
	passing := httputil.NewSingleHostReverseProxy(target)
	passing.ModifyResponse = func(answer *http.Response) error {
		if !strings.Contains(answer.Header.Get("Content-Type"), "json") {
			return nil
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		answer.Body = io.NopCloser(bytes.NewReader(body))
		x.ids.learn(body)
		return nil
	}
	passing.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := strings.TrimPrefix(r.URL.Path, "/api/assisted-install")
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			x.read(r.Method + " " + place + keysOf(r.URL.Query()))
		} else {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			x.wrote(r.Method, place+keysOf(r.URL.Query()), body)
		}
		passing.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// keysOf are the names of parameters.
func keysOf(query url.Values) string {
	if len(query) == 0 {
		return ""
	}
	return "?" + strings.Join(slices.Sorted(maps.Keys(query)), "&")
}

// audited is an event of an API server's audit log.
type audited struct {
	Verb       string
	UserAgent  string
	RequestURI string
	ObjectRef  struct{ Resource, Namespace, Name, APIGroup, Subresource string }
	// ResponseStatus is that of the answer.
	ResponseStatus struct{ Code int }
	RequestObject  json.RawMessage
}

// auditedBy reads the audit logs of a folder.
func (x *traffic) auditedBy(ctx context.Context, folder string) error {
	logs, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return err
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		text = text[:bytes.LastIndexByte(text, '\n')+1] // a server that runs may be writing the next line
		decoder := json.NewDecoder(bytes.NewReader(text))
		for ctx.Err() == nil && decoder.More() {
			var e audited
			if err := decoder.Decode(&e); err != nil {
				return fmt.Errorf("%s: %w", log, err)
			}
			x.audit(&e)
		}
	}
	return ctx.Err()
}

func (x *traffic) audit(e *audited) {
	if !strings.HasPrefix(e.UserAgent, "oaictl") || e.ObjectRef.Resource == "" {
		return
	}
	o := e.ObjectRef
	kind := strings.TrimSuffix(o.Resource+"."+o.APIGroup, ".")
	if o.Subresource != "" {
		kind += "/" + o.Subresource
	}
	switch e.Verb {
	case "get", "list", "watch":
		x.read(e.Verb + " " + kind)
		return
	}
	if o.Resource == "events" {
		var event struct {
			Reason         string
			Regarding      struct{ Kind, Name string }
			InvolvedObject struct{ Kind, Name string }
		}
		if json.Unmarshal(e.RequestObject, &event) == nil && event.Reason != "" {
			x.wrote("event", event.Reason+" "+event.Regarding.Kind+event.InvolvedObject.Kind+"/"+event.Regarding.Name+event.InvolvedObject.Name, nil)
		}
		return
	}
	var named struct {
		Metadata struct{ Name, GenerateName string }
	}
	if o.Name == "" && json.Unmarshal(e.RequestObject, &named) == nil {
		if o.Name = named.Metadata.Name; o.Name == "" {
			o.Name = named.Metadata.GenerateName + "<x>"
		}
	}
	if strings.HasSuffix(o.Resource, "reviews") {
		return
	}
	body := []byte(e.RequestObject)
	if e.Verb == "delete" {
		body = nil
	}
	if e.ResponseStatus.Code == http.StatusConflict {
		return // the write is tried again
	}
	x.wrote(e.Verb, kind+" "+strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), body)
}
