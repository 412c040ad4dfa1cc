//go:build e2e && unix

// Package performance measures the built program from outside: the time, the
// memory and the processor that it takes. docs/performance.md holds what was
// found. Bounds are stated where they are measured, and break the benchmark.
package performance

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/test/fixture"
)

// BenchmarkStart is what a command costs that does nothing, and how large the program is. kubectl does the same in
// turns with it, where there is one.
func BenchmarkStart(b *testing.B) {
	const (
		rounds    = 15
		memory    = 1.25 // × kubectl's
		processor = 1.0  // × kubectl's
		size      = 78   // MB
	)
	binary := build(b)
	info := must.Get(os.Stat(binary))(b)
	megabytes := float64(info.Size()) / 1e6
	if megabytes > size {
		b.Errorf("the program has %.1f MB; the bound is %d", megabytes, size)
	}
	commands := map[string][]string{"version": {binary, "version"}, "help": {binary, "--help"}}
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		commands["kubectl"] = []string{kubectl, "version", "--client"}
	}
	all := map[string][]use{}
	for b.Loop() {
		for range rounds {
			for name, argv := range commands {
				all[name] = append(all[name], run(b, 0, argv...))
			}
		}
	}
	b.ReportMetric(megabytes, "MB-size")
	middle := func(name string, of func(use) float64) float64 {
		slices.SortFunc(all[name], func(x, y use) int { return cmp.Compare(of(x), of(y)) })
		return of(all[name][len(all[name])/2])
	}
	for name := range all {
		b.ReportMetric(middle(name, use.memory), name+"-MB")
		b.ReportMetric(middle(name, use.processor), name+"-cpu-ms")
	}
	if all["kubectl"] == nil {
		return
	}
	if factor := middle("version", use.memory) / middle("kubectl", use.memory); factor > memory {
		b.Errorf("version takes %.2f × the memory of kubectl; the bound is %.2f", factor, memory)
	}
	if factor := middle("version", use.processor) / middle("kubectl", use.processor); factor > processor {
		b.Errorf("version takes %.2f × the processor time of kubectl; the bound is %.2f", factor, processor)
	}
}

// BenchmarkSimulate installs the compact example on the simulator at the
// default speed.
func BenchmarkSimulate(b *testing.B) {
	const bound = 20 * time.Second
	binary := build(b)
	for b.Loop() {
		used := run(b, 0, binary, "create", "cluster", "-f", example("compact"), "--simulate", "--dir", b.TempDir(), "--progress", "json")
		b.ReportMetric(used.megabytes, "MB")
		if used.wall > bound {
			b.Errorf("the install takes %s; the bound is %s", used.wall, bound)
		}
	}
}

// BenchmarkWatch500 watches 500 machines that register and wait, in real time
// and with a look every five seconds. The simulator is another process.
func BenchmarkWatch500(b *testing.B) {
	const (
		hosts     = 500
		megabytes = 150
		core      = 0.10
		watched   = 9 * time.Minute // the machines take up to four to boot
		timedOut  = 8
	)
	binary := build(b)
	file := filepath.Join(b.TempDir(), "cluster.yaml")
	must.Do(b, os.WriteFile(file, []byte(crowd(b, hosts)), 0o600))
	for b.Loop() {
		address := serve(b, binary)
		start(b, binary, "simulator", "hosts", "--service-url", address, "--infra-env", "crowd", "--count", fmt.Sprint(hosts))
		// One machine more is wanted than there is, so that nothing is installed while they are watched.
		used := run(b, timedOut, binary, "create", "cluster", "-f", file, "--service-url", address, "--dir", b.TempDir(),
			"--progress", "json", "--poll-interval", "5s", "--timeout", watched.String())
		share := used.cpu.Seconds() / used.wall.Seconds()
		b.ReportMetric(used.megabytes, "MB")
		b.ReportMetric(100*share, "%core")
		if seen := bytes.Count(used.output, []byte(`"type":"host"`)); seen < hosts {
			b.Errorf("only %d events are about hosts: not all of them were watched", seen)
		}
		if used.megabytes > megabytes {
			b.Errorf("%.0f MB; the bound is %d", used.megabytes, megabytes)
		}
		if share > core {
			b.Errorf("%.0f %% of a core; the bound is %.0f %%", 100*share, 100*core)
		}
	}
}

// crowd is a cluster for any machines that boot its image.
func crowd(b *testing.B, hosts int) string {
	secret := must.Get(filepath.Abs(filepath.Join(filepath.Dir(example("compact")), "..", "shared", "pull-secret.json")))(b)
	return fmt.Sprintf(`apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: crowd}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {file: %q}
  topology: {controlPlane: 3, workers: %d}
  acceptUnknownHosts: true
  network:
    machine: [192.168.64.0/18]
    vips: {api: [192.168.127.250], ingress: [192.168.127.251]}
`, secret, hosts+1-3)
}

// use is what a process took.
type use struct {
	wall, cpu time.Duration
	megabytes float64
	output    []byte
}

func (u use) memory() float64    { return u.megabytes }
func (u use) processor() float64 { return float64(u.cpu) / float64(time.Millisecond) }

// run runs a program to its end, which has to be the given exit code.
func run(b *testing.B, code int, argv ...string) use {
	b.Helper()
	command := exec.CommandContext(b.Context(), argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	began := time.Now()
	err := command.Run()
	wall := time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || command.ProcessState.ExitCode() != code {
		b.Fatalf("%s: %v, not exit code %d\n%s", strings.Join(argv, " "), err, code, last(errs.String(), 30))
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("this system does not say what a process took")
	}
	kilobytes := float64(usage.Maxrss)
	if runtime.GOOS == "darwin" {
		kilobytes /= 1024 // it counts bytes
	}
	return use{
		wall: wall, cpu: command.ProcessState.UserTime() + command.ProcessState.SystemTime(),
		megabytes: kilobytes / 1024, output: append(out.Bytes(), errs.Bytes()...),
	}
}

// start runs a program until the benchmark ends.
func start(b *testing.B, argv ...string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), argv[0], argv[1:]...)
	must.Do(b, command.Start())
	b.Cleanup(func() { _ = command.Wait() }) // the context is done by now
}

// serve starts a simulated service at the speed of life.
func serve(b *testing.B, binary string) (address string) {
	b.Helper()
	at := fixture.Address(b)
	start(b, binary, "simulator", "serve", "--listen", at)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", at)
		if err == nil {
			_ = connection.Close()
			return "http://" + at
		}
		if time.Now().After(deadline) {
			b.Fatalf("the simulated service does not come up: %v", err)
		}
	}
}

func build(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "oaictl")
	command := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "../../cmd/oaictl")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("build oaictl: %v\n%s", err, out)
	}
	return binary
}

func example(name string) string { return filepath.Join("..", "..", "examples", name, "cluster.yaml") }

func last(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
