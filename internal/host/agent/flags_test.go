//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestFlags(t *testing.T) {
	unit := []string{"--url", "https://assisted.example.com", "--infra-env-id", string(infraEnvID), "--agent-version", ownImage, "--insecure=true", "--cacert", "/etc/ca.pem"}
	base := Options{
		URL: "https://assisted.example.com", InfraEnv: infraEnvID, Version: ownImage, Insecure: true, CACertFile: "/etc/ca.pem",
		Interval: time.Minute, Token: token, Logging: Logging{Journal: true},
	}
	dry := base
	dry.Dry = Dry{Enabled: true, HostID: hostID, MAC: "52:54:00:00:00:01", Hostname: "a", IPv4: "192.0.2.9/24", RebootMarker: "/tmp/m"}
	overridden := dry
	overridden.Dry.Hostname, overridden.Dry.Enabled = "b", false
	runner := base
	runner.HostID, runner.Interval, runner.Logging = hostID, 5*time.Second, Logging{Text: true, Stdout: true}
	dryEnv := map[string]string{
		"PULL_SECRET_TOKEN": token, "DRY_ENABLE": "true", "DRY_HOST_ID": string(hostID), "DRY_FORCED_MAC_ADDRESS": "52:54:00:00:00:01",
		"DRY_FORCED_HOSTNAME": "a", "DRY_FORCED_HOST_IPV4": "192.0.2.9/24", "DRY_FAKE_REBOOT_MARKER_PATH": "/tmp/m",
	}
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		want Options
	}{
		"the agent finds out the id of its host": {append(unit[:len(unit):len(unit)], "--host-id", string(hostID)), map[string]string{"PULL_SECRET_TOKEN": token}, base},
		"the unit's":                             {unit, map[string]string{"PULL_SECRET_TOKEN": token}, base},
		"dry environment":                        {unit, dryEnv, dry},
		"flags go first":                         {append(unit, "-dry-run=false", "-force-hostname", "b"), dryEnv, overridden},
		"next_step_runner":                       {append(unit[:len(unit):len(unit)], "--host-id", string(hostID), "--interval=5", "--with-journal-logging=false", "--with-text-logging", "--with-stdout-logging"), map[string]string{"PULL_SECRET_TOKEN": token}, runner},
	} {
		t.Run(name, func(t *testing.T) {
			var printed bytes.Buffer
			program := agentName
			if name == "next_step_runner" {
				program = name
			}
			got := must.Get(ParseFlags(program, test.args, environment(test.env), &printed))(t)
			check.Equal(t, got, test.want)
			check.Equal(t, printed.String(), "")
		})
	}
}

func TestWrongFlags(t *testing.T) {
	valid := []string{"--url", "https://assisted.example.com", "--infra-env-id", string(infraEnvID)}
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"unknown":       {append(valid, "--frobnicate"), nil, "frobnicate"},
		"no URL":        {valid[2:], nil, "--url is missing"},
		"no InfraEnv":   {valid[:2], nil, "--infra-env-id is missing"},
		"InfraEnv":      {append(valid[:2:2], "--infra-env-id", "a/b"), nil, "must be a UUID"},
		"host":          {append(valid, "--host-id", "x"), nil, "must be a UUID"},
		"interval":      {append(valid, "--interval", "0"), nil, "at least 1"},
		"interval text": {append(valid, "--interval", "often"), nil, "invalid value"},
		"argument":      {append(valid, "more"), nil, "unexpected argument"},
		"dry":           {append(valid, "--dry-run"), nil, "--force-id"},
		"environment":   {valid, map[string]string{"DRY_ENABLE": "perhaps"}, "DRY_ENABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			var printed bytes.Buffer
			_, err := ParseFlags("agent", test.args, environment(test.env), &printed)
			check.Says(t, err, test.want)
			check.Equal(t, ExitCode(err), 2)
			check.Contains(t, printed.String(), "Usage of agent")
			check.Contains(t, printed.String(), test.want)
		})
	}
	var printed bytes.Buffer
	for _, help := range []string{"-help", "--help", "-h", "--help=true"} {
		_, err := ParseFlags("agent", []string{help}, environment(nil), &printed)
		if !errors.Is(err, flag.ErrHelp) || ExitCode(err) != 0 {
			t.Errorf("%s: %v", help, err)
		}
	}
	check.Equal(t, ExitCode(errors.New("x")), 1)
	check.Equal(t, ExitCode(context.Canceled), 0)
	if strings.Contains(printed.String(), token) {
		t.Error("the usage has the token")
	}
}
