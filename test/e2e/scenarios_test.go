//go:build e2e

package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

var update = flag.Bool("update", false, "write testdata/scenarios anew")

// userTimeout is how long a person is waited for: in real time, in which an hour
// of the service passes.
const userTimeout = 12 * time.Second * slower

// ending is one way in which an install with trouble may end.
type ending struct {
	name     string // of the golden file
	scenario string
	example  string
	// within says that service and machines run inside of oaictl, so that its
	// own time passes as fast: for trouble of the wire that lasts minutes.
	within bool
	flags  []string
	// says are words that are printed in between.
	says []string
}

// endings are every scenario, some of them twice: for a person who acts in
// time, and for one who does not.
func endings() []ending {
	soon := []string{"--user-timeout", "20m"}
	return []ending{
		{name: "agent-stops", says: []string{"cp-1 is Disconnected"}},
		{name: "bmc-machine-runs", example: "redfish", within: true, flags: soon, says: []string{"cp-1: the machine is on, but it does not run", "configure the host cp-0", "configure the host cp-2"}},
		{name: "bmc-machine-runs-rebooted", scenario: "bmc-machine-runs", example: "redfish", within: true, flags: []string{"--reboot-running"}, says: []string{"switch off cp-1", "switch on cp-1"}},
		{name: "bmc-media-refused", example: "redfish", within: true, flags: soon, says: []string{"its BMC refuses the image", "configure the host cp-0", "configure the host cp-2"}},
		{name: "bmc-no-virtual-media", example: "redfish", within: true, flags: soon, says: []string{"cp-1: its BMC has no virtual CD drive", "configure the host cp-0", "configure the host cp-2"}},
		{name: "bmc-power-lies", example: "redfish", within: true, says: []string{"switch on cp-1", "reports that nothing has changed", "no longer in the way"}},
		{name: "bmc-session-limit", example: "redfish", within: true, says: []string{"switch on cp-1"}},
		{name: "bmc-unreachable", example: "redfish", within: true, flags: soon, says: []string{"cp-1: its BMC cannot be reached", "configure the host cp-0", "configure the host cp-2"}},
		{name: "bmc-wrong-credentials", example: "redfish", within: true, flags: soon, says: []string{"cp-1: its BMC refuses the user and the password", "configure the host cp-0", "configure the host cp-2"}},
		{name: "boots-iso-again", says: []string{"cluster is NeedsUser", "cp-1 should boot from its disk"}},
		{name: "boots-iso-for-good", scenario: "testdata/boots-iso-for-good.yaml", says: []string{"cluster is NeedsUser"}},
		{name: "control-plane-lost", says: []string{"cp-1 is Failed"}},
		{name: "disk-too-small", says: []string{"No eligible disks were found"}},
		{name: "dns-wildcard", says: []string{"DNS wildcard configuration was detected"}},
		{name: "duplicate-hostname", says: []string{"configure the host cp-1"}},
		{name: "host-never-boots", says: []string{"waiting for cp-1 to boot the discovery image"}},
		{name: "host-never-boots-timeout", scenario: "host-never-boots", within: true, flags: []string{"--timeout", "20m"}},
		{name: "image-pull-failure", says: []string{"start the installation", "cannot prepare the installation: cp-1: Failed to fetch container images"}},
		{name: "image-url-expires"},
		{name: "no-ntp", says: []string{"synchronize with any NTP server"}},
		{name: "operators-time-out", within: true, flags: []string{"--timeout", "12h", "--speed", fmt.Sprint(10 * processSpeed)}, says: []string{"cluster is Finalizing", "Waiting for cluster operators (console)"}},
		{name: "service-errors", within: true, says: []string{"the service does not answer", "the database is being restarted (500)", "the service answers again"}},
		{name: "service-garbage", within: true, says: []string{"the service does not answer", "the answer is a web page", "the service answers again"}},
		{name: "service-silent", within: true},
		{name: "slow-disk", says: []string{"start the installation", "disk speed measurement failed"}},
		{name: "unknown-host-appears", says: []string{"52:54:00:ba:dd:01", "the file does not name it"}},
		{name: "worker-lost", example: "ha-workers", says: []string{"worker-1 is Failed"}},
		{name: "wrong-network", says: []string{"belong to machine network"}},
	}
}

// TestScenarioEndings installs with every kind of trouble and holds the end to
// its word, exit code and next command.
func TestScenarioEndings(t *testing.T) {
	binary := build(t)
	files, err := filepath.Glob("../../examples/scenarios/*.yaml")
	if err != nil || len(files) < 18 {
		t.Fatalf("scenarios: %v (%v)", files, err)
	}
	covered := []string{"token-expires"} // needs a service that asks for tokens: see below
	for _, e := range endings() {
		if e.scenario == "" {
			e.scenario = e.name
		}
		if e.example == "" {
			e.example = "compact"
		}
		covered = append(covered, e.scenario)
		scenario := "../../examples/scenarios/" + e.scenario + ".yaml"
		if filepath.Ext(e.scenario) != "" {
			scenario = e.scenario
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir, file := t.TempDir(), "../../examples/"+e.example+"/cluster.yaml"
			arguments := []string{"create", "cluster", "-f", file, "--progress", "plain", "--dir", dir}
			if e.within {
				arguments = append(arguments, "--simulate", "--scenario", scenario, "--speed", fmt.Sprint(processSpeed))
			} else {
				address := serve(t, binary, "--scenario", scenario)
				start(t, binary, "simulator", "hosts", "--service-url", address, "-f", file, "--speed", fmt.Sprint(processSpeed), "--scenario", scenario)
				arguments = append(arguments, "--service-url", address, "--user-timeout", userTimeout.String(), "--timeout", "2m", "--poll-interval", "50ms")
			}
			command := exec.CommandContext(t.Context(), binary, append(arguments, e.flags...)...)
			ends(t, command, dir, e.name, e.says)
		})
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); !slices.Contains(covered, name) {
			t.Errorf("the scenario %s is not run", name)
		}
	}
}

// TestTokenExpires lets the token of a run expire: one that can be renewed is, and the run goes on; another ends the
// run as not authorised.
func TestTokenExpires(t *testing.T) {
	binary := build(t)
	for name, renewable := range map[string]bool{"token-expires": false, "token-expires-renewable": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens, dir := t.TempDir(), t.TempDir()
			file := "../../examples/compact/cluster.yaml"
			address := serve(t, binary, "--scenario", "../../examples/scenarios/token-expires.yaml", "--auth", "rhsso", "--token-dir", tokens)
			login := []string{
				"--offline-token-file", filepath.Join(tokens, "offline-token"),
				"--sso-url", address + "/auth/realms/redhat-external/protocol/openid-connect/token",
			}
			agent := filepath.Join(tokens, "agent") // what the example's pull secret says of cloud.openshift.com
			must.Do(t, os.WriteFile(agent, []byte("ZXhhbXBsZTpub3QtYS1yZWFsLXBhc3N3b3Jk"), 0o600))
			start(t, binary, append([]string{
				"simulator", "hosts", "--service-url", address, "-f", file, "--speed", fmt.Sprint(processSpeed), "--host-token-file", agent,
			}, login...)...)
			if !renewable {
				login = []string{"--token-file", filepath.Join(tokens, "token")}
			}
			command := exec.CommandContext(t.Context(), binary, append([]string{
				"create", "cluster", "-f", file, "--service-url", address, "--timeout", "2m", "--poll-interval", "50ms", "--progress", "plain", "--dir", dir,
			}, login...)...)
			ends(t, command, dir, name, nil)
		})
	}
}

// ends runs a command and holds how it ends to the golden file of a name.
func ends(t *testing.T, command *exec.Cmd, dir, name string, says []string) {
	t.Helper()
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	var said strings.Builder
	command.Stderr = &said
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := said.String()
	for _, words := range says {
		check.Contains(t, text, words, "a person is not told")
	}
	got := fmt.Sprintf("exit code %d\n%s", command.ProcessState.ExitCode(), scrub(lastWords(text), dir))
	golden := filepath.Join("testdata", "scenarios", name+".golden")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o600))
		return
	}
	want := must.Get(os.ReadFile(golden))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got\n%s\nall that was said:\n%s", diff, text)
	}
}

// lastWords are how a run ends: the lines after the last one about the install itself, which begins with the time.
func lastWords(text string) string {
	lines := strings.SplitAfter(text, "\n")
	clock := regexp.MustCompile(`^\d\d:\d\d:\d\d `)
	for i := len(lines) - 1; i >= 0; i-- {
		if clock.MatchString(lines[i]) {
			rest := lines[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0], " ") { // what to do about that line
				rest = rest[1:]
			}
			return strings.Join(rest, "")
		}
	}
	return text
}

// scrub takes out what differs from run to run.
func scrub(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "DIR")
	for _, change := range []struct{ pattern, with string }{
		{`[0-9a-f]{8}-[0-9a-f-]{27}`, "ID"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"},
		{`( )\d\d:\d\d:\d\d([, ]|$)`, " TIME$2"},
		{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000 UTC`, "TIME"},
		{`oaictl: (read|list|find) [A-Za-z ID-]+: Failed to parse token`, "oaictl: WHAT WAS READ THEN: Failed to parse token"}, // the token may expire before any request
		{`wwn-0x[0-9a-f]+`, "WWN"},
		{`(  Install took: +)\S+`, "${1}TIME"},
		{`/[^ ]*/(oaictl|e2e\.test)\b`, "oaictl"},
		{`/tmp/[^ ]*`, "FILE"},
		{`127\.0\.0\.1:\d+`, "SERVICE"},
	} {
		text = regexp.MustCompile(change.pattern).ReplaceAllString(text, change.with)
	}
	return text
}
