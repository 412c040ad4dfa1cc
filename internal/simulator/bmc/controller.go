package bmc

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

const root = "/redfish/v1"

// controller is one BMC: an address with one system behind it, or several.
type controller struct {
	endpoint       endpoint
	dialect        dialect
	user, password string
	systems        []*System
	sessions       *sessions
	tasks          tasks
	trouble        *troubles
	mux            *http.ServeMux
}

func newController(e endpoint, m Machine, t *troubles) *controller {
	c := &controller{endpoint: e, dialect: dialectOf(e.flavour), user: m.User, password: m.Password, trouble: t, mux: http.NewServeMux()}
	c.sessions = &sessions{most: c.dialect.Sessions}
	c.routes()
	return c
}

func (c *controller) add(s *System, id string) error {
	s.dialect = &c.dialect
	s.boot = c.dialect.noOverride()
	s.id = cmp.Or(id, c.dialect.System, s.machine.UUID)
	s.manager = cmp.Or(c.dialect.Manager, s.id)
	if len(c.systems) > 0 {
		s.manager = s.id
	}
	if other := c.system(s.id); other != nil {
		return fmt.Errorf("the BMCs of %s and %s are the same system %s at %s", other.machine.Name, s.machine.Name, s.id, c.endpoint.host)
	}
	c.systems = append(c.systems, s)
	return nil
}

func (c *controller) system(id string) *System {
	return c.first(func(s *System) bool { return s.id == id })
}

func (c *controller) managed(manager string) *System {
	return c.first(func(s *System) bool { return s.manager == manager })
}

func (c *controller) first(fits func(*System) bool) *System {
	if i := slices.IndexFunc(c.systems, fits); i >= 0 {
		return c.systems[i]
	}
	return nil
}

func (c *controller) troubled(do string) *scenario.Rule {
	for _, s := range c.systems {
		if t := c.trouble.of(s.machine, do); t != nil {
			return t
		}
	}
	return nil
}

func (c *controller) routes() {
	c.mux.HandleFunc("GET "+root, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, c.serviceRoot()) })
	if c.dialect.Sessions > 0 {
		c.mux.HandleFunc("POST "+sessionsPath, c.openSession)
		c.mux.HandleFunc("GET "+sessionServicePath, c.requireAuth(c.sessionService))
		c.mux.HandleFunc("GET "+sessionsPath, c.requireAuth(c.listSessions))
		c.mux.HandleFunc("GET "+sessionsPath+"/{session}", c.requireAuth(c.showSession))
		c.mux.HandleFunc("DELETE "+sessionsPath+"/{session}", c.requireAuth(c.closeSession))
	}
	c.mux.HandleFunc("GET "+root+"/Systems", c.requireAuth(c.listSystems))
	c.mux.HandleFunc("GET "+root+"/Managers", c.requireAuth(c.listManagers))
	of := func(find func(string) *System, handle func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc {
		return c.requireAuth(func(w http.ResponseWriter, r *http.Request) {
			switch s := find(r.PathValue("id")); {
			case s != nil:
				handle(w, r, s)
			case !c.named(w, r):
				c.noSystem(w, r)
			}
		})
	}
	c.mux.HandleFunc("GET "+root+"/Systems/{id}", of(c.system, c.showSystem))
	c.mux.HandleFunc("GET "+root+"/Managers/{id}", of(c.managed, c.showManager))
	owner, find := root+"/Managers/{id}/VirtualMedia", c.managed
	if c.dialect.MediaInSystem {
		owner, find = root+"/Systems/{id}/VirtualMedia", c.system
	}
	media := func(handle func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc {
		return of(find, func(w http.ResponseWriter, r *http.Request, s *System) {
			_, known := c.dialect.slotOf(r.PathValue("slot"))
			if c.troubled(scenario.DoBMCNoVirtualMedia) != nil || r.PathValue("slot") != "" && !known {
				c.missing(w, r)
				return
			}
			handle(w, r, s)
		})
	}
	c.mux.HandleFunc("GET "+owner, media(c.listMedia))
	c.mux.HandleFunc("GET "+owner+"/{slot}", media(c.showMedia))
	if c.dialect.Emulator {
		c.emulatorRoutes(func(handle func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc {
			return of(c.system, handle)
		}, media)
		return
	}
	c.mux.HandleFunc("GET /redfish", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"v1": root + "/"})
	})
	c.mux.HandleFunc("PATCH "+root+"/Systems/{id}", of(c.system, c.asTask(c.setSystem)))
	c.mux.HandleFunc("POST "+root+"/Systems/{id}/Actions/ComputerSystem.Reset", of(c.system, c.asTask(c.resetSystem)))
	c.mux.HandleFunc("PATCH "+owner+"/{slot}", media(c.setMedia))
	if !c.dialect.PatchMedia {
		c.mux.HandleFunc("POST "+owner+"/{slot}/Actions/VirtualMedia.InsertMedia", media(c.asTask(c.insertMedia)))
		c.mux.HandleFunc("POST "+owner+"/{slot}/Actions/VirtualMedia.EjectMedia", media(c.asTask(c.ejectMedia)))
	}
	c.taskRoutes()
	c.mux.HandleFunc("/", notFound)
}

// ServeHTTP implements http.Handler. A slash at the end of a path means nothing.
func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("OData-Version", "4.0")
	w.Header().Set("Cache-Control", "no-store")
	if trimmed := strings.TrimRight(r.URL.Path, "/"); trimmed != r.URL.Path && trimmed != "" {
		address := *r.URL
		address.Path, address.RawPath = trimmed, ""
		r = r.Clone(r.Context())
		r.URL = &address
	}
	if c.dialect.Emulator {
		w.Header().Set(contentType, "application/json")
	}
	c.mux.ServeHTTP(w, r)
}

type troubles struct {
	clock clock.Clock
	start time.Time
	rules []scenario.Rule
}

func newTroubles(c clock.Clock, s *scenario.Scenario) (*troubles, error) {
	t := &troubles{clock: c, start: c.Now()}
	for _, rule := range s.HostRules() {
		if !strings.HasPrefix(rule.Do, "bmc-") && rule.Do != scenario.DoPowerOn {
			continue
		}
		if rule.At.State != "" || rule.At.Stage != "" || rule.At.Answered != "" {
			return nil, fmt.Errorf("scenario line %d: %s can only begin at: {after: …}, since a BMC knows nothing of an installation", rule.Line,
				rule.Do)
		}
		t.rules = append(t.rules, rule)
	}
	return t, nil
}

func (t *troubles) of(m Machine, do string) *scenario.Rule {
	passed := t.clock.Now().Sub(t.start)
	who := scenario.Host{Name: m.Name, Role: m.Role, Index: m.Index, RoleIndex: m.RoleIndex, MACs: m.MACs}
	for _, rule := range t.rules {
		over := rule.For() > 0 && passed >= rule.At.After+rule.For()
		if rule.Do == do && rule.Match.Host(who) && passed >= rule.At.After && !over {
			return &rule
		}
	}
	return nil
}

const (
	sessionServicePath = root + "/SessionService"
	sessionsPath       = sessionServicePath + "/Sessions"
)

type sessions struct {
	most int

	mu   sync.Mutex
	next int
	open []session
}

type session struct{ id, token string }

// start opens a session; false if there are as many as may be.
func (s *sessions) start() (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.most {
		return session{}, false
	}
	s.next++
	fresh := session{strconv.Itoa(s.next), rand.Text()}
	s.open = append(s.open, fresh)
	return fresh, true
}

func (s *sessions) end(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.open)
	s.open = slices.DeleteFunc(s.open, func(o session) bool { return o.id == id })
	return len(s.open) < before
}

func (s *sessions) list() []session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.open)
}

// requireAuth lets those through who say who they are, by a session's token or by user and password.
func (c *controller) requireAuth(then http.HandlerFunc) http.HandlerFunc {
	if c.dialect.Emulator && c.user == "" && c.password == "" { // an emulator without an auth file
		return then
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("X-Auth-Token"); token != "" && !c.dialect.Emulator {
			if c.troubled(scenario.DoBMCWrongCredentials) != nil ||
				!slices.ContainsFunc(c.sessions.list(), func(s session) bool { return same(s.token, token) }) {
				c.unknown(w, r)
				return
			}
			then(w, r)
			return
		}
		user, password, said := r.BasicAuth()
		if c.dialect.Emulator && !said && strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
			w.Header().Set(contentType, "text/html; charset=utf-8")
			say(w, http.StatusInternalServerError, "<title>500 Internal Server Error</title>")
			return
		}
		if !c.opens(user, password) {
			c.unknown(w, r)
			return
		}
		if c.troubled(scenario.DoBMCSessionLimit) != nil && c.dialect.Sessions > 0 {
			c.full(w) // a session of a single request is one too
			return
		}
		then(w, r)
	}
}

func (c *controller) opens(user, password string) bool {
	return same(user, c.user) && same(password, c.password) && c.troubled(scenario.DoBMCWrongCredentials) == nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (c *controller) unknown(w http.ResponseWriter, r *http.Request) {
	status := http.StatusUnauthorized
	if t := c.troubled(scenario.DoBMCWrongCredentials); t != nil {
		status = t.Args.Int("status", status)
	}
	if status == http.StatusUnauthorized {
		realm := `Basic realm="Redfish"`
		if c.dialect.Emulator {
			realm = emulatorRealm
		}
		w.Header().Set("WWW-Authenticate", realm)
	}
	if c.dialect.Emulator {
		said := "Authorization required"
		if r.Header.Get("Authorization") != "" {
			said = "Incorrect username or password"
		}
		fault(w, status, "%s", said)
		return
	}
	refuse(w, status, "NoValidSession", "There is no valid session established with the implementation.")
}

func (c *controller) full(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "30")
	refuse(w, http.StatusServiceUnavailable, "SessionLimitExceeded",
		"The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.")
}

func (c *controller) openSession(w http.ResponseWriter, r *http.Request) {
	var asked struct{ UserName, Password string }
	if !c.body(w, r, &asked) {
		return
	}
	if !c.opens(asked.UserName, asked.Password) {
		c.unknown(w, r)
		return
	}
	if c.troubled(scenario.DoBMCSessionLimit) != nil {
		c.full(w)
		return
	}
	fresh, ok := c.sessions.start()
	if !ok {
		c.full(w)
		return
	}
	w.Header().Set("X-Auth-Token", fresh.token)
	w.Header().Set("Location", sessionsPath+"/"+fresh.id)
	writeJSON(w, http.StatusCreated, c.sessionObject(fresh.id))
}

func (c *controller) sessionObject(id string) object {
	return object{
		"@odata.type": "#Session.v1_4_0.Session", "@odata.id": sessionsPath + "/" + id, "Id": id, "Name": "User Session", "UserName": c.user,
	}
}

func (c *controller) sessionService(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{
		"@odata.type": "#SessionService.v1_1_8.SessionService", "@odata.id": sessionServicePath, "Id": "SessionService",
		"Name":           "Session Service",
		"ServiceEnabled": true, "SessionTimeout": 1800, "Sessions": ref(sessionsPath),
	})
}

func (c *controller) listSessions(w http.ResponseWriter, _ *http.Request) {
	writeJSON(
		w, http.StatusOK,
		collection("Session", sessionsPath, "Sessions", c.sessions.list(), func(s session) string { return sessionsPath + "/" + s.id }),
	)
}

func (c *controller) showSession(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("session")
	if !slices.ContainsFunc(c.sessions.list(), func(s session) bool { return s.id == id }) {
		notFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, c.sessionObject(id))
}

func (c *controller) closeSession(w http.ResponseWriter, r *http.Request) {
	if !c.sessions.end(r.PathValue("session")) {
		notFound(w, r)
		return
	}
	c.done(w)
}
