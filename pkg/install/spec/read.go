package spec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// origin is one way to get at a text; exactly one of its fields is set.
type origin struct {
	file  string // as the cluster names it
	env   string
	exec  []string
	stdin bool
	path  string // a file, found already

	environment []string // names of the variables that exec gets
}

// sourceReader reads what a cluster refers to, each thing once.
type sourceReader struct {
	ctx   context.Context
	env   Env
	check *checker
	seen  map[string]read
	stdin string // the field that has taken standard input
}

type read struct {
	text string
	err  error
}

// readSources fills in the content of every source, document and manifest of a
// cluster.
func readSources(ctx context.Context, env Env, check *checker) {
	r := &sourceReader{ctx: ctx, env: env, check: check, seen: map[string]read{}}
	if check.cluster.source.stdin {
		r.stdin = "the file itself"
	}
	walk(reflect.ValueOf(check.cluster).Elem(), "", func(v reflect.Value, field string) bool {
		return !v.CanAddr() || !r.readInto(v.Addr().Interface(), field)
	})
	r.manifests()
}

// readInto reads a source of any type. It says false for anything else.
func (r *sourceReader) readInto(target any, field string) bool {
	switch to := target.(type) {
	case *Source:
		r.source(to, field)
	case *PublicSource:
		r.public(to, field)
	case *Credentials:
		r.credentials(to, field)
	case *Document:
		r.document(to, field)
	default:
		return false
	}
	return true
}

func (r *sourceReader) source(s *Source, field string) {
	if s.given || (s.IsZero() && !r.check.cluster.Present(field)) {
		return
	}
	if !r.one(s.kinds(), field, "file, env, exec, stdin or secretRef") {
		return
	}
	if s.SecretRef != nil {
		r.secretRef(s.SecretRef, field)
		return
	}
	if text, ok := r.read(origin{file: s.File, env: s.Env, exec: s.Exec, environment: s.Environment, stdin: s.Stdin}, field); ok {
		s.content = NewSecret(text)
	}
}

func (r *sourceReader) secretRef(ref *SecretRef, field string) {
	if ref.Name == "" {
		r.check.Report(field+".secretRef.name", "is missing", "")
	}
}

func (r *sourceReader) public(p *PublicSource, field string) {
	if !r.one(p.kinds(), field, "inline, file, env, exec or stdin") {
		return
	}
	if p.Inline != "" {
		p.content = p.Inline
		return
	}
	if text, ok := r.read(origin{file: p.File, env: p.Env, exec: p.Exec, environment: p.Environment, stdin: p.Stdin}, field); ok {
		p.content = text
	}
}

func (r *sourceReader) credentials(c *Credentials, field string) {
	if c.IsZero() || (c.Password != nil && c.Password.given) {
		return
	}
	if c.Username != "" || c.Password != nil {
		r.userAndPassword(c, field)
		return
	}
	if !r.one(c.kinds(), field, "file, env, exec, stdin or secretRef, or username and password") {
		return
	}
	whole := c.whole()
	if whole.SecretRef != nil {
		r.secretRef(whole.SecretRef, field)
		return
	}
	text, ok := r.read(origin{file: whole.File, env: whole.Env, exec: whole.Exec, environment: whole.Environment, stdin: whole.Stdin}, field)
	if !ok {
		return
	}
	user, password, found := strings.Cut(text, ":")
	if !found || user == "" || password == "" {
		r.check.Report(field, "what was read is not of the form user:password", "")
		return
	}
	c.user, c.password = user, NewSecret(password)
}

func (r *sourceReader) userAndPassword(c *Credentials, field string) {
	switch {
	case c.kinds() > 0:
		r.check.Report(field, "username and password stand beside another source", "keep one of them")
	case c.Username == "":
		r.check.Report(field, "username is missing beside password", "")
	case c.Password == nil:
		r.check.Report(field, "password is missing beside username", "write where it is read from: password: {file: PATH}")
	default:
		r.source(c.Password, field+".password")
		c.user, c.password = c.Username, c.Password.content
	}
}

func (r *sourceReader) document(d *Document, field string) {
	if d.Inline != nil {
		if d.order == nil {
			d.order = []byte(yamltree.Of(d.Inline).YAML())
		}
		d.content = string(d.order)
		return
	}
	if d.File == "" {
		r.check.Report(field, "is empty", "write the document itself, or {file: PATH}")
		return
	}
	if text, ok := r.read(origin{file: d.File}, field); ok {
		d.content = text
	}
}

// one reports a source that names nothing, or more than one thing.
func (r *sourceReader) one(kinds int, field, choice string) bool {
	if kinds == 1 || r.check.IsFailed(field) {
		return kinds == 1
	}
	if kinds == 0 {
		r.check.Report(field, "says not where it is read from", "write one of "+choice)
	} else {
		r.check.Report(field, "says more than one place where it is read from", "keep one of "+choice)
	}
	return false
}

// read gets at the text of an origin, without the line's end. It reports
// failures at the field, and never repeats a value that may be the secret
// itself, put into the wrong place.
func (r *sourceReader) read(from origin, field string) (string, bool) {
	if !r.environment(from, field+".environment") {
		return "", false
	}
	if from.stdin {
		if r.stdin != "" {
			r.check.Report(field, "standard input is read already, by "+r.stdin, "")
			return "", false
		}
		r.stdin = field
	}
	key := fmt.Sprintf("%q %q %q %q %q %v", from.file, from.path, from.env, from.exec, from.environment, from.stdin)
	result, known := r.seen[key]
	if !known {
		result.text, result.err = r.readNow(from)
		r.seen[key] = result
	}
	if result.err != nil {
		remedy := ""
		if len(from.exec) > 0 {
			remedy = "run it by hand; of the environment it gets PATH, HOME and what environment names"
		}
		r.check.Report(field, result.err.Error(), remedy)
		return "", false
	}
	return result.text, true
}

// environment reports what are no names of variables, or are for no program.
func (r *sourceReader) environment(from origin, field string) bool {
	if len(from.environment) > 0 && len(from.exec) == 0 {
		r.check.Report(field, "goes with exec, which is not there", "")
		return false
	}
	for i, name := range from.environment {
		if !variableName.MatchString(name) {
			r.check.Report(fmt.Sprintf("%s[%d]", field, i), "is not the name of an environment variable", "")
			return false
		}
	}
	return true
}

func (r *sourceReader) readNow(from origin) (string, error) {
	data, err := r.bytes(from)
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSourceSize:
		return "", fmt.Errorf("what was read is larger than %d MiB", maxSourceSize>>20)
	case !utf8.Valid(data):
		return "", errors.New("what was read is not text")
	case strings.TrimSpace(string(data)) == "":
		return "", errors.New("what was read is empty")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

func (r *sourceReader) bytes(from origin) ([]byte, error) {
	switch {
	case from.path != "":
		return r.openFile(from.path)
	case from.file != "":
		return r.file(from.file)
	case from.env != "":
		return r.variable(from.env)
	case len(from.exec) > 0:
		return r.program(from.exec, from.environment)
	default:
		if r.env.Stdin == nil {
			return nil, errors.New("there is no standard input")
		}
		data, err := io.ReadAll(io.LimitReader(r.env.Stdin, maxSourceSize+1))
		if err != nil {
			return nil, fmt.Errorf("standard input cannot be read: %s", reason(err))
		}
		return data, nil
	}
}

func (r *sourceReader) file(name string) ([]byte, error) {
	if strings.ContainsAny(name, "\n{") || len(name) > 1024 {
		return nil, errors.New("file holds not the name of a file, but what should be in it")
	}
	path, err := r.path(name)
	if err != nil {
		return nil, err
	}
	return r.openFile(path)
}

func (r *sourceReader) openFile(path string) ([]byte, error) {
	if r.env.ReadFile == nil {
		return nil, errors.New("there is no access to files")
	}
	data, err := r.env.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file %s cannot be read: %s", path, reason(err))
	}
	return data, nil
}

// path is where a file that the cluster names is found.
func (r *sourceReader) path(name string) (string, error) {
	if name == "~" || strings.HasPrefix(name, "~/") || strings.HasPrefix(name, `~\`) {
		home, err := r.env.home()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, name[1:]), nil
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	return filepath.Join(r.check.cluster.source.dir, name), nil
}

// variableName matches names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *sourceReader) variable(name string) ([]byte, error) {
	if !variableName.MatchString(name) {
		return nil, errors.New("env holds not the name of an environment variable")
	}
	if r.env.LookupEnv == nil {
		return nil, errors.New("there is no access to environment variables")
	}
	text, ok := r.env.LookupEnv(name)
	if !ok {
		return nil, fmt.Errorf("the environment variable %s is not set", name)
	}
	return []byte(text), nil
}

func (r *sourceReader) program(argv, environment []string) ([]byte, error) {
	if r.env.Exec == nil {
		return nil, errors.New("there is no way to run programs")
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, execTimeout, fmt.Errorf("it took longer than %s", execTimeout))
	defer cancel()
	data, err := r.env.Exec(ctx, argv, environment)
	if err != nil {
		return nil, fmt.Errorf("running %s failed: %s", filepath.Base(argv[0]), reason(err))
	}
	return data, nil
}
