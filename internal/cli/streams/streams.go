// Package streams is the outside of a run of the command line: standard
// input, output and error, what is known of the terminals behind them, and the
// environment. A test hands in buffers and a map; main hands in the process's
// own.
//
// Data goes to Out and everything for people goes to Err, so that a pipe
// carries the one and never the other.
package streams

import (
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Streams are the three standard streams of a run.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// InTTY, OutTTY and ErrTTY say which of them is a terminal.
	InTTY, OutTTY, ErrTTY bool
	// Size is the width and height of Err's terminal in characters; nil or
	// zeros where it is none. It is asked again for every picture, so that a
	// resized window is noticed.
	Size func() (width, height int)
}

// OS is the process's own streams.
func OS() Streams {
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Size: func() (int, int) {
			width, height, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		},
	}
}

// Live reports whether Err is a terminal, outside of CI, that can be drawn on in place.
func (s Streams) Live(env Env) bool {
	if !s.ErrTTY || env["TERM"] == "dumb" {
		return false
	}
	ci, set := env.Lookup("CI")
	return !set || ci == "" || ci == "false" || ci == "0"
}

// Color heeds NO_COLOR with any value but the empty one (https://no-color.org).
func (s Streams) Color(env Env) bool {
	return s.ErrTTY && env["NO_COLOR"] == "" && env["TERM"] != "dumb"
}

// Env is the environment of a run, by name.
type Env map[string]string

// EnvOf reads the NAME=VALUE form of os.Environ. A later entry wins.
func EnvOf(environ []string) Env {
	env := make(Env, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// Lookup is the value of a variable, and whether it is set.
func (e Env) Lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// Locked lets several goroutines write, one text after another, each of them whole.
func Locked(w io.Writer) io.Writer { return &locked{w: w} }

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *locked) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(text)
}
