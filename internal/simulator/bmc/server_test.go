package bmc

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestProxyLeadsToBMCsOnly reaches controllers by every form of address, and
// nothing else.
func TestProxyLeadsToBMCsOnly(t *testing.T) {
	machine := func(name, address, system string) Machine {
		m := machineOf("", address)
		m.Name, m.UUID, m.SystemID = name, strings.Replace(m.UUID, "000000000001", "00000000000"+name, 1), system
		return m
	}
	b := newBench(t, "",
		machine("1", "192.0.2.1", ""),
		machine("2", "redfish-virtualmedia+http://bmc-2.example.com:8000/redfish/v1/Systems/abc", ""),
		machine("3", "redfish-virtualmedia+http://bmc-2.example.com:8000/redfish/v1/Systems/def", ""),
		machine("4", "idrac-virtualmedia+https://[2001:db8::4]/redfish/v1/Systems/System.Embedded.1", ""),
		machine("5", "ilo5-virtualmedia://192.0.2.5:443", ""),
	)
	for address, want := range map[string]string{
		"https://192.0.2.1/redfish/v1/Systems":               "/redfish/v1/Systems/6f1f1ed2-0000-4000-8000-000000000001",
		"http://192.0.2.1/redfish/v1/Systems/":               "/redfish/v1/Systems/6f1f1ed2-0000-4000-8000-000000000001",
		"http://bmc-2.example.com:8000/redfish/v1/Systems":   "/redfish/v1/Systems/abc",
		"https://BMC-2.example.com:8000/redfish/v1/Managers": "/redfish/v1/Managers/abc",
		"https://[2001:db8::4]/redfish/v1/Systems":           "/redfish/v1/Systems/System.Embedded.1",
		"https://192.0.2.5/redfish/v1/Systems":               "/redfish/v1/Systems/1",
	} {
		if got := b.want(200, "GET", address, nil).find("Members", 0, "@odata.id"); got != want {
			t.Errorf("%s leads to %v, want %s", address, got, want)
		}
	}
	if n := b.want(200, "GET", "http://bmc-2.example.com:8000/redfish/v1/Systems", nil).find("Members@odata.count"); n != 2.0 {
		t.Errorf("%v systems behind one address", n)
	}
	for _, address := range []string{"http://192.0.2.9/redfish/v1/", "http://192.0.2.1:8080/redfish/v1/"} {
		response, err := b.client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %s", address, response.Status)
		}
	}
	if response, err := b.client.Get("https://192.0.2.9/redfish/v1/"); err == nil {
		_ = response.Body.Close()
		t.Errorf("a tunnel leads to where nothing is: %s", response.Status)
	}
}

// TestListenerIsABMCItself reaches the only controller without the proxy, with
// and without TLS, on one port.
func TestListenerIsABMCItself(t *testing.T) {
	b := newBench(t, "", machineOf(ILO, at))
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // made by the test
	defer transport.CloseIdleConnections()
	for _, address := range []string{b.proxy, strings.Replace(b.proxy, "http", "https", 1)} {
		response, err := (&http.Client{Transport: transport}).Get(address + "/redfish/v1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), "HPE") {
			t.Errorf("%s: %s %s %v", address, response.Status, text, err)
		}
	}
}

// A client that connects and sends nothing does not keep the server from closing.
func TestSilentClientDoesNotHold(t *testing.T) {
	b := newBench(t, "", machineOf(ILO, at))
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.proxy, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	b.want(200, "GET", at+"/redfish/v1", nil)
}

func TestWrongMachines(t *testing.T) {
	for name, machines := range map[string][]Machine{
		"no address":     {machineOf("", "https://")},
		"the same twice": {machineOf(IDRAC, at), machineOf(IDRAC, at)},
	} {
		if _, err := New(Config{Clock: &handClock{}, Machines: machines}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestTroubles(t *testing.T) {
	system := at + "/redfish/v1/Systems/1"
	insert := at + "/redfish/v1/Managers/1/VirtualMedia/2/Actions/VirtualMedia.InsertMedia"
	for _, tc := range []struct {
		rule string
		want func(b *bench)
	}{
		{"{do: power-on}", func(b *bench) {
			if got := b.want(200, "GET", system, nil).find("PowerState"); got != "On" {
				b.t.Errorf("%v", got)
			}
			if _, starts, _ := b.server.System("m-0").Switched(); starts != 0 {
				b.t.Error("it boots by itself")
			}
		}},
		{"{do: bmc-kind, args: {kind: xcc}}", func(b *bench) {
			if got := b.want(200, "GET", at+"/redfish/v1/", nil).find("Vendor"); got != "Lenovo" {
				b.t.Errorf("%v", got)
			}
		}},
		{"{do: bmc-wrong-credentials}", func(b *bench) { b.want(401, "GET", system, nil) }},
		{"{do: bmc-wrong-credentials, args: {status: 403}}", func(b *bench) { b.want(403, "GET", system, nil) }},
		{"{do: bmc-session-limit}", func(b *bench) {
			b.want(503, "POST", at+sessionsPath, object{"UserName": "admin", "Password": "calvin"})
			b.want(503, "GET", system, nil)
		}},
		{"{do: bmc-no-virtual-media}", func(b *bench) {
			if got := b.want(200, "GET", at+"/redfish/v1/Managers/1", nil).find("VirtualMedia"); got != nil {
				b.t.Errorf("%v", got)
			}
			b.want(404, "POST", insert, object{"Image": b.media.URL})
		}},
		{"{do: bmc-media-refused}", func(b *bench) { b.want(500, "POST", insert, object{"Image": b.media.URL}) }},
		{"{do: bmc-media-refused, args: {status: 409}}", func(b *bench) { b.want(409, "POST", insert, object{"Image": b.media.URL}) }},
		{"{do: bmc-power-lies}", func(b *bench) {
			if got := b.want(200, "GET", system, nil).find("PowerState"); got != "On" {
				b.t.Errorf("%v", got)
			}
		}},
		{"{do: bmc-unreachable, args: {for: 1m}}", func(b *bench) {
			for _, address := range []string{system, "http://192.0.2.1/redfish/v1"} {
				response, err := b.client.Get(address)
				if err == nil {
					_ = response.Body.Close()
					b.t.Errorf("%s answers %s", address, response.Status)
				}
			}
			b.clock.move(2 * time.Minute)
			b.want(200, "GET", system, nil)
		}},
		{"{do: bmc-media-refused, match: {name: other}}", func(b *bench) { b.want(200, "POST", insert, object{"Image": b.media.URL}) }},
		{"{do: bmc-session-limit, at: {after: 1m}}", func(b *bench) {
			b.want(200, "GET", system, nil)
			b.clock.move(time.Minute)
			b.want(503, "GET", system, nil)
		}},
	} {
		t.Run(tc.rule, func(t *testing.T) { tc.want(newBench(t, tc.rule, machineOf(ILO, at))) })
	}
}
