package bmc

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// Config says which controllers there are. Clock is required.
type Config struct {
	Clock    clock.Clock
	Machines []Machine
	// Scenario is the trouble to make; nil is none.
	Scenario *scenario.Scenario
	// Logf takes a line about each thing that happens; nil drops them. It never
	// gets a secret.
	Logf func(format string, args ...any)
}

// Server answers for all controllers. It is safe for concurrent use.
type Server struct {
	controllers  []*controller
	systems      map[string]*System
	certificates *certificates
	reader       *mediaReader
}

// New makes the controllers. Troubles are counted from now on.
func New(config Config) (*Server, error) {
	if config.Logf == nil {
		config.Logf = func(string, ...any) {}
	}
	trouble, err := newTroubles(config.Clock, config.Scenario)
	if err != nil {
		return nil, err
	}
	s := &Server{systems: map[string]*System{}, reader: newMediaReader(config.Clock)}
	if s.certificates, err = newCertificates(config.Clock.Now()); err != nil {
		return nil, fmt.Errorf("make the BMCs: %w", err)
	}
	for _, m := range config.Machines {
		if kind := trouble.of(m, scenario.DoBMCKind); kind != nil {
			m.Flavour = Flavour(kind.args.String("kind", string(m.Flavour)))
		}
		e, err := m.endpoint()
		if err != nil {
			return nil, err
		}
		c := s.exactly(e)
		if c == nil {
			c = newController(e, m, trouble)
			s.controllers = append(s.controllers, c)
		}
		system := &System{
			machine: m, clock: config.Clock, reader: s.reader, logf: config.Logf, media: map[string]string{}, copies: map[string][]byte{}, changed: make(chan struct{}),
		}
		system.on = m.Running || trouble.of(m, scenario.DoPowerOn) != nil
		if err := c.add(system, e.system); err != nil {
			return nil, err
		}
		s.systems[m.Name] = system
	}
	return s, nil
}

// System is the one of a machine; nil if it has no controller here.
func (s *Server) System(machine string) *System {
	if s == nil {
		return nil
	}
	return s.systems[machine]
}

// Certificate is the authority (PEM) that has signed what the controllers show.
func (s *Server) Certificate() []byte { return s.certificates.authority() }

func (s *Server) exactly(e endpoint) *controller {
	for _, c := range s.controllers {
		if c.endpoint.host == e.host && c.endpoint.port == e.port {
			return c
		}
	}
	return nil
}

// at is the controller at host:port; nil if there is none. One whose address has
// no port answers on the two of Redfish.
func (s *Server) at(address string) *controller {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), ""
	}
	host = strings.ToLower(host)
	for _, c := range s.controllers {
		usual := c.endpoint.port == "" && (port == "" || port == "443" || port == "80")
		implied := port == "" && (c.endpoint.port == "443" || c.endpoint.port == "80")
		if c.endpoint.host == host && (c.endpoint.port == port || usual || implied) {
			return c
		}
	}
	return nil
}

// Serve answers on a listener until ctx ends, and then returns its cause.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	doors := newDoors(ctx, listener, s.certificates)
	server := &http.Server{
		Handler: &proxy{server: s, doors: doors}, ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(ctx, serverEnds{}, ctx) },
		ConnContext: withTarget, ErrorLog: quiet(),
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
		_ = doors.Close()
		s.reader.client.CloseIdleConnections()
	}()
	go doors.accept()
	err := server.Serve(doors)
	if ctx.Err() != nil { // whatever has been closed first
		err = context.Cause(ctx)
	}
	stop(err)
	return err
}
