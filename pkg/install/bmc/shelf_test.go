package bmc_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// shelf is a BMC as a shelf of JSON documents: for what single makers do that
// the simulated BMCs do not. PATCH merges into a document; what else is written
// goes to act, which may refuse with a status.
type shelf struct {
	mu    sync.Mutex
	docs  map[string]map[string]any
	act   func(s *shelf, method, path string, body map[string]any) int
	wrote []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimRight(r.URL.Path, "/")
	data, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(data, &body)
	switch {
	case path == "/redfish/v1/SessionService/Sessions" && r.Method == http.MethodPost:
		http.Error(w, "{}", http.StatusNotFound) // no sessions: the password with each request
		return
	case r.Method == http.MethodGet && s.docs[path] != nil:
		_ = json.NewEncoder(w).Encode(s.docs[path])
		return
	case r.Method == http.MethodGet:
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	s.wrote = append(s.wrote, fmt.Sprintf("%s %s %s", r.Method, path, data))
	if status := s.act(s, r.Method, path, body); status != 0 {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"no: %s %s"}}`, r.Header.Get("Authorization"), password)
		return
	}
	if r.Method == http.MethodPatch {
		merge(s.docs[path], body)
	}
	w.WriteHeader(http.StatusNoContent)
}

// merge is what PATCH does to a document (RFC 7386).
func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isObject := value.(map[string]any)
		if old, was := into[key].(map[string]any); isObject && was {
			merge(old, inner)
			continue
		}
		into[key] = value
	}
}

func link(path string) map[string]any { return map[string]any{"@odata.id": path} }

// newShelf is a system with the given virtual drives below its manager.
func newShelf(vendor string, drives map[string]map[string]any) *shelf {
	const system, manager = "/redfish/v1/Systems/1", "/redfish/v1/Managers/1"
	s := &shelf{docs: map[string]map[string]any{
		"/redfish/v1":         {"Vendor": vendor, "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers")},
		"/redfish/v1/Systems": {"Members@odata.count": 1, "Members": []any{link(system)}},
		system: {
			"@odata.id": system, "Id": "1", "PowerState": "Off", "Links": map[string]any{"ManagedBy": []any{link(manager)}},
			"Boot":    map[string]any{"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", "BootSourceOverrideMode": "UEFI"},
			"Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{"target": system + "/Actions/ComputerSystem.Reset"}},
		},
		manager: {"@odata.id": manager},
	}}
	s.act = func(*shelf, string, string, map[string]any) int { return 0 }
	if len(drives) > 0 {
		var members []any
		for id, drive := range drives {
			path := manager + "/VirtualMedia/" + id
			members = append(members, link(path))
			doc := map[string]any{"@odata.id": path, "Id": id}
			maps.Copy(doc, drive)
			s.docs[path] = doc
		}
		s.docs[manager]["VirtualMedia"] = link(manager + "/VirtualMedia")
		s.docs[manager+"/VirtualMedia"] = map[string]any{"Members@odata.count": len(members), "Members": members}
	}
	return s
}

// plane is a plane whose host a has the shelf for its BMC.
func (s *shelf) plane(t *testing.T) *lab {
	t.Helper()
	return s.behind(t, s.ServeHTTP)
}

// behind is a plane whose host a has the shelf for its BMC, behind what a test puts
// before it.
func (s *shelf) behind(t *testing.T, handle http.HandlerFunc) *lab {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	l := &lab{clock: &stopped{}, media: newMedia(t), desired: &model.Desired{Spec: &spec.Cluster{}}}
	l.desired.Spec.Spec.Hosts = []spec.Host{{Name: "a", BMC: &spec.BMC{Address: server.URL, Credentials: spec.CredentialsOf("root", spec.NewSecret(password))}}}
	l.Plane = bmc.New(bmc.Config{Media: l.media, Clock: l.clock})
	return l
}
