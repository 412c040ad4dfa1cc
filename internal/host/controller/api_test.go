//go:build linux

package controller

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
	"github.com/oaictl/oaictl/internal/shared/must"
)

type object = map[string]any

// request is what an API server authorizes.
type request struct{ verb, group, resource, name string }

func (r request) String() string {
	return fmt.Sprintf("%s %s/%s %q", r.verb, r.group, r.resource, r.name)
}

// api is a small API server in memory. It is reached without a network, so that the time of a test can pass at once.
type api struct {
	t testing.TB

	mu       sync.Mutex
	objects  map[string]object // by group/resource/namespace/name
	version  int
	logs     map[string]string // of pods, by namespace/name, and files of nodes, by node/file
	requests []request         // of the controller's own user
	kinds    map[string]string // served, as group/version/kind → resource
	down     func(request) int // a status with which a request is refused; zero to serve it
}

func newAPI(t testing.TB) *api {
	return &api{t: t, objects: map[string]object{}, logs: map[string]string{}, kinds: map[string]string{
		"/v1/ConfigMap": "configmaps", "example.com/v1/Storage": "storages",
	}}
}

// connect is what kube.Connect is in the program. The administrator's requests are not recorded.
func (a *api) connect(kubeconfig []byte) (*kube.Client, error) {
	return kube.New(&rest.Config{Host: "http://api", Transport: transport{a, kubeconfig == nil}})
}

type transport struct {
	*api
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

// key is where an object is kept.
func key(group, resource, space, name string) string {
	return strings.Join([]string{group, resource, space, name}, "/")
}

// put adds an object or changes it.
func (a *api) put(group, resource string, o object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	meta := o["metadata"].(object)
	if o["kind"] == nil {
		o["apiVersion"], o["kind"] = strings.TrimPrefix(group+"/v1", "/"), "Object"
	}
	a.version++
	meta["resourceVersion"] = strconv.Itoa(a.version)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", a.version)
	}
	if meta["creationTimestamp"] == nil {
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	space, _ := meta["namespace"].(string)
	a.objects[key(group, resource, space, meta["name"].(string))] = copyOf(a.t, o)
}

// get is a copy of an object; nil if there is none.
func (a *api) get(group, resource, space, name string) object {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, found := a.objects[key(group, resource, space, name)]
	if !found {
		return nil
	}
	return copyOf(a.t, o)
}

// names are those of all objects of a kind.
func (a *api) names(group, resource string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, at := range slices.Sorted(maps.Keys(a.objects)) {
		if strings.HasPrefix(at, group+"/"+resource+"/") {
			all = append(all, at[strings.LastIndex(at, "/")+1:])
		}
	}
	return all
}

func copyOf(t testing.TB, o object) object {
	var out object
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

func (a *api) serve(w http.ResponseWriter, r *http.Request, own bool) {
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
	asked := request{verb, p.group, p.resource, p.name}
	if p.part != "" {
		part, _, _ := strings.Cut(p.part, "/")
		asked.resource += "/" + part
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if own {
		a.requests = append(a.requests, asked)
	}
	if a.down != nil {
		if status := a.down(asked); status != 0 {
			fail(w, status, asked)
			return
		}
	}
	switch at := key(p.group, p.resource, p.space, p.name); {
	case p.part == "log" || strings.HasPrefix(p.part, "proxy/"):
		text, found := a.logs[p.space+"/"+p.name]
		if p.part != "log" {
			text, found = a.logs[p.name+"/"+strings.TrimPrefix(p.part, "proxy/logs/")]
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

func (a *api) discover(w http.ResponseWriter, p path) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var resources []object
	for _, kind := range slices.Sorted(maps.Keys(a.kinds)) {
		if name, found := strings.CutPrefix(kind, p.group+"/"+p.version+"/"); found {
			resources = append(resources, object{"name": a.kinds[kind] + "/status", "kind": name, "namespaced": true},
				object{"name": a.kinds[kind], "kind": name, "namespaced": true})
		}
	}
	if resources == nil {
		fail(w, http.StatusNotFound, request{"get", p.group, "", ""})
		return
	}
	answer(w, http.StatusOK, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": p.version, "resources": resources})
}

func (a *api) list(w http.ResponseWriter, r *http.Request, p path) {
	query := r.URL.Query()
	limit := must.Get(strconv.Atoi(query.Get("limit")))(a.t)
	start, _ := strconv.Atoi(query.Get("continue"))
	var items []any
	for _, at := range slices.Sorted(maps.Keys(a.objects)) {
		parts := strings.Split(at, "/")
		if parts[0] != p.group || parts[1] != p.resource || p.space != "" && parts[2] != p.space || !matches(a.objects[at], query.Get("labelSelector")) {
			continue
		}
		if phase, is := strings.CutPrefix(query.Get("fieldSelector"), "status.phase="); is && textAt(a.objects[at], "status", "phase") != phase {
			continue
		}
		items = append(items, a.objects[at])
	}
	meta := object{"resourceVersion": strconv.Itoa(a.version)}
	end := min(start+limit, len(items))
	if end < len(items) {
		meta["continue"] = strconv.Itoa(end)
	}
	answer(w, http.StatusOK, object{"kind": "ObjectList", "apiVersion": "v1", "metadata": meta, "items": items[min(start, end):end]})
}

func matches(o object, selector string) bool {
	for one := range strings.SplitSeq(selector, ",") {
		name, value, _ := strings.Cut(one, "=")
		if name != "" && textAt(o, "metadata", "labels", name) != value {
			return false
		}
	}
	return true
}

func textAt(o object, names ...string) string {
	for _, name := range names[:len(names)-1] {
		o, _ = o[name].(object)
	}
	text, _ := o[names[len(names)-1]].(string)
	return text
}

func (a *api) create(w http.ResponseWriter, r *http.Request, p path) {
	var o object
	must.Do(a.t, json.NewDecoder(r.Body).Decode(&o))
	p.name = textAt(o, "metadata", "name")
	at := key(p.group, p.resource, p.space, p.name)
	if _, exists := a.objects[at]; exists {
		fail(w, http.StatusConflict, request{"create", p.group, p.resource, p.name})
		return
	}
	a.objects[at] = o
	answer(w, http.StatusCreated, o)
}

func (a *api) one(w http.ResponseWriter, r *http.Request, asked request, p path, at string) {
	has, exists := a.objects[at]
	applies := strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
	if !exists && !applies {
		fail(w, http.StatusNotFound, asked)
		return
	}
	body := must.Get(io.ReadAll(r.Body))(a.t)
	var sent object
	switch r.Method {
	case http.MethodGet:
		answer(w, http.StatusOK, has)
		return
	case http.MethodDelete:
		delete(a.objects, at)
		answer(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
		return
	case http.MethodPut:
		must.Do(a.t, json.Unmarshal(body, &sent))
		if textAt(sent, "metadata", "resourceVersion") != textAt(has, "metadata", "resourceVersion") {
			fail(w, http.StatusConflict, asked)
			return
		}
		has = copyOf(a.t, has)
		has["status"] = sent["status"] // only the subresource approval is ever written so
	case http.MethodPatch:
		has = a.patched(has, body, r.Header.Get("Content-Type"))
	}
	a.version++
	has["metadata"].(object)["resourceVersion"] = strconv.Itoa(a.version)
	a.objects[at] = has
	answer(w, http.StatusOK, has)
}

func (a *api) patched(has object, body []byte, kind string) object {
	var out object
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

func fail(w http.ResponseWriter, status int, asked request) {
	reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden", http.StatusConflict: "Conflict"}[status]
	if status == http.StatusConflict && asked.verb == "create" {
		reason = "AlreadyExists"
	}
	answer(w, status, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": asked.String()})
}
