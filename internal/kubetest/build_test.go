//go:build e2e

package kubetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeGo stands in for the compiler: it hangs where a file says so, and cleans up
// when it is interrupted.
const fakeGo = `#!/bin/sh
trap 'echo cleaned >"$FAKE/cleaned"; exit 1' INT
case "$1" in
env) echo go1.0 ;;
list) case "$*" in *Dir*) echo "$FAKE/module" ;; *) echo v1.36.0 ;; esac ;;
build)
	while [ "$1" != -o ]; do shift; done
	echo half >"$2"
	if [ -e "$FAKE/hang" ]; then echo >"$FAKE/hangs"; while :; do sleep 0.05; done; fi
	echo "$3" >"$2"
	;;
esac
`

// TestInterruptedBuild cuts a build off and continues from there: nothing half finished may be used as a program, and
// nothing of it may stay.
func TestInterruptedBuild(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the compiler's stand-in is a shell script")
	}
	bin, fake, folder := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(fakeGo), 0o700); err != nil {
		t.Fatal(err)
	}
	hang := filepath.Join(fake, "hang")
	if err := os.WriteFile(hang, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join("core", "config", "crd", "bases", "machines.yaml")
	if err := os.MkdirAll(filepath.Join(fake, "module", filepath.Dir(manifest)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fake, "module", manifest), []byte("kind: CustomResourceDefinition\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE", fake)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	b := builder{module: t.TempDir(), log: t.Output()}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.build(ctx, folder) }()
	waitForFile(t, filepath.Join(fake, "hangs"))
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("cut off: %v", err)
	}
	if _, err := os.Stat(filepath.Join(fake, "cleaned")); err != nil {
		t.Errorf("the compiler was not let clean up: %v", err)
	}
	if complete(folder) {
		t.Error("what was cut off looks complete")
	}
	if err := os.Remove(hang); err != nil {
		t.Fatal(err)
	}
	// What a process that was killed has left behind.
	stale := filepath.Join(folder, apiServer+".1"+unfinished)
	if err := os.WriteFile(stale, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.build(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(programs())+1 || !complete(folder) {
		t.Errorf("%d programs and the manifests, and in their folder %v (%v)", len(programs()), files, err)
	}
	if _, err := os.Stat(filepath.Join(folder, coreManifests, "crd", "bases", "machines.yaml")); err != nil {
		t.Error(err)
	}
	for _, p := range programs() {
		content, err := os.ReadFile(filepath.Join(folder, p.name))
		if err != nil || strings.TrimSpace(string(content)) != p.pkg {
			t.Errorf("%s has %q, %v", p.name, content, err)
		}
	}
}

func waitForFile(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", name)
		}
	}
}
