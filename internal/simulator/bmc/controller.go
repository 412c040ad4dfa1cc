package bmc

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// root is where Redfish stands.
const root = "/redfish/v1"

// controller is one BMC: an address with one system behind it, or several.
type controller struct {
	endpoint       endpoint
	dialect        dialect
	user, password string
	systems        []*System
	sessions       *sessions
	trouble        *troubles
	mux            *http.ServeMux
}

func newController(e endpoint, m Machine, t *troubles) *controller {
	c := &controller{endpoint: e, dialect: dialectOf(e.flavour), user: m.User, password: m.Password, trouble: t, mux: http.NewServeMux()}
	c.sessions = newSessions(c.dialect.sessions)
	c.routes()
	return c
}

func (c *controller) add(s *System, id string) error {
	s.dialect = &c.dialect
	s.boot = c.dialect.noOverride()
	s.id, s.manager = id, c.dialect.manager
	if s.id == "" {
		s.id = c.dialect.system
	}
	if s.id == "" {
		s.id = s.machine.UUID
	}
	if s.manager == "" || len(c.systems) > 0 {
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

// troubled is the trouble of a kind that any of the controller's machines has.
func (c *controller) troubled(do string) *standing {
	for _, s := range c.systems {
		if t := c.trouble.of(s.machine, do); t != nil {
			return t
		}
	}
	return nil
}

func (c *controller) routes() {
	c.mux.HandleFunc("GET "+root, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, c.serviceRoot()) })
	if c.dialect.sessions > 0 {
		c.mux.HandleFunc("POST "+sessionsPath, c.openSession)
		c.mux.HandleFunc("GET "+sessionServicePath, c.known(c.sessionService))
		c.mux.HandleFunc("GET "+sessionsPath, c.known(c.listSessions))
		c.mux.HandleFunc("GET "+sessionsPath+"/{session}", c.known(c.showSession))
		c.mux.HandleFunc("DELETE "+sessionsPath+"/{session}", c.known(c.closeSession))
	}
	c.mux.HandleFunc("GET "+root+"/Systems", c.known(c.listSystems))
	c.mux.HandleFunc("GET "+root+"/Managers", c.known(c.listManagers))
	of := func(find func(string) *System, handle func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc {
		return c.known(func(w http.ResponseWriter, r *http.Request) {
			switch s := find(r.PathValue("id")); {
			case s != nil:
				handle(w, r, s)
			case !c.named(w, r):
				c.nobody(w, r)
			}
		})
	}
	c.mux.HandleFunc("GET "+root+"/Systems/{id}", of(c.system, c.showSystem))
	c.mux.HandleFunc("GET "+root+"/Managers/{id}", of(c.managed, c.showManager))
	owner, find := root+"/Managers/{id}/VirtualMedia", c.managed
	if c.dialect.mediaInSystem {
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
	if c.dialect.emulator {
		c.emulatorRoutes(func(handle func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc {
			return of(c.system, handle)
		}, media)
		return
	}
	c.mux.HandleFunc("GET /redfish", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, object{"v1": root + "/"})
	})
	c.mux.HandleFunc("PATCH "+root+"/Systems/{id}", of(c.system, c.setSystem))
	c.mux.HandleFunc("POST "+root+"/Systems/{id}/Actions/ComputerSystem.Reset", of(c.system, c.resetSystem))
	c.mux.HandleFunc("PATCH "+owner+"/{slot}", media(c.setMedia))
	if !c.dialect.patchMedia {
		c.mux.HandleFunc("POST "+owner+"/{slot}/Actions/VirtualMedia.InsertMedia", media(c.insertMedia))
		c.mux.HandleFunc("POST "+owner+"/{slot}/Actions/VirtualMedia.EjectMedia", media(c.ejectMedia))
	}
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
	if c.dialect.emulator {
		w.Header().Set(contentType, "application/json")
	}
	c.mux.ServeHTTP(w, r)
}

// troubles are the rules of a scenario that are about controllers.
type troubles struct {
	clock clock.Clock
	start time.Time
	rules []scenario.Rule
}

type standing struct{ args scenario.Args }

func newTroubles(c clock.Clock, s *scenario.Scenario) (*troubles, error) {
	t := &troubles{clock: c, start: c.Now()}
	for _, rule := range s.HostRules() {
		if !strings.HasPrefix(rule.Do, "bmc-") && rule.Do != scenario.DoPowerOn {
			continue
		}
		if rule.At.State != "" || rule.At.Stage != "" || rule.At.Answered != "" {
			return nil, fmt.Errorf("scenario line %d: %s can only begin at: {after: …}, since a BMC knows nothing of an installation", rule.Line, rule.Do)
		}
		t.rules = append(t.rules, rule)
	}
	return t, nil
}

// of is the first trouble of a kind that a machine's controller has now, or nil.
func (t *troubles) of(m Machine, do string) *standing {
	passed := t.clock.Now().Sub(t.start)
	who := scenario.Host{Name: m.Name, Role: m.Role, Index: m.Index, RoleIndex: m.RoleIndex, MACs: m.MACs}
	for _, rule := range t.rules {
		over := rule.For() > 0 && passed >= rule.At.After+rule.For()
		if rule.Do == do && rule.Match.Host(who) && passed >= rule.At.After && !over {
			return &standing{rule.Args}
		}
	}
	return nil
}
