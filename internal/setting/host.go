package setting

import "github.com/oaictl/oaictl/pkg/install/spec"

// Settings of a host, relative to its entry in spec.hosts.
const (
	Role      Name = "role"              // Role
	Hostname  Name = "hostname"          // string
	Disk      Name = "disk.hints"        // inventory id of the installation disk
	KeepDisks Name = "disk.keep"         // []string of inventory ids that are not formatted
	Labels    Name = "labels"            // map[string]string
	Pool      Name = "machineConfigPool" // string
	Args      Name = "installerArgs"     // []string
	Ignition  Name = "ignition"          // Ignition JSON in a string
	Fencing   Name = "fencing"           // secret; only its address is compared, where the service gives that back
	// EndpointToken is the word "set": the service says only whether there
	// is a token, which itself is the desired cluster's.
	EndpointToken   Name = "ignitionEndpoint.token"
	EndpointHeaders Name = "ignitionEndpoint.headers" // map[string]string; not given back
	// HostExtra is a JSON object in the service's own words, the same for
	// every host; not given back as it was sent.
	HostExtra Name = "spec.overrides.host"
	// Approved is a bool: the host may take part in an installation. A plane
	// whose service asks for that gives it back for every host; where it is not
	// given back it is never sent.
	Approved Name = "approved"
)

// OfHost is what cluster.yaml says of a host, as far as it can be said
// of the machine: disk is the id of the resolved installation disk, keep those
// of the disks to leave alone.
func OfHost(h *spec.Host, disk string, keep []string) Settings {
	s := Settings{}
	put(s, Role, h.Role)
	put(s, Hostname, h.Hostname)
	put(s, Disk, disk)
	if h.Disk.Keep != nil {
		s[KeepDisks] = ValueOf(keep)
	}
	if h.Labels != nil {
		s[Labels] = ValueOf(h.Labels)
	}
	put(s, Pool, h.MachineConfigPool)
	putSlice(s, Args, h.InstallerArgs)
	if h.Ignition != nil {
		ignition, err := h.Ignition.JSON()
		if err != nil {
			ignition = h.Ignition.Text() // which the service refuses, and says why
		}
		put(s, Ignition, ignition)
	}
	if f := h.FencedBy(); f != nil {
		put(s, Fencing, f.Address)
	}
	if endpoint := h.IgnitionEndpoint; endpoint != nil {
		if endpoint.Token != nil {
			s[EndpointToken] = ValueOf(TokenSet)
		}
		if endpoint.Headers != nil {
			s[EndpointHeaders] = ValueOf(endpoint.Headers)
		}
	}
	return s
}

// TokenSet is what can be said of a token: that there is one.
const TokenSet = "set"

// Secrets are those of a host's settings that the service does not give
// back and that may have become others since they were sent.
func Secrets(s Settings) Settings {
	out := Settings{}
	for _, setting := range []Name{Fencing, EndpointToken, EndpointHeaders} {
		if value, set := s[setting]; set {
			out[setting] = value
		}
	}
	return out
}

// hostRule is the drift table of hosts.
func hostRule(setting Name) (Rule, bool) {
	switch setting {
	case KeepDisks:
		return Rule{same: sameSet}, true
	case Ignition:
		return Rule{same: sameDocument}, true
	case Fencing, EndpointHeaders, HostExtra:
		return Rule{same: sameJSON, secret: true, Host: Hidden}, true
	case Role:
		return Rule{same: func(want, have Value) bool { return want == have || want.Text() == string(spec.Auto) }}, true
	}
	return Rule{}, false
}
