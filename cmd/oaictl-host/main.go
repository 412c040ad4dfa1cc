//go:build linux

// Command oaictl-host runs on the machines that become nodes: as agent and installer on the live system of an installation
// medium, and as controller in the new cluster. The name by which it is called says which of these it is.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// tokenVariable has the token for the service. Programs that are run do not get it.
const tokenVariable = "PULL_SECRET_TOKEN"

const exitUsage = 2

// call is one run of a program.
type call struct {
	name        string // by which it was called
	args        []string
	environ     []string
	out, errors io.Writer
}

// programs are what oaictl-host is, by the names of the originals.
func programs() map[string]func(context.Context, call) int {
	return map[string]func(context.Context, call) int{
		"agent":                         runAgent,
		"next_step_runner":              runAgent,
		"inventory":                     runInventory,
		"free_addresses":                runFreeAddresses,
		"disk_speed_check":              runDiskSpeed,
		"logs_sender":                   runLogs,
		"assisted-installer":            runInstaller,
		"assisted-installer-controller": runController,
		"cp":                            runCopy,
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, call{name: filepath.Base(os.Args[0]), args: os.Args[1:], environ: os.Environ(), out: os.Stdout, errors: os.Stderr})
	stop()
	os.Exit(code)
}

func run(ctx context.Context, c call) int {
	if program, found := programs()[c.name]; found {
		return program(ctx, c)
	}
	if len(c.args) == 0 {
		usage(c.errors)
		return exitUsage
	}
	switch name := c.args[0]; name {
	case "help", "--help", "-h":
		usage(c.out)
		return 0
	case "version", "--version":
		fmt.Fprintln(c.out, version())
		return 0
	default:
		program, found := programs()[name]
		if !found {
			fmt.Fprintf(c.errors, "oaictl-host: there is no program %q\n\n", name)
			usage(c.errors)
			return exitUsage
		}
		c.name, c.args = name, c.args[1:]
		return program(ctx, c)
	}
}

func usage(w io.Writer) {
	fmt.Fprintf(w, `oaictl-host runs on the machines of a cluster, in place of programs of the Assisted Installer.

Usage:
  oaictl-host NAME FLAGS...   or a link of that name
  oaictl-host version

Names:
  %s

NAME --help shows the flags. docs/host.md of oaictl says what each does.
`, strings.Join(slices.Sorted(maps.Keys(programs())), "\n  "))
}

func version() string {
	info, found := debug.ReadBuildInfo()
	if !found {
		return "oaictl-host (unknown)"
	}
	return "oaictl-host " + info.Main.Version
}

// helped prints what a program that has no flags takes, if that was asked for.
func (c call) helped(takes string) bool {
	asked := len(c.args) == 1 && slices.Contains([]string{"-h", "-help", "--help"}, c.args[0])
	if asked {
		fmt.Fprintf(c.out, "Usage of %s:\n  %s\n", c.name, takes)
	}
	return asked
}

// env reads a variable.
func (c call) env(name string) string {
	value := ""
	for _, line := range c.environ {
		if rest, is := strings.CutPrefix(line, name+"="); is {
			value = rest
		}
	}
	return value
}

// host runs programs of the machine, without the token.
func (c call) host() machine.Host {
	return machine.Host{Environ: slices.DeleteFunc(slices.Clone(c.environ), func(line string) bool {
		return strings.HasPrefix(line, tokenVariable+"=")
	})}
}

// log makes a log to standard error, and to a file if that can be written. The file is closed by done.
func (c call) log(file string) (log *slog.Logger, done func()) {
	writer, done := c.errors, func() {}
	opened, err := hostfile.Files{}.Append(file, 0o644)
	if err == nil {
		writer = io.MultiWriter(c.errors, opened)
		done = func() { _ = opened.Close() } // what was written is in it
	}
	log = slog.New(slog.NewTextHandler(writer, nil))
	if err != nil {
		log.Info("there is no log file: standard error has the whole log", "error", err)
	}
	return log, done
}

// runCopy copies this program to a folder, as the unit of a discovery image does with the program cp of the agent's image.
func runCopy(_ context.Context, c call) int {
	const operands = 2
	if len(c.args) != operands {
		fmt.Fprintln(c.errors, "cp: it takes the path of this program, and a folder")
		return exitUsage
	}
	if err := copyProgram(c.args[0], c.args[1]); err != nil {
		fmt.Fprintln(c.errors, "cp:", err)
		return 1
	}
	return 0
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, filepath.Base(from))
	}
	return hostfile.Files{}.Write(to, content, 0o755)
}

func realClock() clock.Clock { return clock.Real() }
