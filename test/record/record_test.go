//go:build e2e

// Package record records what the built oaictl asks of services and API servers, writes and prints, for whole installs
// and for what needs no service, and holds a later program against it. It sees the program from outside alone: its
// commands, its requests, and the audit logs of the API servers.
//
//	go test -tags e2e ./test/record -args -compare            runs everything once, and compares
//	go test -tags e2e ./test/record -args -runs DIR           runs everything once, and adds what it has seen to DIR
//	go test -tags e2e ./test/record -args -keep -runs DIR     writes testdata: what was equal in all runs of DIR
//	go test -tags e2e ./test/record -run 'TestRecordings/hub' -args …   a part of it
package record

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
)

var (
	compare = flag.Bool("compare", false, "run everything, and compare with testdata")
	runs    = flag.String("runs", "", "`DIR` of what single runs have seen")
	keep    = flag.Bool("keep", false, "write testdata from the runs")
	program = flag.String("oaictl", "", "`FILE` of the program that is recorded (default: built from the tree)")
)

// assets is the folder with the program and those of Kubernetes. Its API servers write an audit log.
var assets string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		if !*compare && *runs == "" || *keep {
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

// TestRecordings holds the program against what was recorded.
func TestRecordings(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			golden := filepath.Join("testdata", filepath.FromSlash(c.name)+".txt")
			if *keep {
				write(t, golden, common(t, c.name))
				return
			}
			if assets == "" {
				t.Skip("without -compare and -runs nothing is run")
			}
			t.Parallel()
			r := &recording{}
			c.run(t, r)
			if t.Failed() {
				return
			}
			if *runs != "" {
				dir := filepath.Join(*runs, filepath.FromSlash(c.name))
				there, err := filepath.Glob(filepath.Join(dir, "*.txt"))
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, fmt.Sprintf("%03d.txt", len(there))), r.text())
			}
			if *compare {
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				for _, difference := range differences(want, r.text()) {
					t.Error(difference)
				}
				if t.Failed() {
					seen := filepath.Join(os.TempDir(), "oaictl-recorded", filepath.FromSlash(c.name)+".txt")
					write(t, seen, r.text())
					t.Logf("what was seen is in %s", seen)
				}
			}
		})
	}
}

// common is what all runs of a case have, and what only some have.
func common(t *testing.T, name string) []byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(*runs, filepath.FromSlash(name), "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no runs (%v)", err)
	}
	var texts [][]byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	kept := merged(texts)
	t.Logf("%d runs: %d lines in all of them, of %d in the first", len(texts), bytes.Count(kept, []byte("\n"+always)), bytes.Count(texts[0], []byte("\n")))
	return kept
}

// How lines of testdata begin: those that each run has, and those that some have.
const (
	always    = "= "
	sometimes = "~ "
)

// isClosed reports whether a line is of a kind of which only those may be seen that were seen before: an object that is
// written, something that is read, an event. Of what was written, and printed, only what is always the same is kept.
func isClosed(line string) bool {
	kind, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"object", "read", "event"}, kind)
}

// merged is what several runs have seen, as testdata has it.
func merged(texts [][]byte) []byte {
	times := map[string]int{}
	for _, text := range texts {
		for line := range linesOf(text) {
			times[line]++
		}
	}
	var out bytes.Buffer
	for _, line := range slices.Sorted(maps.Keys(times)) {
		switch {
		case times[line] == len(texts):
			out.WriteString(always + line + "\n")
		case isClosed(line):
			out.WriteString(sometimes + line + "\n")
		}
	}
	return out.Bytes()
}

// differences are those between testdata and what a run has seen.
func differences(want, got []byte) (differences []string) {
	seen, known := linesOf(got), map[string]bool{}
	for line := range strings.Lines(string(want)) {
		line = strings.TrimSuffix(line, "\n")
		known[line[len(always):]] = true
		if missing, must := strings.CutPrefix(line, always); must && !seen[missing] {
			differences = append(differences, "gone: "+missing)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(seen)) {
		if isClosed(line) && !known[line] {
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
	// What plays the other side has another name, by which its requests are told apart.
	return os.Symlink(built, filepath.Join(dir, player))
}

// player is the name of the program where it plays what oaictl speaks to.
const player = "player"
