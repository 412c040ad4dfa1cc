package bmc

import (
	"cmp"
	"fmt"
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

type slot struct {
	id, name string
	types    []string
	// fixed is one that no URL can be inserted into.
	fixed bool
}

type dialect struct {
	vendor, product, manufacturer, model string
	// system and manager are the ids; an empty system is the machine's UUID, an empty manager the system's id.
	system, manager string
	// mediaInSystem has VirtualMedia below Systems and not below Managers.
	mediaInSystem bool
	slots         []slot
	// mediaTarget is the boot target that stands for the virtual CD.
	mediaTarget string
	targets     []string
	resets      []string
	// sessions is how many may be open at once; zero has no session service, and wants basic authentication.
	sessions int
	// done is the status of actions that succeed, patched that of changed settings; zero is done too.
	done, patched int
	// strict refuses to switch on what is on, and to insert over media that are inserted.
	strict bool
	// longestURL is how many characters of an image's address fit; zero is any.
	longestURL int
	// patchMedia takes a PATCH of the drive for an insertion, and has no actions.
	patchMedia bool
	// wantsProtocol refuses an insertion that does not name TransferProtocolType.
	wantsProtocol bool
	// imageOnly refuses an insertion that names Inserted or WriteProtected.
	imageOnly bool
	// emulator answers as sushy-tools does where that is not Redfish (sushy.go).
	emulator bool
}

func dialectOf(f Flavour) dialect {
	optical := []string{"CD", "DVD"}
	stick := []string{"Floppy", "USBStick"}
	usual := []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi"}
	switch f {
	case IDRAC:
		return dialect{
			vendor: "Dell", product: "Integrated Dell Remote Access Controller", manufacturer: "Dell Inc.", model: "PowerEdge R650",
			system: "System.Embedded.1", manager: "iDRAC.Embedded.1", mediaInSystem: true,
			slots:       []slot{{id: "1", name: "VirtualMedia Instance 1", types: []string{"CD", "DVD", "USBStick"}}, {id: "2", name: "VirtualMedia Instance 2", types: []string{"CD", "DVD", "USBStick"}}},
			mediaTarget: "Cd", targets: []string{"None", "Pxe", "Floppy", "Cd", "Hdd", "BiosSetup", "Utilities", "UefiTarget", "SDCard", "UefiHttp"},
			resets: append(usual, "PushPowerButton", "PowerCycle"), sessions: 8, done: http.StatusNoContent, patched: http.StatusOK, strict: true, longestURL: 255,
		}
	case ILO:
		return dialect{
			vendor: "HPE", product: "ProLiant DL380 Gen10", manufacturer: "HPE", model: "ProLiant DL380 Gen10", system: "1", manager: "1",
			slots:       []slot{{id: "1", name: "VirtualMedia", types: stick}, {id: "2", name: "VirtualMedia", types: optical}},
			mediaTarget: "Cd", targets: []string{"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "Utilities", "Diags", "UefiTarget", "SDCard", "UefiHttp"},
			resets: []string{"On", "ForceOff", "ForceRestart", "Nmi", "PushPowerButton"}, sessions: 12, done: http.StatusOK, strict: true,
		}
	case XCC:
		return dialect{
			vendor: "Lenovo", product: "ThinkSystem SR650", manufacturer: "Lenovo", model: "ThinkSystem SR650", system: "1", manager: "1",
			slots:       xccSlots(optical),
			mediaTarget: "Cd", targets: []string{"None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Diags"},
			resets: append(usual, "ForceOn"), sessions: 16, done: http.StatusOK, patchMedia: true,
		}
	case Supermicro:
		return dialect{
			vendor: "Supermicro", manufacturer: "Supermicro", model: "SYS-510T", system: "1", manager: "1",
			slots:       []slot{{id: "Floppy1", name: "Virtual Removable Media", types: stick, fixed: true}, {id: "CD1", name: "Virtual Removable Media", types: optical}},
			mediaTarget: "UsbCd", targets: []string{"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "UsbCd", "UefiBootNext", "UefiHttp"},
			resets: append(usual, "ForceOn"), sessions: 16, done: http.StatusOK, wantsProtocol: true, imageOnly: true,
		}
	default:
		return dialect{
			manufacturer: "Sushy Emulator", mediaInSystem: true, emulator: true,
			slots:       []slot{{id: "Cd", name: "Virtual CD", types: optical}, {id: "Floppy", name: "Virtual Removable Media", types: stick}},
			mediaTarget: "Cd", targets: []string{"Pxe", "Cd", "Hdd", "UefiHttp"},
			resets: append(usual, "ForceOn"), done: http.StatusNoContent,
		}
	}
}

// xccSlots are those that take an image by its URL, EXT, beside those for uploads and browsers.
func xccSlots(types []string) (slots []slot) {
	add := func(kind string, most int, fixed bool) {
		for i := range most {
			slots = append(slots, slot{id: fmt.Sprint(kind, i+1), name: "VirtualMedia", types: types, fixed: fixed})
		}
	}
	add("RDOC", 2, true)
	add("EXT", 4, false)
	add("Remote", 4, true)
	return slots
}

func (d *dialect) changed() int { return cmp.Or(d.patched, d.done) }

func (d *dialect) slotOf(id string) (slot, bool) {
	for _, s := range d.slots {
		if s.id == id {
			return s, true
		}
	}
	return slot{}, false
}
