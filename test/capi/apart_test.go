//go:build e2e

package capi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/pkg/capi"
	plane "github.com/oaictl/oaictl/pkg/install/rest"
)

// environmentApart is set for a process of this program that only runs the providers: so what they need of the machine
// is measured apart from what is played around them.
const environmentApart = "OAICTL_TEST_PROVIDERS"

// apartConfig is how they run there.
type apartConfig struct {
	Kubeconfig, Namespace, CertDir string
	Port                           int
	Service                        string // the URL of the service that they reach over REST; "" for a hub
	SyncPeriod                     time.Duration
	Follows                        bool          // the clock of the process that has started it
	Ahead                          time.Duration // of the machine's clock, which it uses otherwise
}

// program is a process that is measured.
type program struct {
	t       testing.TB
	command *exec.Cmd
	stderr  bytes.Buffer
}

// apart is such a process that runs the providers.
type apart struct {
	program

	in  io.WriteCloser
	out *bufio.Scanner

	mu sync.Mutex // of in
}

const (
	// tick is how often the time is sent to a process that follows the clock.
	tick = 20 * time.Millisecond
	// stopsWithin is how long such a process may take to end.
	stopsWithin = time.Minute
)

// startApart runs the providers as a process of their own, until it is stopped. It follows the rig's clock, or
// begins with the time that this shows.
func (r *rig) startApart(config apartConfig) *apart {
	r.t.Helper()
	if config.Kubeconfig == "" {
		config.Kubeconfig = r.Kubeconfig(r.t)
	}
	config.Namespace, config.CertDir, config.Port = r.namespace, r.webhooks.CertDir, r.webhooks.Port
	config.Ahead = r.clock.Now().Sub(clock.Real().Now())
	if r.overREST {
		config.Service = r.site.ServiceURL()
	}
	how := must.Get(json.Marshal(config))(r.t)
	self := must.Get(os.Executable())(r.t)
	p := &apart{program: program{t: r.t, command: exec.Command(self)}}                // which is stopped by the end of its input
	p.command.Env = append(os.Environ(), environmentApart+"="+string(how), "GOGC=30") // as in their Deployment
	p.command.Stderr = &p.stderr
	p.in = must.Get(p.command.StdinPipe())(r.t)
	out := must.Get(p.command.StdoutPipe())(r.t)
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 16<<20)
	must.Do(r.t, p.command.Start())
	ctx, end := context.WithCancel(r.t.Context())
	var ticking sync.WaitGroup
	if config.Follows {
		ticking.Go(func() {
			for clock.Real().Sleep(ctx, tick) == nil {
				p.say(strconv.FormatInt(r.clock.Now().UnixNano(), 10))
			}
		})
	}
	r.stop = sync.OnceFunc(func() {
		end()
		ticking.Wait()
		_ = p.in.Close()
		late := time.AfterFunc(stopsWithin, func() { _ = p.command.Process.Signal(syscall.SIGQUIT) }) // it says then where it stands
		defer late.Stop()
		if err := p.command.Wait(); err != nil {
			r.t.Errorf("the providers: %v\n%s", err, p.stderr.String())
		}
	})
	r.t.Cleanup(r.stop)
	p.take() // which it answers once its webhooks do
	return p
}

func (p *apart) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.in, line+"\n") // if a process has ended, the reason is reported when it is stopped
}

// account is what such a process has done.
type account struct {
	Writes     map[string]int // since it was last asked, by request, resource and name
	Reconciles int            // since it began
}

// take is what it has done.
func (p *apart) take() account {
	p.t.Helper()
	p.say("account")
	if !p.out.Scan() {
		p.t.Fatalf("the providers have ended: %v\n%s", p.out.Err(), p.stderr.String())
	}
	var done account
	must.Do(p.t, json.Unmarshal(p.out.Bytes(), &done))
	return done
}

// cpu is how much of the processor it has had.
func (p *program) cpu() time.Duration {
	p.t.Helper()
	fields := strings.Fields(p.proc("stat"))
	if len(fields) < 15 {
		p.t.Fatalf("what is %q", fields)
	}
	var ticks int64
	for _, text := range fields[13:15] { // of the user and of the kernel, in hundredths of a second
		n := must.Get(strconv.ParseInt(text, 10, 64))(p.t)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// kilobytes is what the kernel says of the memory of the process: VmHWM is the most that it has had, RssFile what it has
// of its program.
func (p *program) kilobytes(name string) int64 {
	p.t.Helper()
	for line := range strings.Lines(p.proc("status")) {
		if text, is := strings.CutPrefix(line, name+":"); is {
			return must.Get(strconv.ParseInt(strings.Fields(text)[0], 10, 64))(p.t)
		}
	}
	p.t.Fatalf("the kernel does not tell the %s of a process", name)
	return 0
}

func (p *program) proc(name string) string {
	p.t.Helper()
	data := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.command.Process.Pid, name)))(p.t)
	return string(data)
}

// runApart is what such a process does. It ends with its input.
func runApart(how string) error {
	var config apartConfig
	if err := json.Unmarshal([]byte(how), &config); err != nil {
		return err
	}
	connection, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return err
	}
	connection.QPS, connection.Burst = 100, 200 // as oaictl controller has them
	counted := &writes{count: map[string]int{}, named: true}
	connection.Wrap(counted.through)
	server := webhook.NewServer(webhook.Options{Port: config.Port, CertDir: config.CertDir})
	options := capi.Options{Namespace: config.Namespace, Clock: ahead{clock.Real(), config.Ahead}, Log: logr.Discard(), Webhooks: server, SyncPeriod: config.SyncPeriod, Release: management.Release, AllowEndpoints: loopback()}
	led := &follower{}
	if config.Follows {
		options.Clock = led
	}
	if config.Service != "" {
		if options.Service, err = plane.New(plane.Config{URL: config.Service, Clock: options.Clock}); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if at, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				led.set(time.Unix(0, at))
				continue
			}
			go func() { // the clock goes on
				for server.StartedChecker()(nil) != nil && clock.Real().Sleep(ctx, 100*time.Millisecond) == nil {
					continue
				}
				_ = json.NewEncoder(os.Stdout).Encode(account{Writes: counted.all(), Reconciles: reconciles()}) // on an error the parent is gone
			}()
		}
	}()
	if config.Follows {
		if err := led.wait(ctx); err != nil {
			return err
		}
	}
	return capi.Run(ctx, connection, options)
}

// reconciles is how many there were in this process.
func reconciles() (total int) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return 0
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			total += int(m.GetCounter().GetValue())
		}
	}
	return total
}

// ahead is a clock that is so far ahead of another one.
type ahead struct {
	clock.Clock

	by time.Duration
}

func (a ahead) Now() time.Time { return a.Clock.Now().Add(a.by) }

// follower is a clock that is set by another process.
type follower struct {
	mu        sync.Mutex
	now, last time.Time
	speed     float64 // how much faster than life it was lately
}

func (f *follower) set(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if real := time.Now(); !f.last.IsZero() {
		f.speed = 0.9*f.speed + 0.1*float64(now.Sub(f.now))/float64(real.Sub(f.last)+1)
		f.last = real
	} else {
		f.speed, f.last = speed, real
	}
	f.now = now
}

// wait waits until the clock was set once.
func (f *follower) wait(ctx context.Context) error {
	for f.Now().IsZero() {
		if err := clock.Real().Sleep(ctx, tick); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *follower) Wall(d time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(float64(d) / max(f.speed, 1))
}

func (f *follower) Sleep(ctx context.Context, d time.Duration) error {
	until := f.Now().Add(d)
	for {
		rest := until.Sub(f.Now())
		if rest <= 0 {
			return context.Cause(ctx)
		}
		if err := clock.Real().Sleep(ctx, max(f.Wall(rest), tick/2)); err != nil {
			return err
		}
	}
}
