package spec

import (
	"cmp"
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

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Source says where a secret is read from: exactly one of its fields. The secret itself
// never stands in the document.
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

// Source is a source for a secret that a program already has.
func (s Secret) Source() Source { return Source{content: s, given: true} }

// Secret is what was read: nothing before the cluster is loaded, and for a secretRef.
func (s *Source) Secret() Secret {
	if s == nil {
		return Secret{}
	}
	return s.content
}

// IsZero reports whether the source names nothing.
func (s *Source) IsZero() bool {
	return s == nil || (s.kinds() == 0 && !s.given)
}

func (s *Source) kinds() int {
	return count(s.File != "", s.Env != "", len(s.Exec) > 0, s.Stdin, s.SecretRef != nil)
}

// PublicSource says where something public, a key or certificates, is read from: exactly one of its fields. Plain text
// is inline.
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

// Text is what was read: before the cluster is loaded, inline text only.
func (p *PublicSource) Text() string {
	if p == nil {
		return ""
	}
	return cmp.Or(p.content, p.Inline)
}

func (p *PublicSource) kinds() int {
	source := p.source()
	return source.kinds() + count(p.Inline != "")
}

func (p *PublicSource) source() Source {
	return Source{File: p.File, Env: p.Env, Exec: p.Exec, Environment: p.Environment, Stdin: p.Stdin}
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

// CredentialsOf are credentials that a program already has.
func CredentialsOf(user string, password Secret) Credentials {
	source := password.Source()
	return Credentials{Username: user, Password: &source, user: user, password: password}
}

// Login is what was read; ok is false where there is nothing.
func (c *Credentials) Login() (user string, password Secret, ok bool) {
	if c == nil || (c.user == "" && c.password.IsZero()) {
		return "", Secret{}, false
	}
	return c.user, c.password, true
}

// IsZero reports whether the credentials name nothing.
func (c *Credentials) IsZero() bool {
	if c == nil {
		return true
	}
	whole := c.whole()
	return whole.IsZero() && c.Username == "" && c.Password == nil
}

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

// Text is the document as its file has it, or as YAML in the order in which it was
// written. It is empty before the cluster is loaded.
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

// JSON is the document as JSON; empty for none.
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

const redacted = "[redacted]"

// Secret is a text that reads "[redacted]" however it is printed, logged or marshalled;
// only Reveal gives it away. It is behind a pointer: printing a struct with a Secret in
// an unexported field shows an address only.
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

// IsZero reports whether there is no secret, or an empty one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares two secrets in constant time.
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

// execTimeout leaves time to touch a hardware key.
const execTimeout = time.Minute

// maxSourceSize is in bytes. The service takes no manifest above 1 MiB, and nothing
// else comes near.
const maxSourceSize = 4 << 20

// Env is how the outside world is reached. A document that needs a field that is nil is
// refused.
type Env struct {
	// LookupEnv is an environment variable, and whether it is set.
	LookupEnv func(name string) (string, bool)
	// ReadFile is the content of a file.
	ReadFile func(name string) ([]byte, error)
	// ReadDir lists a folder by names; of a file it is an error.
	ReadDir func(name string) ([]fs.DirEntry, error)
	// Exec runs a program with the named variables of the environment and what every
	// program needs, and gives back its standard output.
	Exec func(ctx context.Context, argv, environment []string) ([]byte, error)
	// Stdin is standard input.
	Stdin io.Reader
	// Nodes allows documents of kind Nodes, too: such a document becomes a cluster that [Cluster.OnlyAdds]. Its name is
	// not known before [Cluster.AddedTo].
	Nodes bool
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

// readLimited reads a file up to the limit: a device such as /dev/zero has no end.
func readLimited(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSourceSize+1))
}

// run starts argv without a shell. Standard error is thrown away, for it could hold the secret; a program asks for a
// pass phrase on /dev/tty. If it fails, only its exit status is reported. The environment may hold tokens: the program
// gets the variables that are named, and those by which programs and the user's files are found.
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

type limitedWriter struct {
	to   io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errors.New("its output is too large for a secret")
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
