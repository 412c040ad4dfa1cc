package model

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TroubleKind is what is wrong with a BMC.
type TroubleKind string

// The kinds of trouble with a BMC.
const (
	TroubleUnreachable    TroubleKind = "unreachable"
	TroubleCredentials    TroubleKind = "credentials"
	TroubleNoVirtualMedia TroubleKind = "no-virtual-media"
	TroubleMediaRefused   TroubleKind = "media-refused"
	TroubleBusy           TroubleKind = "busy"     // passes by itself: too many sessions, a BMC that restarts
	TroubleNoImage        TroubleKind = "no-image" // passes by itself: what the image is made of is still on its way
	TroubleOther          TroubleKind = "other"
)

// Power is whether a machine is switched on.
type Power string

// The power states of Redfish.
const (
	PowerUnknown  Power = "Unknown"
	PowerIsOn     Power = "On"
	PowerIsOff    Power = "Off"
	PowerGoingOn  Power = "PoweringOn"
	PowerGoingOff Power = "PoweringOff"
)

// MachineState is what is known of one machine through its BMC.
type MachineState struct {
	// Trouble says why the rest is not known, or not to be relied on; "" for
	// nothing. TroubleKind classes it.
	Trouble     string
	TroubleKind TroubleKind
	Power       Power
	// Media is the URL of what is in the virtual drive, "" for nothing. It may
	// hold what nobody else is to know: never shown whole.
	Media string
	// OurMedia says that it is the image that this cluster serves for the host.
	OurMedia bool
	// BootOnce says that the next boot is from the virtual drive, as far as the BMC
	// can say: what proves it is that the host registers.
	BootOnce bool
	// BootStays says that no boot uses the override up: it stands until it is taken
	// back, as on a BMC that only knows Continuous.
	BootStays bool
	// Inserting says that our image is on its way into the virtual drive. Of the rest
	// nothing is to be relied on then.
	Inserting bool
	// Fetch is how much of the image has been read by the BMC.
	Fetch Fetched

	// Phase is where the host was in its install when this was seen.
	Phase Phase `json:"-"`
}

// Phase is how far a host is on its way from the discovery image to its disk.
type Phase int

// The phases of a host that boots through its BMC.
const (
	PhaseUnknown    Phase = iota // nothing is known of it yet, and nothing to boot
	PhaseToBoot                  // it has still to boot the image
	PhaseRunsImage               // it has, and runs it
	PhaseLeavesDisc              // it must not boot it again
)

// Fetched is how far an image has been read over HTTP.
type Fetched struct {
	Requests int
	Active   int   // of them, those that are under way now
	Bytes    int64 // distinct ones: a part that is read twice counts once
	Size     int64 // of the whole image, 0 while unknown
	Last     time.Time
	// Unknown says that another process serves the image, which knows.
	Unknown bool
}

// switched says whether a machine is seen to be as an action of power wants it.
func (s MachineState) switched(kind Kind) bool {
	return s.Trouble == "" && (kind == PowerOn && s.Power == PowerIsOn || kind == PowerOff && s.Power == PowerIsOff)
}

// IsBootedByBMC says whether a host of the file is booted through its BMC.
func IsBootedByBMC(c *spec.Cluster, h *spec.Host) bool {
	if h.BMC == nil || h.BMC.Credentials.IsZero() {
		return false
	}
	switch c.Spec.Boot.Method {
	case spec.BootRedfish:
		return true
	case "": // not defaulted: redfish where every host has a BMC
		return !slices.ContainsFunc(c.Spec.Hosts, func(h spec.Host) bool { return h.BMC == nil })
	}
	return false
}

// BootedByBMC are the hosts of a file that are booted through their BMCs: those
// that have one with credentials, where boot.method is redfish.
func BootedByBMC(c *spec.Cluster) []*spec.Host {
	var hosts []*spec.Host
	for i := range c.Spec.Hosts {
		if host := &c.Spec.Hosts[i]; IsBootedByBMC(c, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
