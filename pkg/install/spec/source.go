package spec

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Source says where a secret is read from: exactly one of its fields. The
// secret itself never stands in the document.
type Source struct {
	// File that holds it. A relative path is relative to this file; ~ is the home directory.
	File string `yaml:"file,omitempty"`
	// Environment variable that holds it.
	Env string `yaml:"env,omitempty"`
	// Command that prints it, as a list of program and arguments. No shell is involved.
	Exec []string `yaml:"exec,omitempty"`
	// Names of the environment variables that the command gets, beside PATH and HOME.
	Environment []string `yaml:"environment,omitempty"`
	// Whether it is read from standard input. Only one source may.
	Stdin bool `yaml:"stdin,omitempty"`
	// Secret on a hub that holds it. Not used with a REST service.
	SecretRef *SecretRef `yaml:"secretRef,omitempty"`

	content Secret
	given   bool
}

// SecretRef is a key of a Kubernetes Secret in the cluster's namespace.
type SecretRef struct {
	// Name of the Secret.
	Name string `yaml:"name"`
	// Key in the Secret. Default depends on what the secret is for.
	Key string `yaml:"key,omitempty"`
}

// SourceOf is a source for a secret that the program already has, for clusters
// that are made in Go rather than read from a file.
func SourceOf(secret Secret) Source { return Source{content: secret, given: true} }

// Secret is what was read. It is empty before the cluster is loaded or
// resolved, and for a secretRef.
func (s *Source) Secret() Secret {
	if s == nil {
		return Secret{}
	}
	return s.content
}

// IsZero says whether the source names nothing.
func (s *Source) IsZero() bool {
	return s == nil || (s.kinds() == 0 && !s.given)
}

func (s *Source) kinds() int {
	return count(s.File != "", s.Env != "", len(s.Exec) > 0, s.Stdin, s.SecretRef != nil)
}

// PublicSource says where something public, a key or certificates, is read
// from: exactly one of its fields. Plain text stands for inline.
type PublicSource struct {
	// The text itself.
	Inline string `yaml:"inline,omitempty"`
	// File that holds it. A relative path is relative to this file; ~ is the home directory.
	File string `yaml:"file,omitempty"`
	// Environment variable that holds it.
	Env string `yaml:"env,omitempty"`
	// Command that prints it, as a list of program and arguments. No shell is involved.
	Exec []string `yaml:"exec,omitempty"`
	// Names of the environment variables that the command gets, beside PATH and HOME.
	Environment []string `yaml:"environment,omitempty"`
	// Whether it is read from standard input. Only one source may.
	Stdin bool `yaml:"stdin,omitempty"`

	content string
}

// Text is what was read. It is empty before the cluster is loaded or resolved,
// save for inline text.
func (p *PublicSource) Text() string {
	switch {
	case p == nil:
		return ""
	case p.content != "":
		return p.content
	default:
		return p.Inline
	}
}

func (p *PublicSource) kinds() int {
	source := p.source()
	return source.kinds() + count(p.Inline != "")
}

func (p *PublicSource) source() Source {
	return Source{File: p.File, Env: p.Env, Exec: p.Exec, Environment: p.Environment, Stdin: p.Stdin}
}

func (p *PublicSource) fromText(text string) error {
	p.Inline = text
	return nil
}

// Credentials are a user and a password: either a source that holds both, as
// user:password, or a user and a source for the password.
type Credentials struct {
	// User name, where the source holds only the password.
	Username string `yaml:"username,omitempty"`
	// Source of the password, beside username.
	Password *Source `yaml:"password,omitempty"`
	// File that holds user:password. A relative path is relative to this file; ~ is the home directory.
	File string `yaml:"file,omitempty"`
	// Environment variable that holds user:password.
	Env string `yaml:"env,omitempty"`
	// Command that prints user:password, as a list of program and arguments. No shell is involved.
	Exec []string `yaml:"exec,omitempty"`
	// Names of the environment variables that the command gets, beside PATH and HOME.
	Environment []string `yaml:"environment,omitempty"`
	// Whether user:password is read from standard input. Only one source may.
	Stdin bool `yaml:"stdin,omitempty"`
	// Secret on a hub with the keys username and password. Not used with a REST service.
	SecretRef *SecretRef `yaml:"secretRef,omitempty"`

	user     string
	password Secret
}

// CredentialsOf are credentials that the program already has, for clusters
// that are made in Go rather than read from a file.
func CredentialsOf(user string, password Secret) Credentials {
	source := SourceOf(password)
	return Credentials{Username: user, Password: &source, user: user, password: password}
}

// Login is the user and the password that were read. ok is false where there
// are none.
func (c *Credentials) Login() (user string, password Secret, ok bool) {
	if c == nil || (c.user == "" && c.password.IsZero()) {
		return "", Secret{}, false
	}
	return c.user, c.password, true
}

// IsZero says whether the credentials name nothing.
func (c *Credentials) IsZero() bool {
	if c == nil {
		return true
	}
	whole := c.whole()
	return whole.IsZero() && c.Username == "" && c.Password == nil
}

// whole is the source of user:password.
func (c *Credentials) whole() Source {
	return Source{File: c.File, Env: c.Env, Exec: c.Exec, Environment: c.Environment, Stdin: c.Stdin, SecretRef: c.SecretRef}
}

// Document is a structured text in its own words, such as Ignition or nmstate:
// either in a file, or inline.
type Document struct {
	// File that holds it. A relative path is relative to this file; ~ is the home directory.
	File string
	// The document itself, where it stands inline. Never nil then.
	Inline map[string]any

	order   []byte
	content string
}

// Text is the document as it was read from its file, or as YAML with its
// fields in the order in which they were written. It is empty before the
// cluster is loaded or resolved.
func (d *Document) Text() string {
	if d == nil {
		return ""
	}
	return d.content
}

func count(conditions ...bool) int {
	n := 0
	for _, is := range conditions {
		if is {
			n++
		}
	}
	return n
}

// JSON is the document as JSON, whether it was written as YAML or as JSON. It
// is empty for no document.
func (d *Document) JSON() (string, error) {
	if d.Text() == "" {
		return "", nil
	}
	object, err := d.object()
	if err != nil {
		return "", err
	}
	return values.Marshal(object)
}

// object is the document as encoding/json would decode it. JSON is YAML too.
func (d *Document) object() (map[string]any, error) {
	root, problems := parseTree([]byte(d.Text()))
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("the document cannot be read: line %d %s", problems[0].At.Line, problems[0].Message)
	case root.Kind != yamltree.Map:
		return nil, errors.New("the document is no map")
	case root.TooLarge():
		return nil, errors.New("the document is too large")
	}
	return root.Plain().(map[string]any), nil
}

// redacted is what a secret looks like wherever it is printed.
const redacted = "[redacted]"

// Secret is a text that must not be seen. However it is printed, logged or
// marshalled, it reads "[redacted]"; only Reveal gives it away. The text sits
// behind a pointer, so that even printing a struct that holds a Secret in an
// unexported field shows an address only.
type Secret struct {
	text *string
}

// NewSecret keeps text as a secret.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal is the secret's text; empty for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says whether there is no secret, or an empty one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares two secrets, in a time that does not depend on where they
// differ.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String is "[redacted]".
func (s Secret) String() string { return redacted }

// GoString is "[redacted]", for %#v.
func (s Secret) GoString() string { return redacted }

// Format writes "[redacted]" for every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText is "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON is "[redacted]", quoted.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML is "[redacted]".
func (s Secret) MarshalYAML() (any, error) { return redacted, nil }

// LogValue is "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

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
