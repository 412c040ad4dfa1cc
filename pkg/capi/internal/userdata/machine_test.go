//go:build e2e

package userdata_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"
)

// machine is a directory in the place of a machine's root file system, on which the units of
// an Ignition config are started in their order, with commands of the system replaced.
type machine struct {
	t      *testing.T
	root   string
	fake   string // what the replaced commands read and write
	bin    string
	units  map[string]unit
	ran    []string // units, in order
	failed []string
	output bytes.Buffer
	// kubelet and agent are what the kubelet and the agent saw when they started.
	kubelet, agent started
}

type started struct {
	hostname string
	env      map[string]string
}

// commands are replaced by scripts. FAKE is the directory with their state.
func commands() map[string]string {
	return map[string]string{
		"hostnamectl": `[[ $# == 2 && $1 == set-hostname ]] && printf %s "$2" >"$FAKE/hostname"`,
		"uname":       `[[ $1 == -n ]] && cat "$FAKE/hostname"`,
		"udevadm":     `[[ $1 == settle ]]`,
		"mount":       `[[ -d $FAKE/drive ]] && cp -r "$FAKE/drive/." "${@: -1}" && echo "$*" >"$FAKE/mounted"`,
		"umount":      `rm -rf "$1"/* "$FAKE/mounted"`,
		"sleep":       `echo "$1" >>"$FAKE/slept"`,
		// The API answers once it was asked as often as the file says, and lists the node
		// from the next time on.
		"kubectl": `echo "$*" >>"$FAKE/kubectl"
			[[ $* == *" get "* ]] || exit 0
			left=$(cat "$FAKE/api" 2>/dev/null || echo 0)
			if ((left > 0)); then echo $((left - 1)) >"$FAKE/api"; echo "connection refused" >&2; exit 1; fi`,
	}
}

// newMachine is a machine called localhost; drive is the meta_data.json of its config drive,
// or empty if it has none.
func newMachine(t *testing.T, drive string) *machine {
	t.Helper()
	need(t, "bash", "jq")
	dir := t.TempDir()
	m := &machine{
		t: t, root: filepath.Join(dir, "root"), fake: filepath.Join(dir, "fake"), bin: filepath.Join(dir, "bin"),
		units: map[string]unit{},
	}
	for name, script := range commands() {
		m.write(filepath.Join(m.bin, name), "#!/usr/bin/env bash\n"+script+"\n", 0o700)
	}
	m.write(filepath.Join(m.fake, "hostname"), "localhost", 0o600)
	for _, dir := range []string{"tmp", "run", "var/lib", "etc/kubernetes"} {
		if err := os.MkdirAll(filepath.Join(m.root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.drive(drive)
	return m
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

func (m *machine) write(path, content string, mode fs.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		m.t.Fatal(err)
	}
}

// drive puts a config drive into the machine, in place of the one that it has.
func (m *machine) drive(metadata string) {
	m.t.Helper()
	device := filepath.Join(m.root, "dev/disk/by-label/config-2")
	if err := errors.Join(os.RemoveAll(device), os.RemoveAll(filepath.Join(m.fake, "drive"))); err != nil {
		m.t.Fatal(err)
	}
	if metadata != "" {
		m.write(device, "", 0o600)
		m.write(filepath.Join(m.fake, "drive/openstack/latest/meta_data.json"), metadata, 0o600)
	}
}

// apply does what Ignition does with a config.
func (m *machine) apply(ignition []byte) {
	m.t.Helper()
	var config types.Config
	if err := json.Unmarshal(ignition, &config); err != nil {
		m.t.Fatal(err)
	}
	for _, f := range config.Storage.Files {
		content, err := dataurl.DecodeString(*f.Contents.Source)
		if err != nil {
			m.t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if f.Mode != nil {
			mode = fs.FileMode(*f.Mode)
		}
		m.write(filepath.Join(m.root, f.Path), string(content.Data), mode)
	}
	dir := filepath.Join(m.root, "etc/systemd/system")
	for _, u := range config.Systemd.Units {
		read := unit{}
		if u.Contents != nil {
			m.write(filepath.Join(dir, u.Name), *u.Contents, 0o600)
			read.read(*u.Contents)
		}
		for _, d := range u.Dropins {
			m.write(filepath.Join(dir, u.Name+".d", d.Name), *d.Contents, 0o600)
			read.read(*d.Contents)
		}
		m.units[u.Name] = read
	}
	for _, name := range []string{"agent.service", "kubelet.service", "node-valid-hostname.service"} {
		if m.units[name] == nil {
			m.units[name] = unit{}
		}
	}
}

// boot starts all units once, each after those that it comes after.
func (m *machine) boot() {
	m.t.Helper()
	m.ran, m.failed = nil, nil
	if err := os.RemoveAll(filepath.Join(m.root, "run")); err != nil {
		m.t.Fatal(err)
	}
	waiting := slices.Sorted(maps.Keys(m.units))
	for len(waiting) > 0 {
		next := slices.IndexFunc(waiting, func(name string) bool {
			return !slices.ContainsFunc(waiting, func(other string) bool { return m.after(name, other) })
		})
		if next < 0 {
			m.t.Fatalf("the units wait for each other: %v", waiting)
		}
		m.start(waiting[next])
		waiting = slices.Delete(waiting, next, next+1)
	}
	if _, err := os.Stat(filepath.Join(m.fake, "mounted")); err == nil {
		m.t.Error("the config drive is still mounted")
	}
}

func (m *machine) after(name, other string) bool {
	return name != other && (slices.Contains(m.units[name].words("After"), other) || slices.Contains(m.units[other].words("Before"), name))
}

func (m *machine) start(name string) {
	m.t.Helper()
	u := m.units[name]
	env := m.environment(u)
	switch name {
	case "kubelet.service":
		m.kubelet = started{m.hostname(), env}
	case "agent.service":
		m.agent = started{m.hostname(), env}
	}
	for _, path := range u["ConditionPathExists"] {
		path, not := strings.CutPrefix(path, "!")
		if _, err := os.Stat(filepath.Join(m.root, path)); (err == nil) == not {
			return
		}
	}
	m.ran = append(m.ran, name)
	for _, key := range []string{"ExecStartPre", "ExecStart", "ExecStartPost"} {
		for _, line := range u[key] {
			if err := m.run(env, strings.Fields(line)...); err != nil {
				fmt.Fprintf(&m.output, "%s: %s: %v\n", name, line, err)
				m.failed = append(m.failed, name)
				return
			}
		}
	}
}

// environment is what a unit's processes find in their environment.
func (m *machine) environment(u unit) map[string]string {
	m.t.Helper()
	env := map[string]string{}
	for _, pair := range u.words("Environment") {
		key, value, _ := strings.Cut(pair, "=")
		env[key] = value
	}
	for _, name := range u["EnvironmentFile"] {
		name, optional := strings.CutPrefix(name, "-")
		content, err := os.ReadFile(filepath.Join(m.root, name))
		if err != nil && !optional {
			m.t.Fatal(err)
		}
		maps.Copy(env, environmentFile(m.t, string(content)))
	}
	return env
}

// run executes a command as a unit does.
func (m *machine) run(env map[string]string, command ...string) error {
	name := command[0]
	args := slices.Clone(command[1:])
	switch {
	case filepath.Base(name) == "oaictl-machine":
		args = append([]string{"--root", m.root}, args...)
	default:
		for i, arg := range args {
			if strings.HasPrefix(arg, "/") {
				args[i] = filepath.Join(m.root, arg)
			}
		}
	}
	if strings.HasPrefix(name, "/usr/local/") {
		name = filepath.Join(m.root, name)
	}
	c := exec.Command(name, args...)
	c.Env = []string{"PATH=" + m.bin + ":/usr/bin:/bin", "FAKE=" + m.fake, "TMPDIR=" + filepath.Join(m.root, "tmp")}
	for key, value := range env {
		c.Env = append(c.Env, key+"="+value)
	}
	c.Dir, c.Stdout, c.Stderr = m.root, &m.output, &m.output
	return c.Run()
}

func (m *machine) hostname() string { return m.read(filepath.Join(m.fake, "hostname")) }

// read is the content of a file, empty where there is none.
func (m *machine) read(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(content)
}

// metadata is /etc/metadata_env as systemd reads it.
func (m *machine) metadata() map[string]string {
	m.t.Helper()
	return environmentFile(m.t, m.read(filepath.Join(m.root, "etc/metadata_env")))
}

// healthy reports what went wrong with the units.
func (m *machine) healthy() {
	m.t.Helper()
	if len(m.failed) > 0 {
		m.t.Errorf("these units failed: %v\n%s", m.failed, m.output.String())
	}
}

// unit holds the values of the keys of a unit, of all its sections.
type unit map[string][]string

func (u unit) read(contents string) {
	for line := range strings.SplitSeq(contents, "\n") {
		if key, value, is := strings.Cut(line, "="); is {
			u[key] = append(u[key], value)
		}
	}
}

func (u unit) words(key string) []string { return strings.Fields(strings.Join(u[key], " ")) }

// environmentFile reads one by the rules of systemd.exec(5) and systemd's source, as far as files with one variable a
// line need them: within double quotes a backslash escapes some characters, which are taken as they are; before any
// other character it is a plain backslash.
func environmentFile(t *testing.T, content string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(content) {
		key, value, is := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !is {
			t.Fatalf("a line of the environment file sets nothing: %q", line)
		}
		if quoted, is := strings.CutPrefix(value, `"`); is {
			var ended bool
			if value, ended = unquote(quoted); !ended {
				t.Fatalf("a line of the environment file has no end: %q", line)
			}
		} else if strings.ContainsAny(value, "\"'\\ \t") {
			t.Fatalf("a line of the environment file is not plain: %q", line)
		}
		env[key] = value
	}
	return env
}

func unquote(quoted string) (value string, ended bool) {
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '"':
			return b.String(), i == len(quoted)-1
		case c == '\\' && i+1 < len(quoted) && strings.ContainsRune("\"\\`$", rune(quoted[i+1])):
			i++
			b.WriteByte(quoted[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
