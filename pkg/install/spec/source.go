package spec

import (
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
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
	return count(p.Inline != "", p.File != "", p.Env != "", len(p.Exec) > 0, p.Stdin)
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
	return c == nil || (c.kinds() == 0 && c.Username == "" && c.Password == nil)
}

func (c *Credentials) kinds() int {
	return count(c.File != "", c.Env != "", len(c.Exec) > 0, c.Stdin, c.SecretRef != nil)
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
	root, problems := decode.ParseTree([]byte(d.Text()))
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("the document cannot be read: line %d %s", problems[0].At.Line, problems[0].Message)
	case root.Kind != yamltree.Map:
		return nil, errors.New("the document is no map")
	case root.TooLarge():
		return nil, errors.New("the document is too large")
	}
	return (&decode.Decoder{Places: map[string]yamltree.Place{}}).PlainMap(root, ""), nil
}
