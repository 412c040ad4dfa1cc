//go:build linux

// Package hosttest has what tests of several packages of the machine's side need.
package hosttest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// Object is an object of Kubernetes, as JSON has it.
type Object = map[string]any

// Request is what an API server authorizes.
type Request struct{ Verb, Group, Resource, Name string }

// String implements fmt.Stringer.
func (r Request) String() string {
	return fmt.Sprintf("%s %s/%s %q", r.Verb, r.Group, r.Resource, r.Name)
}

// API is a small API server in memory. It is reached without a network, so that the time of a test can pass at once.
type API struct {
	t testing.TB

	// Mu guards all that follows.
	Mu       sync.Mutex
	Objects  map[string]Object // by group/resource/namespace/name
	version  int
	Logs     map[string]string // of pods, by namespace/name, and files of nodes, by node/file
	Requests []Request         // of the controller's own user
	Kinds    map[string]string // served, as group/version/kind → resource
	Down     func(Request) int // a status with which a request is refused; zero to serve it
}

// New makes an API server that has no objects.
func New(t testing.TB) *API {
	return &API{t: t, Objects: map[string]Object{}, Logs: map[string]string{}, Kinds: map[string]string{
		"/v1/ConfigMap": "configmaps", "example.com/v1/Storage": "storages",
	}}
}

// Connect is what kube.Connect is in the program. The administrator's requests are not recorded.
func (a *API) Connect(kubeconfig []byte) (*kube.Client, error) {
	return kube.New(&rest.Config{Host: "http://api", Transport: transport{a, kubeconfig == nil}})
}

type transport struct {
	*API
	own bool
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.serve(w, r, t.own)
	return w.Result(), nil
}

// Key is where an object is kept.
func Key(group, resource, space, name string) string {
	return strings.Join([]string{group, resource, space, name}, "/")
}

// Put adds an object or changes it.
func (a *API) Put(group, resource string, o Object) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	meta := o["metadata"].(Object)
	if o["kind"] == nil {
		o["apiVersion"], o["kind"] = strings.TrimPrefix(group+"/v1", "/"), "Object"
	}
	a.version++
	meta["resourceVersion"] = strconv.Itoa(a.version)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", a.version)
	}
	if meta["creationTimestamp"] == nil {
		meta["creationTimestamp"] = clock.Real().Now().UTC().Format(time.RFC3339)
	}
	space, _ := meta["namespace"].(string)
	a.Objects[Key(group, resource, space, meta["name"].(string))] = Copy(a.t, o)
}

// Get is a copy of an object; nil if there is none.
func (a *API) Get(group, resource, space, name string) Object {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	o, found := a.Objects[Key(group, resource, space, name)]
	if !found {
		return nil
	}
	return Copy(a.t, o)
}

// Names are those of all objects of a kind.
func (a *API) Names(group, resource string) []string {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	var all []string
	for _, at := range slices.Sorted(maps.Keys(a.Objects)) {
		if strings.HasPrefix(at, group+"/"+resource+"/") {
			all = append(all, at[strings.LastIndex(at, "/")+1:])
		}
	}
	return all
}

// Copy copies an object with all that is in it.
func Copy(t testing.TB, o Object) Object {
	var out Object
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(o))(t), &out))
	return out
}

// path is what the path of a request says.
type path struct{ group, version, space, resource, name, part string }

func pathOf(text string) (p path) {
	parts := strings.Split(strings.Trim(text, "/"), "/")
	if parts[0] == "api" {
		p.version, parts = parts[1], parts[2:]
	} else {
		p.group, p.version, parts = parts[1], parts[2], parts[3:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.space, parts = parts[1], parts[2:]
	}
	for i, to := range []*string{&p.resource, &p.name} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	if len(parts) > 2 {
		p.part = strings.Join(parts[2:], "/")
	}
	return p
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, own bool) {
	p := pathOf(r.URL.Path)
	if p.resource == "" {
		a.discover(w, p)
		return
	}
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
		http.MethodDelete: "delete"}[r.Method]
	if verb == "get" && p.name == "" {
		verb = "list"
	}
	asked := Request{verb, p.group, p.resource, p.name}
	if p.part != "" {
		part, _, _ := strings.Cut(p.part, "/")
		asked.Resource += "/" + part
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if own {
		a.Requests = append(a.Requests, asked)
	}
	if a.Down != nil {
		if status := a.Down(asked); status != 0 {
			fail(w, status, asked)
			return
		}
	}
	switch at := Key(p.group, p.resource, p.space, p.name); {
	case p.part == "log" || strings.HasPrefix(p.part, "proxy/"):
		text, found := a.Logs[p.space+"/"+p.name]
		if p.part != "log" {
			text, found = a.Logs[p.name+"/"+strings.TrimPrefix(p.part, "proxy/logs/")]
		}
		if !found {
			fail(w, http.StatusNotFound, asked)
			return
		}
		_, _ = io.WriteString(w, text)
	case verb == "list":
		a.list(w, r, p)
	case verb == "create":
		a.create(w, r, p)
	default:
		a.one(w, r, asked, p, at)
	}
}

func (a *API) discover(w http.ResponseWriter, p path) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	var resources []Object
	for _, kind := range slices.Sorted(maps.Keys(a.Kinds)) {
		if name, found := strings.CutPrefix(kind, p.group+"/"+p.version+"/"); found {
			resources = append(resources, Object{"name": a.Kinds[kind] + "/status", "kind": name, "namespaced": true},
				Object{"name": a.Kinds[kind], "kind": name, "namespaced": true})
		}
	}
	if resources == nil {
		fail(w, http.StatusNotFound, Request{"get", p.group, "", ""})
		return
	}
	answer(w, http.StatusOK, Object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": p.version, "resources": resources})
}

func (a *API) list(w http.ResponseWriter, r *http.Request, p path) {
	query := r.URL.Query()
	limit := must.Get(strconv.Atoi(query.Get("limit")))(a.t)
	start, _ := strconv.Atoi(query.Get("continue"))
	var items []any
	for _, at := range slices.Sorted(maps.Keys(a.Objects)) {
		parts := strings.Split(at, "/")
		if parts[0] != p.group || parts[1] != p.resource || p.space != "" && parts[2] != p.space ||
			!matches(a.Objects[at], query.Get("labelSelector")) {
			continue
		}
		if phase, is := strings.CutPrefix(query.Get("fieldSelector"), "status.phase="); is && Text(a.Objects[at], "status", "phase") != phase {
			continue
		}
		items = append(items, a.Objects[at])
	}
	meta := Object{"resourceVersion": strconv.Itoa(a.version)}
	end := min(start+limit, len(items))
	if end < len(items) {
		meta["continue"] = strconv.Itoa(end)
	}
	answer(w, http.StatusOK, Object{"kind": "ObjectList", "apiVersion": "v1", "metadata": meta, "items": items[min(start, end):end]})
}

func matches(o Object, selector string) bool {
	for one := range strings.SplitSeq(selector, ",") {
		name, value, _ := strings.Cut(one, "=")
		if name != "" && Text(o, "metadata", "labels", name) != value {
			return false
		}
	}
	return true
}

// Text is the text at a path in an object, "" if there is none.
func Text(o Object, names ...string) string {
	for _, name := range names[:len(names)-1] {
		o, _ = o[name].(Object)
	}
	text, _ := o[names[len(names)-1]].(string)
	return text
}

func (a *API) create(w http.ResponseWriter, r *http.Request, p path) {
	var o Object
	must.Do(a.t, json.NewDecoder(r.Body).Decode(&o))
	p.name = Text(o, "metadata", "name")
	at := Key(p.group, p.resource, p.space, p.name)
	if _, exists := a.Objects[at]; exists {
		fail(w, http.StatusConflict, Request{"create", p.group, p.resource, p.name})
		return
	}
	a.Objects[at] = o
	answer(w, http.StatusCreated, o)
}

func (a *API) one(w http.ResponseWriter, r *http.Request, asked Request, p path, at string) {
	has, exists := a.Objects[at]
	applies := strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
	if !exists && !applies {
		fail(w, http.StatusNotFound, asked)
		return
	}
	body := must.Get(io.ReadAll(r.Body))(a.t)
	var sent Object
	switch r.Method {
	case http.MethodGet:
		answer(w, http.StatusOK, has)
		return
	case http.MethodDelete:
		delete(a.Objects, at)
		answer(w, http.StatusOK, Object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
		return
	case http.MethodPut:
		must.Do(a.t, json.Unmarshal(body, &sent))
		if Text(sent, "metadata", "resourceVersion") != Text(has, "metadata", "resourceVersion") {
			fail(w, http.StatusConflict, asked)
			return
		}
		has = Copy(a.t, has)
		has["status"] = sent["status"] // only the subresource approval is ever written so
	case http.MethodPatch:
		has = a.patched(has, body, r.Header.Get("Content-Type"))
	}
	a.version++
	has["metadata"].(Object)["resourceVersion"] = strconv.Itoa(a.version)
	a.Objects[at] = has
	answer(w, http.StatusOK, has)
}

func (a *API) patched(has Object, body []byte, kind string) Object {
	var out Object
	switch {
	case strings.Contains(kind, "apply-patch"):
		must.Do(a.t, json.Unmarshal(body, &out))
		return out
	case strings.Contains(kind, "merge-patch"):
		body = must.Get(jsonpatch.MergePatch(must.Get(json.Marshal(has))(a.t), body))(a.t)
	default:
		body = must.Get(must.Get(jsonpatch.DecodePatch(body))(a.t).Apply(must.Get(json.Marshal(has))(a.t)))(a.t)
	}
	must.Do(a.t, json.Unmarshal(body, &out))
	return out
}

func answer(w http.ResponseWriter, status int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

func fail(w http.ResponseWriter, status int, asked Request) {
	reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden", http.StatusConflict: "Conflict"}[status]
	if status == http.StatusConflict && asked.Verb == "create" {
		reason = "AlreadyExists"
	}
	answer(w, status, Object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": asked.String(),
	})
}
