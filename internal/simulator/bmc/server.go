// Package bmc simulates the management controllers of machines: Redfish (DMTF
// DSP0266) over HTTP and HTTPS, in the dialects of several makers, with their
// sessions, power, boot overrides and virtual media. A machine (package host)
// sees nothing of Redfish: it is told when it is switched, and what its firmware
// finds to boot, which the controller reads over HTTP in ranges.
//
// One listener answers for all controllers. It is a forward proxy that leads to
// nothing but them, so that a file with the addresses of real ones works as it is.
package bmc

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// Config says which controllers there are. Clock is required.
type Config struct {
	Clock    clock.Clock
	Machines []Machine
	// Scenario is the trouble to make; nil is none.
	Scenario *scenario.Scenario
	// Logf takes a line about each thing that happens; nil drops them. It never gets a secret.
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
			m.Flavour = Flavour(kind.Args.String("kind", string(m.Flavour)))
		}
		e, err := m.endpoint()
		if err != nil {
			return nil, err
		}
		var c *controller
		same := func(c *controller) bool { return c.endpoint.host == e.host && c.endpoint.port == e.port }
		if i := slices.IndexFunc(s.controllers, same); i >= 0 {
			c = s.controllers[i]
		} else {
			c = newController(e, m, trouble)
			s.controllers = append(s.controllers, c)
		}
		system := &System{
			machine: m, clock: config.Clock, reader: s.reader, logf: config.Logf, media: map[string]string{}, copies: map[string][]byte{},
			changed: make(chan struct{}),
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
func (s *Server) Certificate() []byte {
	return s.certificates.root.CertPEM
}

// at is the controller at host:port, or nil. One whose address has no port answers on the two of Redfish.
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
	open, shut := context.WithCancel(ctx)
	doors := &doors{
		listener: listener, certificates: s.certificates, came: make(chan net.Conn), failed: make(chan error, 1), open: open, shut: shut,
	}
	server := &http.Server{
		Handler: &proxy{server: s, doors: doors}, ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(ctx, serverEnds{}, ctx) },
		ErrorLog:    quiet(),
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
		_ = doors.Close()
		s.reader.client.CloseIdleConnections()
	}()
	go doors.accept()
	err := server.Serve(doors)
	if ctx.Err() != nil { // the listener may have been closed before ctx ended
		err = context.Cause(ctx)
	}
	stop(err)
	return err
}

// Machine is what a controller knows of its machine.
type Machine struct {
	// Name, Role, Index, RoleIndex and MACs are what scenarios know it by.
	Name, Role       string
	Index, RoleIndex int
	MACs             []string
	UUID, Serial     string
	// Address is the controller's as in a cluster.yaml: an IP address or a name, with a port or not, or a URL.
	Address string
	// SystemID picks one of several systems behind an address; empty takes it from the address's path.
	SystemID string
	// User and Password open the controller.
	User, Password string
	// Flavour is the maker of the controller; empty guesses from the address.
	Flavour Flavour
	// Running has it switched on from the start, with something of its own.
	Running bool
}

type endpoint struct {
	host, port string // port is empty where the address names none
	system     string
	flavour    Flavour
}

func (m *Machine) endpoint() (endpoint, error) {
	text, scheme := m.Address, ""
	if !strings.Contains(text, "://") {
		if net.ParseIP(text) != nil && strings.Contains(text, ":") {
			text = "[" + text + "]"
		}
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("the BMC of %s: %q is no address", m.Name, m.Address)
	}
	scheme = strings.ToLower(u.Scheme)
	e := endpoint{
		host: strings.ToLower(u.Hostname()), port: u.Port(), flavour: cmp.Or(m.Flavour, flavourOf(scheme, u.Path)), system: m.SystemID,
	}
	if parent, id := path.Split(strings.TrimRight(u.Path, "/")); e.system == "" && strings.HasSuffix(parent, "/Systems/") {
		e.system = id
	}
	return e, nil
}

// Flavour is the maker of a controller, and so its dialect of Redfish.
type Flavour string

// The flavours: the emulator of sushy-tools, Dell, HPE, Lenovo, Supermicro, and one that
// answers each change with a Task.
const (
	Sushy      Flavour = "sushy"
	IDRAC      Flavour = "idrac"
	ILO        Flavour = "ilo"
	XCC        Flavour = "xcc"
	Supermicro Flavour = "supermicro"
	Tasks      Flavour = "tasks"
)

// Flavours is every one of them.
func Flavours() []Flavour { return []Flavour{Sushy, IDRAC, ILO, XCC, Supermicro, Tasks} }

// flavourOf guesses from an address: from metal3's scheme for a maker, or from the id of an iDRAC's system.
func flavourOf(scheme, path string) Flavour {
	switch {
	case strings.HasPrefix(scheme, "idrac"), strings.Contains(path, "System.Embedded"):
		return IDRAC
	case strings.HasPrefix(scheme, "ilo"):
		return ILO
	}
	return Sushy
}

// slot is a virtual drive. A fixed one is one that no URL can be inserted into.
type slot struct {
	ID, Name string
	Types    []string
	Fixed    bool
}

// dialect is what a flavour has of its own, as flavours.yaml says.
type dialect struct {
	Vendor, Product, Manufacturer, Model string
	// System and Manager are the ids; an empty System is the machine's UUID, an empty Manager the system's id.
	System, Manager string
	// MediaInSystem has VirtualMedia below Systems and not below Managers.
	MediaInSystem bool
	Slots         []slot
	// MediaTarget is the boot target of the virtual CD.
	MediaTarget string
	Targets     []string
	Resets      []string
	// Sessions is how many may be open at once; zero has no session service, and wants basic authentication.
	Sessions int
	// Done is the status of actions that succeed, Patched that of changed settings; zero is Done too.
	Done, Patched int
	// Strict refuses to switch on what is on, and to insert over media that are inserted.
	Strict bool
	// LongestURL is how many characters of an image's address fit; zero is any.
	LongestURL int
	// PatchMedia takes a PATCH of the drive for an insertion, and has no actions.
	PatchMedia bool
	// WantsProtocol refuses an insertion that does not name TransferProtocolType.
	WantsProtocol bool
	// ImageOnly refuses an insertion that names Inserted or WriteProtected.
	ImageOnly bool
	// Tasks carries each change out as a Task, after the answer.
	Tasks bool
	// Emulator answers as sushy-tools does where that is not Redfish (sushy.go).
	Emulator bool
}

//go:embed flavours.yaml
var flavours []byte

var dialects = sync.OnceValue(func() (all map[Flavour]dialect) {
	if err := yaml.UnmarshalStrict(flavours, &all); err != nil {
		panic(err) // the file is part of the program, and every test of the package reads it
	}
	return all
})

func dialectOf(f Flavour) dialect {
	if d, known := dialects()[f]; known {
		return d
	}
	return dialects()[Sushy]
}

func (d *dialect) changed() int { return cmp.Or(d.Patched, d.Done) }

func (d *dialect) slotOf(id string) (slot, bool) {
	for _, s := range d.Slots {
		if s.ID == id {
			return s, true
		}
	}
	return slot{}, false
}
