// Package app is what the groups of commands share: the flags of every command,
// connections to a service or hub, reading the file, finding what a command is about,
// and how results, errors and advice are written.
package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// App is what the commands of one run share. Its functions are the seams to
// the rest of the program; a test replaces them.
type App struct {
	IO       streams.Streams
	Env      streams.Env
	Identity identity
	Globals  Globals
	Clock    clock.Clock

	Connect        func(ctx context.Context, to ClientConfig) (install.Backend, error)
	warnedPlain    bool
	reportedLosses []string
	pipes          map[string][]byte // what was read of files that can be read only once
	closers        []func()
	asking         sync.Mutex // one question at a time
	hearing        sync.Mutex // of onSilence
	onSilence      func(Silence)
	typing         chan typed // the line that is awaited; nil for none
	reader         *bufio.Reader
	StartSimulator func(context.Context, simulator.Config) (Simulated, error)
}

// New makes what the commands of a run share.
func New(id identity, io streams.Streams, env streams.Env) *App {
	io.Err = streams.Locked(io.Err) // servers and hosts report from goroutines of their own
	return &App{IO: io, Env: env, Identity: id, Clock: clock.Real(), Connect: connect, StartSimulator: startSimulator}
}

func (a *App) specEnv() spec.Env {
	env := spec.OSEnv()
	env.LookupEnv = a.Env.Lookup
	env.Stdin = a.IO.In
	return env
}

// programName is what the program is called where it is no plugin.
const programName = "oaictl"

// MediaName is what the units of agent-based media call their client.
const MediaName = "agent-installer-client"

var mediaSteps = map[string]string{
	"register-cluster": "registerCluster", "register-infraenv": "registerInfraEnv", "configure-hosts": "configure",
	"import-cluster": "importCluster",
}

// MediaStep is what the units of media call a step, "" where they do not have it.
func MediaStep(use string) string { return mediaSteps[use] }

// identity is what the program was called as. The one binary answers to five names: as a plugin of kubectl it uses a
// hub by default, as kubectl's completion helper it completes, as a plugin of clusterctl it is the same tree, and as
// the client of agent-based media it has their steps only.
type identity struct {
	Name    string   // how a person calls it: "kubectl oai"
	Backend string   // the default of --backend
	Args    []string // the arguments, without the name
}

// Identify says what the program was called as.
func Identify(argv []string) identity {
	if len(argv) == 0 {
		return identity{Name: programName, Backend: BackendREST}
	}
	called := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	id := identity{Name: programName, Backend: BackendREST, Args: argv[1:]}
	switch called {
	case "kubectl-oai":
		id.Name, id.Backend = "kubectl oai", BackendHub
	case "kubectl_complete-oai":
		id.Name, id.Backend = "kubectl oai", BackendHub
		id.Args = append([]string{"__complete"}, id.Args...)
	case "clusterctl-oai":
		id.Name = "clusterctl oai"
	case MediaName:
		id.Name = MediaName
	}
	return id
}

// InOwnWords has the examples of command, and of those below it, speak as the
// program was called. A plugin of kubectl reaches a hub, and no service by URL.
func (id identity) InOwnWords(command *cobra.Command) {
	if id.Name == programName {
		return
	}
	var lines []string
	for line := range strings.Lines(command.Example) {
		line = strings.Replace(strings.TrimRight(line, "\n"), "  "+programName+" ", "  "+id.Name+" ", 1)
		if id.Backend == BackendHub && strings.Contains(line, " --simulate") {
			continue // which is a service, and no hub
		}
		if id.Backend == BackendHub {
			line = strings.NewReplacer(" --service-url https://assisted.example.com", "", " --backend hub", "").Replace(line)
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	command.Example = strings.Join(lines, "\n")
	for _, sub := range command.Commands() {
		id.InOwnWords(sub)
	}
}

// CommandLine is how this command was called, for a shell.
func (a *App) CommandLine() string { return a.CommandLineWithout("") }

// CommandLineWithout is this command without one of its flags.
func (a *App) CommandLineWithout(flag string) string {
	words := []string{a.Identity.Name}
	for _, arg := range a.Identity.Args {
		if arg != flag {
			words = append(words, listtext.Quoted(arg))
		}
	}
	return strings.Join(words, " ")
}

type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuildInfo reads the version and the commit that the linker noted.
func ReadBuildInfo() buildInfo {
	info := buildInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.Version = build.Main.Version
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Date = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	return info
}

func (b buildInfo) String() string {
	text := "oaictl " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (%.12s", b.Commit)
		if b.Date != "" {
			text += ", " + b.Date
		}
		text += ")"
	}
	return text + fmt.Sprintf(" %s %s", b.Go, b.Platform)
}

// WithSignals is ctx, ended by the first SIGINT or SIGTERM. A second one
// leaves the process at once through exit. stop gives the signals back.
func WithSignals(ctx context.Context, exit func(code int)) (signals context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	arrived := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	go func() {
		for again := false; ; again = true {
			select {
			case sig := <-arrived:
				by := interruptBy(sig)
				if again {
					exit(int(by.Code))
				}
				cancel(by)
			case <-done:
				return
			}
		}
	}()
	var once sync.Once
	return ctx, func() {
		once.Do(func() {
			signal.Stop(arrived)
			close(done)
			cancel(nil)
		})
	}
}

func interruptBy(sig os.Signal) *install.Interrupt {
	if sig == syscall.SIGTERM {
		return &install.Interrupt{Signal: "terminated", Code: model.CodeTerminated}
	}
	return &install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted}
}

// InterruptOf is the signal by which ctx ended, nil if it did not end by one.
func InterruptOf(ctx context.Context) *install.Interrupt {
	if ctx.Err() == nil {
		return nil
	}
	by, _ := errors.AsType[*install.Interrupt](context.Cause(ctx))
	return by
}

// UntilDone ends reads when ctx ends: a prompt or a pipe must not hold up an interrupt.
func UntilDone(ctx context.Context, r io.Reader) io.Reader {
	if r == nil {
		return nil
	}
	return &endingReader{ctx: ctx, from: r}
}

type endingReader struct {
	ctx  context.Context
	from io.Reader
}

func (r *endingReader) Read(into []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	own := make([]byte, len(into)) // into is the caller's again once Read returns
	n, err := Interruptible(r.ctx, func() (int, error) { return r.from.Read(own) })
	return copy(into, own[:n]), err
}

// Interruptible does what takes no context, such as the opening of a pipe or the parsing of a large
// file. When ctx ends first, its cause is the error, and do goes on until the process ends.
func Interruptible[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	arrived := make(chan result, 1)
	go func() {
		value, err := do()
		arrived <- result{value, err}
	}()
	select {
	case got := <-arrived:
		return got.value, got.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Stopped is the end of what runs until it is stopped: nothing has to be taken up again.
func Stopped(ctx context.Context, op string, err error) error {
	if by := InterruptOf(ctx); by != nil {
		return &model.Fault{Code: by.Code, Op: op, Err: by}
	}
	return err
}
