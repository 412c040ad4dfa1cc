package live_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/live"
)

// provided is a config with a unit that is started, and the script that it runs.
func provided(t *testing.T, unit, script string) []byte {
	t.Helper()
	config, err := json.Marshal(map[string]any{
		"ignition": map[string]any{"version": "3.1.0"},
		"storage": map[string]any{"files": []any{
			map[string]any{"path": "/etc/hostname", "contents": map[string]any{"source": "data:,written%0A"}},
			map[string]any{"path": "/usr/local/bin/set-name", "contents": map[string]any{"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(script))}},
		}},
		"systemd": map[string]any{"units": []any{map[string]any{"name": "set-name.service", "enabled": true, "contents": unit}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestHostnameIn(t *testing.T) {
	metadata := map[string]string{"name": "bmh-1", "local-hostname": "host-1.example.com"}
	const runs = "[Service]\nType=oneshot\nExecStart=/bin/bash /usr/local/bin/set-name\n"
	for _, test := range []struct{ name, unit, script, want string }{
		{"a script that looks a variable up", runs,
			"ENV=\"METADATA_NAME\"\nNAME=$(grep \"^${ENV}=\" /etc/metadata_env | cut -d= -f2-)\n/usr/bin/hostnamectl set-hostname \"$NAME\"\n", "bmh-1"},
		{"a variable", "[Service]\nEnvironmentFile=/etc/metadata_env\nExecStart=/usr/bin/hostnamectl hostname ${METADATA_LOCAL_HOSTNAME}\n", "", "host-1.example.com"},
		{"a name", "[Service]\nExecStart=/usr/bin/hostnamectl --static set-hostname 'node-7'\n", "", "node-7"},
		{"a variable that is not there", "[Service]\nExecStart=/usr/bin/hostnamectl hostname $METADATA_ROLE\n", "", "written"},
		{"nothing about names", runs, "echo hello\n", "written"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := live.HostnameIn(metadata, provided(t, test.unit, test.script)); got != test.want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if got, err := live.HostnameIn(metadata, []byte(config)); got != "" || err != nil {
		t.Errorf("without any: %q, %v", got, err)
	}
	if _, err := live.HostnameIn(nil, fmt.Appendf(nil, `{"ignition": 7}`)); err == nil {
		t.Error("no config is read")
	}
}
