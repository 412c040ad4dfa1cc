//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// called runs the program under a name.
func called(t *testing.T, name string, args ...string) (code int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), call{name: name, args: args, out: &stdout, errors: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestNames(t *testing.T) {
	for name, test := range map[string]struct {
		name string
		args []string
		code int
		says string
	}{
		"nothing":                   {"oaictl-host", nil, 2, "Names:"},
		"help":                      {"oaictl-host", []string{"--help"}, 0, "assisted-installer-controller"},
		"version":                   {"oaictl-host", []string{"version"}, 0, "oaictl-host "},
		"unknown":                   {"oaictl-host", []string{"frobnicate"}, 2, `there is no program "frobnicate"`},
		"a link":                    {"agent", nil, 2, "--url is missing"},
		"the first argument":        {"oaictl-host", []string{"agent"}, 2, "--url is missing"},
		"next_step_runner":          {"next_step_runner", []string{"--help"}, 0, "Usage of next_step_runner"},
		"the installer":             {"assisted-installer", []string{"--frobnicate"}, 2, "frobnicate"},
		"the installer's help":      {"assisted-installer", []string{"--help"}, 0, "boot-device"},
		"the installer, wrong disk": {"assisted-installer", []string{"--boot-device", "x"}, 1, "boot-device"},
		"the log sender":            {"logs_sender", []string{"-url", "x", "more"}, 2, "Usage of logs_sender"},
		"the controller":            {"assisted-installer-controller", nil, 1, "CLUSTER_ID is not set"},
		"the controller's help":     {"assisted-installer-controller", []string{"--help"}, 0, "INVENTORY_URL"},
		"the disk's speed, help":    {"disk_speed_check", []string{"--help"}, 0, `{"path": "/dev/sda"}`},
		"free addresses, help":      {"free_addresses", []string{"-h"}, 0, "192.0.2.0/24"},
		"the disk's speed":          {"disk_speed_check", nil, 1, "argument"},
		"cp without a folder":       {"cp", []string{"/usr/bin/agent"}, 2, "and a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := called(t, test.name, test.args...)
			check.Equal(t, code, test.code)
			check.Contains(t, out+problems, test.says)
		})
	}
}

// TestCopy copies the program as the unit of a discovery image does.
func TestCopy(t *testing.T) {
	from := filepath.Join(t.TempDir(), "agent")
	must.Do(t, os.WriteFile(from, []byte("program"), 0o755))
	folder := t.TempDir()
	code, _, problems := called(t, "cp", from, folder)
	check.Equal(t, code, 0)
	check.Equal(t, problems, "")
	to := filepath.Join(folder, "agent")
	check.Equal(t, string(must.Get(os.ReadFile(to))(t)), "program")
	check.Equal(t, must.Get(os.Stat(to))(t).Mode().Perm(), 0o755)
	code, _, problems = called(t, "cp", from, "/usr/local/bin")
	check.Equal(t, code, 1)
	check.Contains(t, problems, guard.ErrTest.Error())
}

// TestTokenStaysHere: programs that are run do not get the token.
func TestTokenStaysHere(t *testing.T) {
	c := call{environ: []string{"PATH=/usr/bin", "PULL_SECRET_TOKEN=secret", "HTTPS_PROXY=http://proxy"}}
	check.Equal(t, c.env("PULL_SECRET_TOKEN"), "secret")
	if environ := c.host().Environ; slices.ContainsFunc(environ, func(line string) bool { return strings.Contains(line, "secret") }) || len(environ) != 2 {
		t.Errorf("programs get %q", environ)
	}
}
