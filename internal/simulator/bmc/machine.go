package bmc

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
)

// Machine is what a controller has to know of the machine that it looks after.
type Machine struct {
	// Name, Role, Index, RoleIndex and MACs are what scenarios know it by.
	Name, Role       string
	Index, RoleIndex int
	MACs             []string
	// UUID and Serial are the system's.
	UUID, Serial string
	// Address is the controller's, as a cluster.yaml has it: an IP address or a
	// name, with or without a port, or a URL.
	Address string
	// SystemID picks one of several systems behind an address; empty takes it
	// from the address's path.
	SystemID string
	// User and Password open the controller.
	User, Password string
	// Flavour is whose controller it is; empty guesses from the address.
	Flavour Flavour
	// Running has it switched on from the start, with something of its own.
	Running bool
}

// endpoint is a controller's place in the network.
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
	e := endpoint{host: strings.ToLower(u.Hostname()), port: u.Port(), flavour: cmp.Or(m.Flavour, flavourOf(scheme, u.Path)), system: m.SystemID}
	if parent, id := path.Split(strings.TrimRight(u.Path, "/")); e.system == "" && strings.HasSuffix(parent, "/Systems/") {
		e.system = id
	}
	return e, nil
}
