package bmc

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// says is what a controller answers, in any form.
func (b *bench) says(method, address, body string, header ...string) (status int, kind, text string) {
	b.t.Helper()
	status, answer, data := b.send(method, address, strings.NewReader(body), header...)
	return status, answer.Get("Content-Type"), string(data)
}

// emulated is a bench with the emulator, without an auth file, and where its system
// and the drive of that are.
func emulated(t *testing.T) (b *bench, system, cd string) {
	t.Helper()
	b = emulator(t, "", "")
	system = at + b.server.System("cp-0").path()
	return b, system, system + "/VirtualMedia/Cd"
}

// TestEmulatorDownloadsFirst and answers then: until it has all of an image, its drive
// is empty.
func TestEmulatorDownloadsFirst(t *testing.T) {
	b, _, cd := emulated(t)
	shows := func(image any, inserted bool) {
		t.Helper()
		got := b.want(200, "GET", cd, nil)
		if got.find("Image") != image || got.find("Inserted") != inserted || got.find("WriteProtected") != inserted {
			t.Errorf("the drive shows %v", got.body)
		}
	}
	reads := 0
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half of it"))
		_ = http.NewResponseController(w).Flush()
		shows("", false)
		reads++
		_, _ = w.Write([]byte("the other half"))
	}))
	defer slow.Close()
	insert, eject := cd+"/Actions/VirtualMedia.InsertMedia", cd+"/Actions/VirtualMedia.EjectMedia"
	b.want(204, "POST", insert, object{"Image": slow.URL + "/slow.iso"})
	if reads != 1 {
		t.Errorf("the image was read %d times before the answer", reads)
	}
	shows(slow.URL+"/slow.iso", true)
	b.want(204, "POST", insert, object{"Image": b.media.URL + "/other.iso", "Nonsense": 1, "UserName": "u", "Password": "p"})
	shows(b.media.URL+"/other.iso", true)
	b.want(204, "POST", eject, object{})
	shows("", false)
	b.want(204, "POST", eject, object{})
	b.want(204, "POST", eject, nil)
	b.want(400, "POST", insert, object{"Image": b.media.URL + "/missing.iso"})
	b.want(500, "POST", insert, object{"Image": "http://127.0.0.1:1/x.iso"})
	b.want(500, "POST", insert, object{})
	shows("", false)
}

// TestEmulatorPlaces asks for what is, and is not, where others have it.
func TestEmulatorPlaces(t *testing.T) {
	b, system, _ := emulated(t)
	id := system[strings.LastIndex(system, "/"):]
	for path, status := range map[string]int{
		"/redfish": 404, "/redfish/v1": 200, "/redfish/v1/Systems" + id: 200, "/redfish/v1/Systems/cp-0": 200, "/redfish/v1/Systems/nobody": 404,
		"/redfish/v1/Systems" + id + "/VirtualMedia": 200, "/redfish/v1/Managers" + id: 200, "/redfish/v1/Managers" + id + "/VirtualMedia": 404,
		"/redfish/v1/Systems" + id + "/Storage": 500, "/redfish/v1/Systems" + id + "/SimpleStorage": 501, "/redfish/v1/Systems" + id + "/Bios": 404,
	} {
		if got, _, text := b.says("GET", at+path, ""); got != status {
			t.Errorf("%s: %d %s", path, got, text)
		}
	}
	if got := b.want(200, "GET", at+"/redfish/v1/Managers"+id, nil).find("VirtualMedia", "@odata.id"); got != "/redfish/v1/Systems"+id+"/VirtualMedia" {
		t.Errorf("the manager's media are at %v", got)
	}
}

// TestEmulatorBootOverride takes any target, and stands until another is set.
func TestEmulatorBootOverride(t *testing.T) {
	b, system, _ := emulated(t)
	for _, tc := range []struct{ boot, target string }{
		{`{"BootSourceOverrideTarget":"Cd","BootSourceOverrideEnabled":"Once"}`, "Cd"},
		{`{"BootSourceOverrideTarget":"Hdd","BootSourceOverrideEnabled":"Disabled"}`, "Hdd"},
		{`{"BootSourceOverrideTarget":"UsbCd"}`, "UsbCd"},
		{`{"BootSourceOverrideTarget":"None"}`, "None"},
		{`{"BootSourceOverrideTarget":"Cd","BootSourceOverrideMode":"UEFI"}`, "Cd"},
		{`{"BootSourceOverrideMode":"Legacy"}`, "Cd"},
	} {
		if status, _, text := b.says("PATCH", system, `{"Boot":`+tc.boot+`}`); status != 204 {
			t.Errorf("%s: %d %s", tc.boot, status, text)
		}
		b.want(204, "POST", system+"/Actions/ComputerSystem.Reset", object{"ResetType": "ForceRestart"})
		b.clock.move(12 * time.Second)
		boot := b.want(200, "GET", system, nil)
		if boot.find("Boot", "BootSourceOverrideTarget") != tc.target || boot.find("Boot", "BootSourceOverrideEnabled") != "Continuous" {
			t.Errorf("after %s: %v", tc.boot, boot.find("Boot"))
		}
	}
	for _, body := range []string{`{"Boot":{"BootSourceOverrideEnabled":"Once"}}`, `{"Boot":{}}`, `{}`} {
		status, kind, text := b.says("PATCH", system, body)
		if status != 400 || kind != "application/json" || !strings.HasPrefix(text, "PATCH only works for ") && !strings.HasPrefix(text, "Missing the ") {
			t.Errorf("%s: %d %s %s", body, status, kind, text)
		}
	}
}

// TestEmulatorPower answers at once, and shows it between 1 and 11 seconds later.
func TestEmulatorPower(t *testing.T) {
	b, system, _ := emulated(t)
	reset := system + "/Actions/ComputerSystem.Reset"
	shown := func() any { return b.want(200, "GET", system, nil).find("PowerState") }
	b.want(204, "POST", reset, object{"ResetType": "On"})
	after := 0
	for ; shown() == "Off" && after < 30; after++ {
		b.clock.move(time.Second)
	}
	if after < 1 || after > 11 {
		t.Errorf("it shows to be on after %d s", after)
	}
	b.want(204, "POST", reset, object{"ResetType": "On"})
	b.want(204, "POST", reset, object{"ResetType": "ForceRestart"})
	if got := shown(); got != "Off" {
		t.Errorf("while it restarts: %v", got)
	}
	b.clock.move(11 * time.Second)
	if got := shown(); got != "On" {
		t.Errorf("restarted: %v", got)
	}
	for _, kind := range []string{"PushPowerButton", "PowerCycle", "Nmi", "Nope"} {
		b.want(501, "POST", reset, object{"ResetType": kind})
	}
	b.want(500, "POST", reset, object{})
}

// TestEmulatorWithUsers reads the service root without credentials, and cannot open a session.
func TestEmulatorWithUsers(t *testing.T) {
	b := emulator(t, "admin", "password")
	basic := func(user, password string) string {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	login := `{"UserName":"admin","Password":"password"}`
	for _, tc := range []struct {
		method, path, body, authorization string
		status                            int
	}{
		{"GET", "/redfish/v1", "", "", 200},
		{"GET", "/redfish/v1/Systems", "", "", 401},
		{"GET", "/redfish/v1/Systems", "", basic("admin", "wrong"), 401},
		{"GET", "/redfish/v1/Systems", "", basic("admin", "password"), 200},
		{"POST", "/redfish/v1/SessionService/Sessions", login, "", 401},
		{"POST", "/redfish/v1/SessionService/Sessions", login, basic("admin", "password"), 404},
		{"GET", "/redfish/v1/Systems", "", "Basic nonsense", 500},
	} {
		header := []string{"X-Auth-Token", "means nothing"}
		if tc.authorization != "" {
			header = append(header, "Authorization", tc.authorization)
		}
		status, kind, text := b.says(tc.method, at+tc.path, tc.body, header...)
		if status != tc.status || (status == 500) != strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s %s with %q: %d %s %s", tc.method, tc.path, tc.authorization, status, kind, text)
		}
	}
	refused := b.call("GET", at+"/redfish/v1/Systems", nil, "Authorization", "")
	if got := refused.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Basic ") {
		t.Errorf("it asks for %q", got)
	}
}
