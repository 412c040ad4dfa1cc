package machine

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func TestAgrees(t *testing.T) {
	file := func(path, content string) string {
		return fmt.Sprintf(`{"path": %q, "contents": {"source": "data:text/plain;charset=utf-8;base64,%s"}}`, path, base64.StdEncoding.EncodeToString([]byte(content)))
	}
	config := func(files ...string) []byte {
		return []byte(`{"ignition": {"version": "3.1.0"}, "storage": {"files": [` + strings.Join(files, ",") + `]}}`)
	}
	known := config(
		file("/etc/assisted/network/host0/mac_interface.ini", "52:54:00:00:00:01=eth0\n52:54:00:00:00:02=eth1\n"),
		file("/etc/assisted/network/host1/mac_interface.ini", "52:54:00:00:00:03=eth0"),
		file("/etc/motd", "52:54:00:00:00:09=eth0"),
	)
	for _, tc := range []struct {
		name   string
		config []byte
		macs   map[string]string
		want   string // "" for agreement
	}{
		{"nothing static", known, nil, ""},
		{"known", known, map[string]string{"eth0": "52:54:00:00:00:01", "eth1": "52:54:00:00:00:02"}, ""},
		{"in capitals", known, map[string]string{"eth0": "52:54:00:00:00:0A"}, "eth0 (52:54:00:00:00:0a)"},
		{"another host's", known, map[string]string{"eth0": "52:54:00:00:00:03"}, ""},
		{"a MAC in a file that says nothing of networks", known, map[string]string{"eth0": "52:54:00:00:00:09"}, "knows no static network"},
		{"the service was told of none", config(), map[string]string{"eth0": "52:54:00:00:00:01"}, "create cluster --reimage"},
		{"no config", []byte("{"), map[string]string{"eth0": "52:54:00:00:00:01"}, "read the discovery Ignition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := agrees(tc.config, tc.macs)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("they do not agree: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("the error is %v, without %q", err, tc.want)
			}
		})
	}
}
