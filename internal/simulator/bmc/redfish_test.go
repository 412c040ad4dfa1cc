package bmc

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const at = "https://192.0.2.1"

// TestFlavoursBootMedia goes the way that Redfish documents, from the service
// root on, with what each flavour is said to want.
func TestFlavoursBootMedia(t *testing.T) {
	for _, f := range Flavours() {
		t.Run(string(f), func(t *testing.T) {
			b := newBench(t, "", machineOf(f, at))
			system := at + b.want(200, "GET", at+"/redfish/v1/Systems", nil).find("Members", 0, "@odata.id").(string)
			seen := b.want(200, "GET", system, nil)
			if got := seen.find("PowerState"); got != "Off" {
				t.Errorf("the machine is %v", got)
			}
			manager := at + seen.find("Links", "ManagedBy", 0, "@odata.id").(string)
			drives, ok := b.want(200, "GET", manager, nil).find("VirtualMedia", "@odata.id").(string)
			d := dialectOf(f)
			if d.MediaInSystem == ok && !d.Emulator {
				t.Errorf("virtual media below the manager: %v", ok)
			}
			if d.MediaInSystem {
				drives = seen.find("VirtualMedia", "@odata.id").(string)
			}
			target := b.driveIn(at + drives)
			image := b.media.URL + "/i/1.iso"
			insert := object{"Image": image, "TransferProtocolType": "HTTP"}
			if !d.ImageOnly {
				insert["Inserted"], insert["WriteProtected"] = true, true
			}
			b.drives(target, "InsertMedia", insert)
			drive := at + target.find("@odata.id").(string)
			if got := b.want(200, "GET", drive, nil); got.find("Image") != image || got.find("Inserted") != true {
				t.Errorf("the drive shows %v", got.body)
			}
			b.want(d.changed(), "PATCH", system, object{"Boot": object{"BootSourceOverrideTarget": d.MediaTarget, "BootSourceOverrideEnabled": "Once"}}, "If-Match", seen.header.Get("ETag"))
			_, starts, changed := b.server.System("m-0").Switched()
			b.want(d.Done, "POST", system+"/Actions/ComputerSystem.Reset", object{"ResetType": "On"})
			select {
			case <-changed:
			default:
				t.Error("the machine is not told that it is switched")
			}
			if on, again, _ := b.server.System("m-0").Switched(); !on || again != starts+1 {
				t.Errorf("on %v, started %d times", on, again)
			}
			if f == Sushy { // which knows no single boot
				b.boots(len(b.image), continuous)
				b.boots(len(b.image), continuous)
				b.want(d.changed(), "PATCH", system, object{"Boot": object{"BootSourceOverrideTarget": "Hdd"}})
				b.boots(0, continuous)
			} else {
				b.boots(len(b.image), once)
				b.boots(0, disabled)
			}
			b.drives(target, "EjectMedia", object{})
			if got := b.want(200, "GET", drive, nil); got.find("Image") != nil && got.find("Image") != "" || got.find("Inserted") != false {
				t.Errorf("the drive shows %v", got.body)
			}
		})
	}
}

// drives has a drive do something: by an action, or by a setting if it has none.
func (b *bench) drives(target answered, action string, body object) {
	b.t.Helper()
	d := b.server.System("m-0").dialect
	if to, ok := target.find("Actions", "#VirtualMedia."+action, "target").(string); ok {
		b.want(d.Done, "POST", at+to, body)
		return
	}
	if !d.PatchMedia {
		b.t.Errorf("the drive has no %s", action)
	}
	path := target.find("@odata.id").(string)
	b.want(404, "POST", at+path+"/Actions/VirtualMedia."+action, body)
	b.want(200, "PATCH", at+path, body)
}

// driveIn is the first drive that takes an image of a CD.
func (b *bench) driveIn(drives string) answered {
	b.t.Helper()
	list := b.want(200, "GET", drives, nil)
	for i := 0; list.find("Members", i) != nil; i++ {
		drive := b.want(200, "GET", at+list.find("Members", i, "@odata.id").(string), nil)
		types, _ := drive.find("MediaTypes").([]any)
		slot, _ := b.server.System("m-0").dialect.slotOf(drive.find("Id").(string))
		if !slot.Fixed && types[0] == "CD" {
			return drive
		}
	}
	b.t.Fatal("there is no drive for an image")
	return answered{}
}

// boots wants the firmware to find media of a size, 0 for the disk, while the
// override stood so.
func (b *bench) boots(size int, enabled string) {
	b.t.Helper()
	s := b.server.System("m-0")
	if got := s.settings().Enabled; got != enabled {
		b.t.Errorf("the override is %s, want %s", got, enabled)
	}
	content, n, err := s.Boot(b.t.Context())
	if err != nil || int(n) != size {
		b.t.Fatalf("it boots %d bytes: %v; want %d", n, err, size)
	}
	if size == 0 {
		return
	}
	read, err := io.ReadAll(io.NewSectionReader(content, 0, n))
	if err != nil || string(read) != string(b.image) {
		b.t.Errorf("it reads %d bytes, not those of the media: %v", len(read), err)
	}
}

func TestMediaAreReadInRanges(t *testing.T) {
	b := newBench(t, "", machineOf(IDRAC, at))
	s := b.server.System("m-0")
	s.insert("1", b.media.URL+"/1.iso")
	s.set(override{Target: "Cd", Enabled: continuous})
	b.boots(len(b.image), continuous)
	want := []string{"HEAD", "GET bytes=0-65535", "GET bytes=65536-1048575", "GET bytes=1048576-2097151", "GET bytes=2097152-2621439"}
	if diff := cmp.Diff(want, b.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	b.boots(len(b.image), continuous)
}

func TestPower(t *testing.T) {
	for _, tc := range []struct {
		name           string
		flavour        Flavour
		before, kind   string
		status         int
		at, afterwards string // PowerState at once, and when it has settled
	}{
		{"on", IDRAC, "", "On", 204, "PoweringOn", "On"},
		{"on twice, strict", IDRAC, "On", "On", 409, "On", "On"},
		{"on twice", Sushy, "On", "On", 204, "On", "On"},
		{"on, shown later", Sushy, "", "On", 204, "Off", "On"},
		{"off, shown later", Sushy, "On", "ForceOff", 204, "On", "Off"},
		{"restart by way of off", Sushy, "On", "ForceRestart", 204, "Off", "On"},
		{"no button", Sushy, "", "PushPowerButton", 501, "Off", "Off"},
		{"off twice, strict", ILO, "", "ForceOff", 409, "Off", "Off"},
		{"off", ILO, "On", "ForceOff", 200, "Off", "Off"},
		{"shutdown", XCC, "On", "GracefulShutdown", 200, "PoweringOff", "Off"},
		{"restart", Supermicro, "On", "ForceRestart", 200, "PoweringOn", "On"},
		{"button while on", ILO, "On", "PushPowerButton", 200, "PoweringOff", "Off"},
		{"button while off", ILO, "", "PushPowerButton", 200, "PoweringOn", "On"},
		{"not offered", Sushy, "", "PowerCycle", 501, "Off", "Off"},
		{"nothing", ILO, "", "", 400, "Off", "Off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, "", machineOf(tc.flavour, at))
			system := at + b.server.System("m-0").path()
			if tc.before != "" {
				b.call("POST", system+"/Actions/ComputerSystem.Reset", object{"ResetType": tc.before})
				b.clock.move(shutdownTime)
			}
			b.want(tc.status, "POST", system+"/Actions/ComputerSystem.Reset", object{"ResetType": tc.kind})
			if got := b.want(200, "GET", system, nil).find("PowerState"); got != tc.at {
				t.Errorf("%v, want %s", got, tc.at)
			}
			b.clock.move(shutdownTime)
			if got := b.want(200, "GET", system, nil).find("PowerState"); got != tc.afterwards {
				t.Errorf("later %v, want %s", got, tc.afterwards)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name         string
		flavour      Flavour
		method, path string
		body         any
		status       int
	}{
		{"unknown target", Supermicro, "PATCH", "/redfish/v1/Systems/1", object{"Boot": object{"BootSourceOverrideTarget": "SDCard", "BootSourceOverrideEnabled": "Once"}}, 400},
		{"unknown duration", ILO, "PATCH", "/redfish/v1/Systems/1", object{"Boot": object{"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Twice"}}, 400},
		{"nothing to set", ILO, "PATCH", "/redfish/v1/Systems/1", object{}, 400},
		{"no such system", ILO, "GET", "/redfish/v1/Systems/2", nil, 404},
		{"no such drive", ILO, "GET", "/redfish/v1/Managers/1/VirtualMedia/9", nil, 404},
		{"a drive below the system", ILO, "GET", "/redfish/v1/Systems/1/VirtualMedia", nil, 404},
		{"a fixed drive", XCC, "PATCH", "/redfish/v1/Managers/1/VirtualMedia/RDOC1", object{"Image": "M"}, 405},
		{"no image", ILO, "POST", "/redfish/v1/Managers/1/VirtualMedia/2/Actions/VirtualMedia.InsertMedia", object{}, 400},
		{"a share", XCC, "PATCH", "/redfish/v1/Managers/1/VirtualMedia/EXT1", object{"Image": "nfs://h/1.iso"}, 400},
		{"out of reach", XCC, "PATCH", "/redfish/v1/Managers/1/VirtualMedia/EXT1", object{"Image": "http://127.0.0.1:1/1.iso"}, 400},
		{"by an action", XCC, "POST", "/redfish/v1/Managers/1/VirtualMedia/EXT1/Actions/VirtualMedia.InsertMedia", object{"Image": "M"}, 404},
		{"by setting", XCC, "PATCH", "/redfish/v1/Managers/1/VirtualMedia/EXT1", object{"Image": "M", "Inserted": true}, 200},
		{"by setting elsewhere", ILO, "PATCH", "/redfish/v1/Managers/1/VirtualMedia/2", object{"Image": "M", "Inserted": true}, 405},
		{"with more than it knows", Supermicro, "POST", "/redfish/v1/Managers/1/VirtualMedia/CD1/Actions/VirtualMedia.InsertMedia", object{"Image": "M", "TransferProtocolType": "HTTP", "Inserted": true}, 400},
		{"without its protocol", Supermicro, "POST", "/redfish/v1/Managers/1/VirtualMedia/CD1/Actions/VirtualMedia.InsertMedia", object{"Image": "M"}, 400},
		{"an address too long", IDRAC, "POST", "/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1/Actions/VirtualMedia.InsertMedia", object{"Image": "M" + strings.Repeat("x", 255)}, 400},
		{"nothing to eject, strict", IDRAC, "POST", "/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1/Actions/VirtualMedia.EjectMedia", object{}, 409},
		{"no sessions", Sushy, "POST", "/redfish/v1/SessionService/Sessions", object{"UserName": "admin", "Password": "calvin"}, 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, "", machineOf(tc.flavour, at))
			if asked, ok := tc.body.(object); ok {
				if image, ok := asked["Image"].(string); ok {
					asked["Image"] = strings.Replace(image, "M", b.media.URL+"/", 1)
				}
			}
			b.want(tc.status, tc.method, at+tc.path, tc.body)
		})
	}
	t.Run("twice, strict", func(t *testing.T) {
		b := newBench(t, "", machineOf(IDRAC, at))
		insert := at + "/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1/Actions/VirtualMedia.InsertMedia"
		b.want(204, "POST", insert, object{"Image": b.media.URL})
		b.want(409, "POST", insert, object{"Image": b.media.URL})
	})
	t.Run("changed meanwhile", func(t *testing.T) {
		b := newBench(t, "", machineOf(XCC, at))
		boot := object{"Boot": object{"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}
		tag := b.want(200, "GET", at+"/redfish/v1/Systems/1", nil).header.Get("ETag")
		b.want(200, "PATCH", at+"/redfish/v1/Systems/1", boot, "If-Match", tag)
		b.want(412, "PATCH", at+"/redfish/v1/Systems/1", boot, "If-Match", tag)
	})
}

func TestSessions(t *testing.T) {
	b := newBench(t, "", machineOf(IDRAC, at))
	login := object{"UserName": "admin", "Password": "calvin"}
	opened := b.want(201, "POST", at+sessionsPath, login)
	token := opened.header.Get("X-Auth-Token")
	b.want(200, "GET", at+"/redfish/v1/Systems", nil, "Authorization", "", "X-Auth-Token", token)
	b.want(401, "GET", at+"/redfish/v1/Systems", nil, "Authorization", "", "X-Auth-Token", token+"x")
	b.want(401, "POST", at+sessionsPath, object{"UserName": "admin", "Password": "wrong"})
	b.want(401, "GET", at+"/redfish/v1/Systems", nil, "Authorization", "Basic eDp5")
	b.want(200, "GET", at+"/redfish/v1/", nil, "Authorization", "")
	for range dialectOf(IDRAC).Sessions - 1 {
		b.want(201, "POST", at+sessionsPath, login)
	}
	full := b.want(http.StatusServiceUnavailable, "POST", at+sessionsPath, login)
	if full.header.Get("Retry-After") == "" {
		t.Error("nobody is told when to come back")
	}
	b.want(204, "DELETE", at+opened.header.Get("Location"), nil)
	b.want(401, "GET", at+"/redfish/v1/Systems", nil, "Authorization", "", "X-Auth-Token", token)
	b.want(201, "POST", at+sessionsPath, login)
}
