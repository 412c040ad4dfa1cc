package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const docsConfig = `{
  "ignition": {"version": "3.4.0"},
  "passwd": {"users": [{"name": "core", "passwordHash": "$y$j9T$8O2yRyrqF1u0$0N3nJ0v8m"}]},
  "storage": {"files": [{"path": "/etc/motd.d/site", "mode": 420, "contents": {"source": "data:,rack%207%0A"}}]}
}
`

const docsNetwork = `interfaces:
- name: eno1
  type: ethernet
  state: up
  ipv4:
    enabled: true
    address: [{ip: 192.0.2.10, prefix-length: 24}]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}
dns-resolver:
  config: {server: [192.0.2.1]}
`

// TestMediaDocs runs the commands of docs/media.md that need no service, and compares what they print with what the
// page shows.
func TestMediaDocs(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/media.md"))(t)
	t.Chdir(t.TempDir())
	live := must.Get(filepath.Abs("rhcos-live.iso"))(t)
	must.Do(t, makeFixture("x86_64-2023-07", live))
	for name, text := range map[string]string{"cp-0.ign": docsConfig, "motd.ign": strings.Replace(docsConfig, "420", "644", 1), "cp-0.yaml": docsNetwork} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for _, session := range strings.Split("\n"+strings.ReplaceAll(block[1], "\\\n", ""), "\n$ ")[1:] {
			command, want, _ := strings.Cut(session, "\n")
			if !strings.HasPrefix(command, "oaictl iso ") || strings.HasPrefix(command, "oaictl iso serve") {
				continue
			}
			if ran++; strings.Contains(command, "bad.iso") {
				damage(t, "cp-0.iso", "bad.iso")
			}
			if got := typed(t, command); strings.TrimSuffix(want, "\n") != strings.TrimSuffix(got, "\n") {
				t.Errorf("%s (-shown +printed):\n%s", command, cmp.Diff(want, got))
			}
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were found", ran)
	}
	extracts(t, string(page))
}

// extracts runs the commands of the page's table, which print files or their content.
func extracts(t *testing.T, page string) {
	t.Helper()
	rows := regexp.MustCompile("(?m)^\\| `(oaictl iso extract [^`]*)` \\|").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		command := strings.Replace(row[1], "URL", "http://192.0.2.1/rootfs.img", 1)
		var out, problems bytes.Buffer
		a := app.New(app.Identify(strings.Fields(command)), streams.Streams{Out: &out, Err: &problems}, streams.Env{})
		if code := execute(t.Context(), a); code != 0 && !strings.Contains(problems.String(), "--force") || out.Len() == 0 && code == 0 {
			t.Errorf("%s ends with %d:\n%s", command, code, problems.String())
		}
	}
	if len(rows) != 5 {
		t.Errorf("%d commands were found", len(rows))
	}
}

// typed is what a terminal shows of a command.
func typed(t *testing.T, command string) string {
	t.Helper()
	var shown bytes.Buffer
	a := app.New(app.Identify(strings.Fields(command)), streams.Streams{Out: &shown, Err: &shown}, streams.Env{})
	execute(t.Context(), a)
	return shown.String()
}

// damage copies an image with some bytes of its root filesystem changed.
func damage(t *testing.T, from, to string) {
	t.Helper()
	data := must.Get(os.ReadFile(from))(t)
	copy(data[600_000:], "not what was built")
	must.Do(t, os.WriteFile(to, data, 0o600))
}
