//go:build e2e

package kubetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// killedScratch makes a process of this test write where its management cluster has its folder, and then wait to be
// killed.
const killedScratch = "KUBETEST_KILLED_SCRATCH"

// TestKilledTestLeavesNoProcesses kills a test that has a management cluster, as a
// timeout or a person does.
func TestKilledTestLeavesNoProcesses(t *testing.T) {
	if file := os.Getenv(killedScratch); file != "" {
		c := StartManagement(t, ManagementConfig{})
		if err := os.WriteFile(file+".new", []byte(c.scratch.folder), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
		<-t.Context().Done()
	}
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it takes Linux, and a hub")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("the kernel ends a hub with its test only by setpriv:", err)
	}
	ctx, cancel := beforeDeadline(t)
	defer cancel()
	if _, err := Build(ctx, t.Output()); err != nil {
		giveUp(t, err)
	}
	file := filepath.Join(t.TempDir(), "scratch")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	child.Env = append(child.Environ(), killedScratch+"="+file, "TMPDIR="+t.TempDir())
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	waitForFile(t, file)
	folder, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := filepath.Glob(filepath.Join(string(folder), "*.pid"))
	if err != nil || len(pids) != 4 {
		t.Fatalf("it has the processes %v (%v)", pids, err)
	}
	for _, pid := range pids {
		if !alive(t, pid) {
			t.Errorf("%s does not run", pid)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		for deadline := time.Now().Add(30 * time.Second); alive(t, pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the process of %s still runs", pid)
			}
		}
	}
}

// alive reports whether a process runs whose id is in a file.
func alive(t *testing.T, file string) bool {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "status"))
	return err == nil && !bytes.Contains(status, []byte("State:\tZ")) // ended, and not waited for by its parent
}
