package mcslog

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestAddress(t *testing.T) {
	for line, want := range map[string]string{
		`stderr F I0701 16:57:08.449808 1 api.go:102] Pool master requested by 192.0.2.12:32780 User-Agent:"Ignition/2.6.0" `:    "192.0.2.12",
		`I0701 1 api.go:117] Pool worker requested by address:"192.0.2.12:32780" User-Agent:"Ignition/2.9.0" Accept-Header: "x"`: "192.0.2.12",
		`I0701 1 api.go:117] Pool worker requested by address:"[2001:db8::1%enp1s0]:32780" User-Agent:"Ignition/2.9.0"`:          "2001:db8::1",
		`I0701 1 api.go:117] Pool worker requested by address:"[::ffff:192.0.2.1]:32780" User-Agent:"Ignition/2.9.0"`:            "192.0.2.1",
		`I0701 1 api.go:117] Pool worker requested by address:"192.0.2.12:32780" User-Agent:"curl/8"`:                            "invalid IP",
		`address:"192.0.2.12" User-Agent:"Ignition/2.9.0"`:                                                                       "invalid IP",
		`User-Agent:"Ignition/2.9.0" address:"192.0.2.12:1"`:                                                                     "invalid IP",
		`I0101 10:00:00.0 1 api.go:69] Pool worker requested by 10.0.0.6:41234 User-Agent:"Ignition/0.35.0"`:                     "10.0.0.6",
		`I0101 api.go:109] Pool master requested by address:"[2001:db8::5]:41234" User-Agent:"Ignition/2.14.0"`:                  "2001:db8::5",
		`10.0.0.5 User-Agent:"Ignition`:         "invalid IP",
		`User-Agent:"Ignition`:                  "invalid IP",
		``:                                      "invalid IP",
		strings.Repeat("x", 1<<20):              "invalid IP",
		` User-Agent:"Ignition" 10.0.0.5:1`:     "invalid IP",
		`"" User-Agent:"Ignition 10.0.0.5:1"`:   "invalid IP",
		`evil 10.0.0.5:1" User-Agent:"Ignition`: "10.0.0.5",
	} {
		check.Equal(t, Address(line).String(), want, line[:min(len(line), 200)])
	}
}

func TestAddresses(t *testing.T) {
	seen := map[netip.Addr]bool{}
	log := "x 192.0.2.1:1 User-Agent:\"Ignition/2\"\ny\nx 192.0.2.2:1 User-Agent:\"Ignition/2\"\npart 192.0.2.3:1 User-Agent:\"Ignition"
	check.Equal(t, Addresses([]byte(log), seen), len(log)-len(`part 192.0.2.3:1 User-Agent:"Ignition`))
	check.Equal(t, len(seen), 2)
}

// FuzzAddresses reads logs into which machines write their own text.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte("x 192.0.2.1:1 User-Agent:\"Ignition/2\"\n"))
	f.Add([]byte("x \"[::1%a]:1\" User-Agent:\"Ignition/2\"\n"))
	f.Add([]byte("[::1%eth0]:1 User-Agent:\"Ignition\n\" User-Agent:\"Ignition"))
	f.Fuzz(func(t *testing.T, log []byte) {
		seen := map[netip.Addr]bool{}
		read := Addresses(log, seen)
		if read < 0 || read > len(log) || read > 0 && log[read-1] != '\n' {
			t.Errorf("it read %d of %d bytes", read, len(log))
		}
		for address := range seen {
			if !address.IsValid() || address.Zone() != "" || address.Is4In6() {
				t.Errorf("the address %s", address)
			}
		}
	})
}
