//go:build e2e

// Package record records what the built oaictl requests from services and API servers, writes and prints, for whole
// installs and for what needs no service, and compares a later program with that. It sees the program from outside
// alone: its commands, its requests, and the audit logs of the API servers.
//
//	go test -tags e2e ./test/record -args -compare   runs everything once, and compares it with testdata
//	go test -tags e2e ./test/record -args -record    runs everything once, and merges it into testdata
//	go test -tags e2e ./test/record -run 'TestRecordings/hub' -args …   a part of it
//
// testdata keeps what was equal in all runs that were merged. The first line of each file says how many they were.
package record

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
)

var (
	compare = flag.Bool("compare", false, "run everything, and compare it with testdata")
	merge   = flag.Bool("record", false, "run everything, and merge it into testdata")
	program = flag.String("oaictl", "", "`FILE` of the program that is recorded (default: built from the tree)")
)

// assets is the folder with the program and those of Kubernetes. Its API servers write an audit log.
var assets string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		if !*compare && !*merge {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "oaictl-record-")
		if err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			assets, err = dir, prepare(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// recording is what one case has done: a line for each fact.
type recording struct {
	mu    sync.Mutex
	lines map[string]bool
}

func (r *recording) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.lines = map[string]bool{}
	}
	r.lines[fmt.Sprintf(format, args...)] = true
}

func (r *recording) text() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text bytes.Buffer
	for _, line := range slices.Sorted(maps.Keys(r.lines)) {
		text.WriteString(line + "\n")
	}
	return text.Bytes()
}

// recorded is one thing that is recorded.
type recorded struct {
	name string
	run  func(*testing.T, *recording)
}

func cases() []recorded {
	return slices.Concat(files(), installs(), troubles(), media(), providers())
}

// TestRecordings compares the program with what was recorded.
func TestRecordings(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if assets == "" {
				t.Skip("without -compare and -record nothing is run")
			}
			t.Parallel()
			r := &recording{}
			c.run(t, r)
			if t.Failed() {
				return
			}
			golden := filepath.Join("testdata", filepath.FromSlash(c.name)+".txt")
			kept, err := os.ReadFile(golden)
			if err != nil && !(*merge && errors.Is(err, fs.ErrNotExist)) {
				t.Fatal(err)
			}
			if *merge {
				write(t, golden, merged(kept, r.text()))
				return
			}
			for _, difference := range differences(kept, r.text()) {
				t.Error(difference)
			}
			if t.Failed() {
				seen := filepath.Join(os.TempDir(), "oaictl-recorded", filepath.FromSlash(c.name)+".txt")
				write(t, seen, r.text())
				t.Logf("what was seen is in %s", seen)
			}
		})
	}
}

// How lines of testdata begin: how many runs they are of, those that each run has, and those that some have.
const (
	runs      = "# runs: "
	always    = "= "
	sometimes = "~ "
)

// isClosed reports whether a line is of a kind for which only recorded lines may occur: an object that is written,
// something that is read, an event. Of what was written, and printed, only what is always the same is kept.
func isClosed(line string) bool {
	kind, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"object", "read", "event"}, kind)
}

// parsed is a file of testdata: the number of its runs, and of each line whether all of them have it.
func parsed(text []byte) (count int, lines map[string]bool) {
	lines = map[string]bool{}
	for line := range linesOf(text) {
		if number, ok := strings.CutPrefix(line, runs); ok {
			count, _ = strconv.Atoi(number)
		} else if len(line) >= len(always) {
			lines[line[len(always):]] = strings.HasPrefix(line, always)
		}
	}
	return count, lines
}

// merged is testdata with what one more run has seen.
func merged(kept, run []byte) []byte {
	count, lines := parsed(kept)
	seen := linesOf(run)
	for line := range seen {
		lines[line] = count == 0 || lines[line]
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s%d\n", runs, count+1)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		switch {
		case lines[line] && seen[line]:
			out.WriteString(always + line + "\n")
		case isClosed(line):
			out.WriteString(sometimes + line + "\n")
		}
	}
	return out.Bytes()
}

// differences are those between testdata and what a run has seen.
func differences(kept, run []byte) (differences []string) {
	_, lines := parsed(kept)
	seen := linesOf(run)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		if lines[line] && !seen[line] {
			differences = append(differences, "gone: "+line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(seen)) {
		if _, known := lines[line]; isClosed(line) && !known {
			differences = append(differences, "new: "+line)
		}
	}
	return differences
}

func linesOf(text []byte) map[string]bool {
	lines := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	return lines
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// auditPolicy has API servers note writes with what is written, and reads without.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- {level: None, resources: [{group: coordination.k8s.io, resources: [leases]}]}
- {level: Metadata, verbs: [get, list, watch]}
- {level: Request}
`

// auditFolder is the variable with the folder that a process's API servers write their audit logs to.
const auditFolder = "RECORD_AUDIT"

// prepare puts the program and those of Kubernetes into a folder.
func prepare(dir string) error {
	if err := kubetest.WriteAssets(context.Background(), dir, os.Stderr); err != nil {
		return err
	}
	server, policy := filepath.Join(dir, "kube-apiserver"), filepath.Join(dir, "policy.yaml")
	script := fmt.Sprintf("#!/bin/sh\nif [ -z \"$%s\" ]; then exec %s.real \"$@\"; fi\nexec %s.real \"$@\" --audit-policy-file=%s --audit-log-mode=blocking --audit-log-path=\"$%s/$$.log\"\n",
		auditFolder, server, server, policy, auditFolder)
	err := os.Rename(server, server+".real")
	if err == nil {
		err = os.WriteFile(server, []byte(script), 0o755)
	}
	if err == nil {
		err = os.WriteFile(policy, []byte(auditPolicy), 0o644)
	}
	if err != nil {
		return err
	}
	built := filepath.Join(dir, "oaictl")
	if *program != "" {
		data, err := os.ReadFile(*program)
		if err != nil {
			return err
		}
		err = os.WriteFile(built, data, 0o755)
		if err != nil {
			return err
		}
	} else if text, err := exec.Command("go", "build", "-o", built, "github.com/oaictl/oaictl/cmd/oaictl").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	// The program that plays the other side has another name, which distinguishes its requests.
	return os.Symlink(built, filepath.Join(dir, player))
}

// player is the name of the program where it plays what oaictl speaks to.
const player = "player"
