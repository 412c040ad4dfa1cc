package workloadclient

import (
	"strings"
	"testing"
)

// TestHostsBehindProxies refuses addresses that a proxy would dial, in each form that it may understand, and lets names pass.
func TestHostsBehindProxies(t *testing.T) {
	for host, says := range map[string]string{
		"127.0.0.1": "--allow-endpoint", "127.0.0.1.": "--allow-endpoint", "localhost": "--allow-endpoint", "a.LOCALHOST.": "--allow-endpoint",
		"::1": "--allow-endpoint", "::ffff:169.254.169.254": "--allow-endpoint", "64:ff9b:1:a9fe:a9:fe00::": "--allow-endpoint",
		"127.1": "not checked", "2130706433": "not checked", "0x7f000001": "not checked", "0X7F.1": "not checked", "0177.0.0.1": "not checked",
		"10.0.0.1": "", "fd00::1": "", "api.example.com": "", "host-1": "", "db1.example.com": "", "a.0xbeef-1": "",
	} {
		switch err := (Connector{}).checkHost(host); {
		case says == "" && err != nil, says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v", host, err)
		}
	}
}
