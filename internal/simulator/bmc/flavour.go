package bmc

import (
	"net/http"
	"strings"
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

// flavourOf guesses from an address as files have it: from the scheme that metal3
// uses for a maker, or from the id that iDRACs give their system.
func flavourOf(scheme, path string) Flavour {
	switch {
	case strings.HasPrefix(scheme, "idrac"), strings.Contains(path, "System.Embedded"):
		return IDRAC
	case strings.HasPrefix(scheme, "ilo"):
		return ILO
	}
	return Sushy
}

// slot is a virtual drive.
type slot struct {
	id, name string
	types    []string
	// fixed is one that no URL can be inserted into.
	fixed bool
}

// dialect is how a flavour differs from the others.
type dialect struct {
	vendor, product, manufacturer, model string
	// system and manager are the ids; an empty system is the machine's UUID, an
	// empty manager the system's id.
	system, manager string
	// mediaInSystem has VirtualMedia below Systems and not below Managers.
	mediaInSystem bool
	slots         []slot
	// mediaTarget is the boot target that stands for the virtual CD.
	mediaTarget string
	targets     []string
	resets      []string
	// sessions is how many may be open at once; zero has no session service, and
	// wants basic authentication.
	sessions int
	// done is the status of actions that succeed.
	done int
	// strict refuses what would change nothing: switching on what is on,
	// inserting over media that are inserted.
	strict bool
	// longestURL is how many characters of an image's address fit; zero is any.
	longestURL int
	// patchMedia also takes a PATCH of the drive for an insertion.
	patchMedia bool
	// wantsProtocol refuses an insertion that does not name TransferProtocolType.
	wantsProtocol bool
	// emulator answers as sushy-tools does where that is not Redfish (sushy.go).
	emulator bool
}

// dialectOf is a flavour's table.
func dialectOf(f Flavour) dialect {
	optical := []string{"CD", "DVD"}
	stick := []string{"Floppy", "USBStick"}
	usual := []string{"On", "ForceOff", "ForceRestart", "GracefulShutdown", "PushPowerButton", "Nmi"}
	switch f {
	case IDRAC:
		return dialect{
			vendor: "Dell", product: "Integrated Dell Remote Access Controller", manufacturer: "Dell Inc.", model: "PowerEdge R650",
			system: "System.Embedded.1", manager: "iDRAC.Embedded.1", mediaInSystem: true,
			slots:       []slot{{id: "1", name: "VirtualMedia Instance 1", types: []string{"CD", "DVD", "USBStick"}}, {id: "2", name: "VirtualMedia Instance 2", types: []string{"CD", "DVD", "USBStick"}}},
			mediaTarget: "Cd", targets: []string{"None", "Pxe", "Floppy", "Cd", "Hdd", "BiosSetup", "Utilities", "UefiTarget", "SDCard", "UefiHttp"},
			resets: append(usual, "GracefulRestart", "PowerCycle"), sessions: 8, done: http.StatusNoContent, strict: true, longestURL: 255,
		}
	case ILO:
		return dialect{
			vendor: "HPE", product: "ProLiant DL380 Gen10", manufacturer: "HPE", model: "ProLiant DL380 Gen10", system: "1", manager: "1",
			slots:       []slot{{id: "1", name: "VirtualMedia", types: stick}, {id: "2", name: "VirtualMedia", types: optical}},
			mediaTarget: "Cd", targets: []string{"None", "Cd", "Hdd", "Usb", "SDCard", "Utilities", "Diags", "BiosSetup", "Pxe", "UefiShell", "UefiHttp", "UefiTarget"},
			resets: append(usual, "GracefulRestart"), sessions: 12, done: http.StatusOK, strict: true,
		}
	case XCC:
		return dialect{
			vendor: "Lenovo", product: "ThinkSystem SR650", manufacturer: "Lenovo", model: "ThinkSystem SR650", system: "1", manager: "1",
			slots: []slot{
				{id: "RDOC1", name: "Remote Disc On Card", types: []string{"CD", "USBStick"}, fixed: true},
				{id: "EXT1", name: "Virtual Removable Media", types: []string{"CD", "USBStick"}},
				{id: "EXT2", name: "Virtual Removable Media", types: []string{"CD", "USBStick"}},
			},
			mediaTarget: "Cd", targets: []string{"None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Diags", "UefiTarget"},
			resets: append(usual, "GracefulRestart", "ForceOn"), sessions: 16, done: http.StatusOK, patchMedia: true,
		}
	case Supermicro:
		return dialect{
			vendor: "Supermicro", product: "SYS-620P", manufacturer: "Supermicro", model: "SYS-620P", system: "1", manager: "1",
			slots:       []slot{{id: "Floppy1", name: "Virtual Removable Media", types: stick, fixed: true}, {id: "CD1", name: "Virtual Removable Media", types: optical}},
			mediaTarget: "UsbCd", targets: []string{"None", "Pxe", "Floppy", "Hdd", "BiosSetup", "UsbCd", "UefiHttp"},
			resets: append(usual, "GracefulRestart", "PowerCycle", "ForceOn"), sessions: 16, done: http.StatusOK, wantsProtocol: true,
		}
	default:
		return dialect{
			vendor: "", product: "", manufacturer: "Sushy Emulator", model: "", mediaInSystem: true, emulator: true,
			slots:       []slot{{id: "Cd", name: "Virtual CD", types: optical}, {id: "Floppy", name: "Virtual Floppy", types: stick}},
			mediaTarget: "Cd", targets: []string{"Pxe", "Cd", "Hdd", "UefiHttp"},
			resets: []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "ForceOn"}, done: http.StatusNoContent,
		}
	}
}

// slotOf is a virtual drive by its id.
func (d *dialect) slotOf(id string) (slot, bool) {
	for _, s := range d.slots {
		if s.id == id {
			return s, true
		}
	}
	return slot{}, false
}
