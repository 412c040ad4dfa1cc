//go:build e2e && linux

package performance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// BenchmarkHostAgent registers this machine with a simulated service and does the steps of a host that is discovered. All of
// them only look at the machine.
func BenchmarkHostAgent(b *testing.B) {
	const (
		megabytes = 35
		watched   = time.Minute
	)
	address := serve(b, build(b))
	agent := filepath.Join(b.TempDir(), "agent")
	command := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", agent, "../../cmd/oaictl-host")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("build oaictl-host: %v\n%s", err, out)
	}
	secret := string(must.Get(os.ReadFile(filepath.Join(filepath.Dir(example("compact")), "..", "shared", "pull-secret.json")))(b))
	service := caller{address}
	var cluster, infraEnv struct{ ID string }
	must.Do(b, service.do(b.Context(), "POST", "/v2/clusters", map[string]any{
		"name": "agent", "openshift_version": "4.20", "base_dns_domain": "example.com", "pull_secret": secret, "control_plane_count": 1,
	}, &cluster))
	must.Do(b, service.do(b.Context(), "POST", "/v2/infra-envs", map[string]any{
		"name": "agent", "openshift_version": "4.20", "pull_secret": secret, "cluster_id": cluster.ID,
	}, &infraEnv))
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), watched)
		run := exec.CommandContext(ctx, agent, "--url", address, "--infra-env-id", infraEnv.ID,
			"--agent-version", "quay.io/edge-infrastructure/assisted-installer-agent:latest")
		run.Cancel = func() error { return run.Process.Signal(syscall.SIGTERM) }
		out, err := run.CombinedOutput()
		cancel()
		usage, is := run.ProcessState.SysUsage().(*syscall.Rusage)
		if !is || run.ProcessState.ExitCode() != 0 {
			b.Fatalf("the agent ended: %v\n%s", err, last(string(out), 30))
		}
		took := float64(usage.Maxrss) / 1024
		b.ReportMetric(took, "MB")
		b.ReportMetric(100*(run.ProcessState.UserTime()+run.ProcessState.SystemTime()).Seconds()/watched.Seconds(), "%core")
		if took > megabytes {
			b.Errorf("%.0f MB; the bound is %d", took, megabytes)
		}
	}
}
