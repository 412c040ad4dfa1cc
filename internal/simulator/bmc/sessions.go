package bmc

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

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

func newSessions(most int) *sessions { return &sessions{most: most} }

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

// known lets those through who say who they are, by a session's token or by user and password.
func (c *controller) known(then http.HandlerFunc) http.HandlerFunc {
	if c.open() {
		return then
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("X-Auth-Token"); token != "" && !c.dialect.emulator {
			if c.troubled(scenario.DoBMCWrongCredentials) != nil || !slices.ContainsFunc(c.sessions.list(), func(s session) bool { return same(s.token, token) }) {
				c.unknown(w, r)
				return
			}
			then(w, r)
			return
		}
		user, password, said := r.BasicAuth()
		if c.dialect.emulator && !said && strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
			w.Header().Set(contentType, "text/html; charset=utf-8")
			say(w, http.StatusInternalServerError, "<title>500 Internal Server Error</title>")
			return
		}
		if !c.opens(user, password) {
			c.unknown(w, r)
			return
		}
		if c.troubled(scenario.DoBMCSessionLimit) != nil && c.dialect.sessions > 0 {
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
		status = t.args.Int("status", status)
	}
	if status == http.StatusUnauthorized {
		realm := `Basic realm="Redfish"`
		if c.dialect.emulator {
			realm = emulatorRealm
		}
		w.Header().Set("WWW-Authenticate", realm)
	}
	if c.dialect.emulator {
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
	refuse(w, http.StatusServiceUnavailable, "SessionLimitExceeded", "The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.")
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
	answer(w, http.StatusCreated, c.sessionObject(fresh.id))
}

func (c *controller) sessionObject(id string) object {
	return object{
		"@odata.type": "#Session.v1_4_0.Session", "@odata.id": sessionsPath + "/" + id, "Id": id, "Name": "User Session", "UserName": c.user,
	}
}

func (c *controller) sessionService(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{
		"@odata.type": "#SessionService.v1_1_8.SessionService", "@odata.id": sessionServicePath, "Id": "SessionService", "Name": "Session Service",
		"ServiceEnabled": true, "SessionTimeout": 1800, "Sessions": ref(sessionsPath),
	})
}

func (c *controller) listSessions(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, collection("Session", sessionsPath, "Sessions", c.sessions.list(), func(s session) string { return sessionsPath + "/" + s.id }))
}

func (c *controller) showSession(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("session")
	if !slices.ContainsFunc(c.sessions.list(), func(s session) bool { return s.id == id }) {
		notFound(w, r)
		return
	}
	answer(w, http.StatusOK, c.sessionObject(id))
}

func (c *controller) closeSession(w http.ResponseWriter, r *http.Request) {
	if !c.sessions.end(r.PathValue("session")) {
		notFound(w, r)
		return
	}
	c.done(w)
}
