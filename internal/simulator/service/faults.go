package service

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type faults struct {
	mu    sync.Mutex
	rules []*fault
}

type fault struct {
	scenario.Rule
	calls int       // calls that the rule is about
	fired int       // times that it took effect
	since time.Time // of the first time
}

func newFaults(sc *scenario.Scenario) *faults {
	f := &faults{}
	for _, rule := range sc.ServiceRules() {
		f.rules = append(f.rules, &fault{Rule: rule})
	}
	return f
}

// pick counts the call and returns the rule that takes effect on it, or nil.
func (f *faults) pick(method, path, client, state string, now time.Time, elapsed time.Duration) *scenario.Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hit *scenario.Rule
	for _, r := range f.rules {
		if !r.Match.Call(method, path, client) {
			continue
		}
		r.calls++
		if hit != nil || r.spent(now) {
			continue
		}
		started := r.fired > 0
		if !started && !r.At.Reached(scenario.Moment{State: state, Elapsed: elapsed, Call: r.calls}) {
			continue
		}
		if !started {
			r.since = now
		}
		r.fired++
		hit = &r.Rule
	}
	return hit
}

// spent tells that the rule is through: times used up, time over, or, without either, happened once.
func (r *fault) spent(now time.Time) bool {
	if r.fired == 0 {
		return false
	}
	if span := r.For(); span > 0 && now.Sub(r.since) >= span {
		return true
	}
	if times := r.Times(); times > 0 {
		return r.fired >= times
	}
	return r.For() == 0
}

// clientOf tells machines from people by what only agents send or call.
func clientOf(r *http.Request) string {
	path := r.URL.Path
	if r.Header.Get("X-Secret-Key") != "" || r.Header.Get("discovery_agent_version") != "" ||
		strings.HasSuffix(path, "/instructions") || strings.HasSuffix(path, "progress") ||
		strings.HasSuffix(path, "/downloads/ignition") || strings.HasSuffix(path, "/uploads/ingress-cert") ||
		strings.HasSuffix(path, "/actions/complete-installation") || strings.HasSuffix(path, "/manifests/files") ||
		r.Method == http.MethodPost && (strings.HasSuffix(path, "/hosts") || strings.HasSuffix(path, "/logs")) ||
		r.Method == http.MethodPut && strings.HasSuffix(path, "/monitored-operators") {
		return scenario.ClientAgent
	}
	return scenario.ClientUser
}

// stateFor is the status of the cluster that a call is about, or else of the newest one.
func (s *Service) stateFor(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range strings.SplitSeq(path, "/") {
		if c := s.records.clusters.of(part); c != nil {
			return c.Status
		}
		if e := s.records.infraEnvs.of(part); e != nil {
			if c := s.records.clusters.of(e.ClusterID); c != nil {
				return c.Status
			}
		}
	}
	if all := s.records.clusters.inOrder(); len(all) > 0 {
		return all[len(all)-1].Status
	}
	return ""
}

// withFaults makes the scenario's trouble, if it is its time, before or instead of the real answer.
func (s *Service) withFaults(next http.Handler) http.Handler {
	if len(s.faults.rules) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := s.source.now()
		rule := s.faults.pick(r.Method, r.URL.Path, clientOf(r), s.stateFor(r.URL.Path), now, now.Sub(s.started))
		if rule == nil {
			next.ServeHTTP(w, r)
			return
		}
		s.disturb(rule, w, r, next)
	})
}

func (s *Service) disturb(rule *scenario.Rule, w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch rule.Do {
	case scenario.DoRespond:
		s.respondInstead(rule, w)
	case scenario.DoGarbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("<html><body>\x00\xff this is not JSON"))
	case scenario.DoTruncate:
		truncateAnswer(w, r, next)
	case scenario.DoHang:
		if span := rule.Args.Duration("delay", 0); span > 0 {
			_ = s.cfg.Clock.Sleep(r.Context(), span) // either way there is no answer
		} else {
			<-r.Context().Done() // until the client gives up
		}
		panic(http.ErrAbortHandler)
	case scenario.DoReset:
		panic(http.ErrAbortHandler) // net/http drops the connection
	case scenario.DoDelay:
		if s.cfg.Clock.Sleep(r.Context(), rule.Args.Duration("delay", 30*time.Second)) == nil {
			next.ServeHTTP(w, r)
		}
	case scenario.DoExpireToken, scenario.DoExpireImage:
		if s.cfg.OnTrouble != nil {
			s.cfg.OnTrouble(rule.Do)
		}
		next.ServeHTTP(w, r)
	default:
		next.ServeHTTP(w, r)
	}
}

func (s *Service) respondInstead(rule *scenario.Rule, w http.ResponseWriter) {
	status := rule.Args.Int("status", http.StatusInternalServerError)
	if body := rule.Args.String("body", ""); body != "" {
		wire.Reply{Status: status, Body: []byte(body), RawType: "application/json"}.Send(w, s.date())
		return
	}
	wire.ErrorReply(wire.Refuse(status, "%s", strings.ToLower(http.StatusText(status)))).Send(w, s.date())
}

// truncateAnswer promises the whole answer and sends half of it.
func truncateAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	buffer := &capture{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(buffer, r)
	for k, v := range buffer.header {
		w.Header()[k] = v
	}
	w.WriteHeader(buffer.status)
	_, _ = w.Write(buffer.body.Bytes()[:buffer.body.Len()/2])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

type capture struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *capture) Header() http.Header         { return c.header }
func (c *capture) WriteHeader(status int)      { c.status = status }
func (c *capture) Write(p []byte) (int, error) { return c.body.Write(p) }
