package bmc

import (
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Flavour is whose Redfish a controller speaks.
type Flavour string

// The flavours: the emulator of sushy-tools, and Dell, HPE, Lenovo, Supermicro.
const (
	Sushy      Flavour = "sushy"
	IDRAC      Flavour = "idrac"
	ILO        Flavour = "ilo"
	XCC        Flavour = "xcc"
	Supermicro Flavour = "supermicro"
)

// Flavours is every one of them.
func Flavours() []Flavour { return []Flavour{Sushy, IDRAC, ILO, XCC, Supermicro} }

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
	// MediaTarget is the boot target that stands for the virtual CD.
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
