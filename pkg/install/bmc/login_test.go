package bmc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// door is what stands before a BMC: it counts the requests, and lets in by Basic only.
type door struct {
	session int // status of a session POST
	basic   string

	mu               sync.Mutex
	sessions, basics int // that were tried
}

func (d *door) handle(then http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, password, basic := r.BasicAuth()
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Sessions"):
			d.sessions++
			if basic {
				d.basics++
			}
			http.Error(w, "{}", d.session)
		case strings.TrimRight(r.URL.Path, "/") == "/redfish/v1":
			then.ServeHTTP(w, r)
		case basic && password == d.basic:
			d.basics++
			then.ServeHTTP(w, r)
		default:
			if basic {
				d.basics++
			}
			http.Error(w, "{}", http.StatusUnauthorized)
		}
	}
}

func newDoor(t *testing.T, sessions bool, status int, basic string) (*door, *lab) {
	t.Helper()
	d, s := &door{session: status, basic: basic}, newShelf("", map[string]map[string]any{"Cd": {"MediaTypes": []string{"CD"}}})
	if sessions {
		s.docs["/redfish/v1"]["Links"] = map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")}
	}
	return d, s.behind(t, d.handle(s))
}

// TestBasicOnly logs in with the password in each request where there are no sessions,
// or none is to be had.
func TestBasicOnly(t *testing.T) {
	for _, test := range []struct {
		sessions bool
		status   int
		tried    int
	}{{false, http.StatusNotFound, 0}, {false, http.StatusUnauthorized, 0}, {true, http.StatusUnauthorized, 1}, {true, http.StatusNotFound, 1}, {true, http.StatusMethodNotAllowed, 1}, {true, http.StatusNotImplemented, 1}} {
		d, l := newDoor(t, test.sessions, test.status, password)
		if got := l.see(t, "a"); got.Trouble != "" || got.Power != model.PowerIsOff || d.sessions != test.tried {
			t.Errorf("sessions linked %v, HTTP %d: %+v; %d tried", test.sessions, test.status, got, d.sessions)
		}
	}
}

// TestWrongPasswordOnce calls a password wrong when it is taken in neither way, and
// then does not try it again, by no host of that BMC: accounts lock.
func TestWrongPasswordOnce(t *testing.T) {
	for _, sessions := range []bool{true, false} {
		d, l := newDoor(t, sessions, http.StatusUnauthorized, "another")
		twin := l.desired.Spec.Spec.Hosts[0]
		twin.Name = "b"
		l.desired.Spec.Spec.Hosts = append(l.desired.Spec.Spec.Hosts, twin)
		for range 4 {
			for _, host := range []string{"a", "b"} {
				if got := l.see(t, host); got.TroubleKind != model.TroubleCredentials || !strings.Contains(got.Trouble, "refuses the user and the password") {
					t.Errorf("%+v", got)
				}
			}
			_ = l.Act(t.Context(), l.desired, nil, model.Action{Kind: model.PowerOn, Name: "a"})
		}
		if want := map[bool]int{true: 1, false: 0}[sessions]; d.sessions != want || d.basics != 1 {
			t.Errorf("sessions linked %v: %d sessions and %d times Basic tried", sessions, d.sessions, d.basics)
		}
		l.desired.Spec.Spec.Hosts[0].BMC = &spec.BMC{Address: twin.BMC.Address, Credentials: spec.CredentialsOf("root", spec.NewSecret("another"))}
		if got := l.see(t, "a"); got.Trouble != "" {
			t.Errorf("corrected: %+v", got)
		}
	}
}

// TestSentElsewhere takes user and password nowhere but to the BMC: not where a redirect or a link of it leads, even if
// that is only another port or scheme.
func TestSentElsewhere(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, fmt.Sprint(r.Method, r.URL, r.Header))
		http.Error(w, "{}", http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	port := strings.TrimPrefix(other.URL, "http://127.0.0.1")
	redirect := func(code int, path, to string) func(*shelf) http.HandlerFunc {
		return func(s *shelf) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.TrimRight(r.URL.Path, "/") == path {
					http.Redirect(w, r, to, code)
					return
				}
				s.ServeHTTP(w, r)
			}
		}
	}
	for name, before := range map[string]func(*shelf) http.HandlerFunc{
		"another port":        redirect(http.StatusTemporaryRedirect, "/redfish/v1/Systems/1", other.URL+"/redfish/v1/Systems/1"),
		"the session, by 307": redirect(http.StatusTemporaryRedirect, "/redfish/v1/SessionService/Sessions", other.URL+"/x"),
		"the root":            redirect(http.StatusMovedPermanently, "/redfish/v1", "https://127.0.0.1"+port+"/redfish/v1"),
		"a link that is a trick": func(s *shelf) http.HandlerFunc {
			s.docs["/redfish/v1/Systems"]["Members"] = []any{link("@127.0.0.1" + port + "/redfish/v1/Systems/1")}
			return s.ServeHTTP
		},
	} {
		s := newShelf("", map[string]map[string]any{"Cd": {"MediaTypes": []string{"CD"}}})
		s.docs["/redfish/v1"]["Links"] = map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")}
		l := s.behind(t, before(s))
		if seen := l.see(t, "a"); !strings.Contains(seen.Trouble, "redirects to http") || len(got) > 0 {
			t.Errorf("%s: %+v; there came %q", name, seen, got)
		}
	}
}
