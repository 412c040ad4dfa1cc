package spec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// execTimeout bounds a command that prints a secret. A minute leaves time to
// touch a hardware key.
const execTimeout = time.Minute

// maxSourceSize bounds a file, variable or command output that the document
// refers to, in bytes. The service takes no manifest above 1 MiB, and nothing
// else comes near.
const maxSourceSize = 4 << 20

// Env is how the outside world is reached. Fields that are nil are not there:
// a document that needs one is refused.
type Env struct {
	// LookupEnv is an environment variable, and whether it is set.
	LookupEnv func(name string) (string, bool)
	// ReadFile is the content of a file.
	ReadFile func(name string) ([]byte, error)
	// ReadDir lists a folder in the order of its names. A file that is no
	// folder is an error.
	ReadDir func(name string) ([]fs.DirEntry, error)
	// Exec runs a program, with the named variables of the environment and what every
	// program needs, and gives back what it prints on standard output.
	Exec func(ctx context.Context, argv, environment []string) ([]byte, error)
	// Stdin is standard input.
	Stdin io.Reader
}

// OSEnv is the process's own environment, files, programs and standard input.
func OSEnv() Env {
	return Env{
		LookupEnv: os.LookupEnv,
		ReadFile:  readLimited,
		ReadDir:   os.ReadDir,
		Exec:      run,
		Stdin:     os.Stdin,
	}
}

// readLimited reads a file, and no more of it than a source may hold: a device
// such as /dev/zero has no end.
func readLimited(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSourceSize+1))
}

// run starts argv without a shell. What it prints on standard error is thrown
// away, for it could hold the secret; a program that asks for a pass phrase has
// the terminal itself (/dev/tty) for that. Of its failure only the exit status
// is told. Of the environment, in which tokens may be, it gets what is named, what
// programs and the user's files are found by, and nothing else.
func run(ctx context.Context, argv, environment []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{} // nil would be everything
	for _, name := range append([]string{"PATH", "PATHEXT", "HOME", "USERPROFILE"}, environment...) {
		if value, is := os.LookupEnv(name); is {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var out strings.Builder
	cmd.Stdout = &limitedWriter{to: &out, left: maxSourceSize + 1}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return []byte(out.String()), nil
}

// limitedWriter takes what fits and fails on the rest.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errors.New("more output than a secret can be")
	}
	w.left -= len(p)
	return w.to.Write(p)
}

func (e Env) home() (string, error) {
	if e.LookupEnv != nil {
		for _, name := range []string{"HOME", "USERPROFILE"} {
			if dir, ok := e.LookupEnv(name); ok && dir != "" {
				return dir, nil
			}
		}
	}
	return "", fmt.Errorf("the home directory is not known: neither HOME nor USERPROFILE is set")
}
