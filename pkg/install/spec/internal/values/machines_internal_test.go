package values

import "testing"

// TestController calls the same system the same, however it is written.
func TestController(t *testing.T) {
	for _, c := range []struct {
		address, system string
		want            Controller
	}{
		{"10.0.0.1", "", Controller{"https://10.0.0.1:443", ""}},
		{"https://10.0.0.1/", "", Controller{"https://10.0.0.1:443", ""}},
		{"redfish-virtualmedia+https://10.0.0.1:443/redfish/v1/Systems/1/", "", Controller{"https://10.0.0.1:443", "1"}},
		{"10.0.0.1", "1", Controller{"https://10.0.0.1:443", "1"}},
		{"10.0.0.1", "/redfish/v1/Systems/1", Controller{"https://10.0.0.1:443", "1"}},
		{"idrac-virtualmedia://BMC.example.com./redfish/v1/Systems/System.Embedded.1", "", Controller{"https://bmc.example.com:443", "System.Embedded.1"}},
		{"redfish+http://10.0.0.1:8000", "", Controller{"http://10.0.0.1:8000", ""}},
		{"http://10.0.0.1", "", Controller{"http://10.0.0.1:80", ""}},
		{"2001:DB8::0:1", "", Controller{"https://[2001:db8::1]:443", ""}},
		{"[2001:db8::1]:443", "", Controller{"https://[2001:db8::1]:443", ""}},
	} {
		if got := ControllerOf(c.address, c.system); got != c.want {
			t.Errorf("%s %s is %+v, not %+v", c.address, c.system, got, c.want)
		}
	}
}
