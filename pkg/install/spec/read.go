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

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

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

// readSources reads every source, document and manifest of a cluster.
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
	if text, ok := r.one(*s, s.kinds(), field, "file, env, exec, stdin or secretRef"); ok {
		s.content = NewSecret(text)
	}
}

func (r *sourceReader) public(p *PublicSource, field string) {
	if p.Inline != "" && p.kinds() == 1 {
		p.content = p.Inline
		return
	}
	if text, ok := r.one(p.source(), p.kinds(), field, "inline, file, env, exec or stdin"); ok {
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
	whole := c.whole()
	text, ok := r.one(whole, whole.kinds(), field, "file, env, exec, stdin or secretRef, or username and password")
	if !ok {
		return
	}
	user, password, found := strings.Cut(text, ":")
	if !found || user == "" || password == "" {
		r.check.Report(field, "the content does not have the form user:password", "")
		return
	}
	c.user, c.password = user, NewSecret(password)
}

func (r *sourceReader) userAndPassword(c *Credentials, field string) {
	switch whole := c.whole(); {
	case !whole.IsZero():
		r.check.Report(field, "username and password cannot be set together with another source", "keep one of them")
	case c.Username == "":
		r.check.Report(field, "password needs username", "")
	case c.Password == nil:
		r.check.Report(field, "username needs password", "write its source: password: {file: PATH}")
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
	if text, ok := r.read(Source{File: d.File}, field); ok {
		d.content = text
	}
}

func (r *sourceReader) one(s Source, kinds int, field, choice string) (string, bool) {
	switch {
	case kinds != 1 && r.check.IsFailed(field):
		return "", false
	case kinds == 0:
		r.check.Report(field, "has no source", "write one of "+choice)
		return "", false
	case kinds > 1:
		r.check.Report(field, "has more than one source", "keep one of "+choice)
		return "", false
	case s.SecretRef == nil:
		return r.read(s, field)
	case s.SecretRef.Name == "":
		r.check.Report(field+".secretRef.name", "is missing", "")
	}
	return "", false
}

// read gets at the text of a source, without the line's end. Failures never repeat a
// value that may be the secret itself, put into the wrong place.
func (r *sourceReader) read(s Source, field string) (string, bool) {
	if !r.environment(s, field+".environment") {
		return "", false
	}
	if s.Stdin {
		if r.stdin != "" {
			r.check.Report(field, "standard input is already used by "+r.stdin, "")
			return "", false
		}
		r.stdin = field
	}
	remedy := ""
	if len(s.Exec) > 0 {
		remedy = "run it by hand; it only gets the variables PATH, HOME and those of environment"
	}
	key := fmt.Sprintf("%q %q %q %q %v", s.File, s.Env, s.Exec, s.Environment, s.Stdin)
	return r.once(key, field, remedy, func() ([]byte, error) { return r.bytes(s) })
}

func (r *sourceReader) once(key, field, remedy string, bytes func() ([]byte, error)) (string, bool) {
	result, known := r.seen[key]
	if !known {
		result.text, result.err = contentOf(bytes())
		r.seen[key] = result
	}
	if result.err != nil {
		r.check.Report(field, result.err.Error(), remedy)
	}
	return result.text, result.err == nil
}

// environment reports what are no names of variables, or are for no program.
func (r *sourceReader) environment(s Source, field string) bool {
	if len(s.Environment) > 0 && len(s.Exec) == 0 {
		r.check.Report(field, "needs exec, which is missing", "")
		return false
	}
	for i, name := range s.Environment {
		if !variableName.MatchString(name) {
			r.check.Report(fmt.Sprintf("%s[%d]", field, i), "is not the name of an environment variable", "")
			return false
		}
	}
	return true
}

func contentOf(data []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSourceSize:
		return "", fmt.Errorf("the content is larger than %d MiB", maxSourceSize>>20)
	case !utf8.Valid(data):
		return "", errors.New("the content is not text")
	case strings.TrimSpace(string(data)) == "":
		return "", errors.New("what was read is empty")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

func (r *sourceReader) bytes(s Source) ([]byte, error) {
	switch {
	case s.File != "":
		return r.file(s.File)
	case s.Env != "":
		return r.variable(s.Env)
	case len(s.Exec) > 0:
		return r.program(s.Exec, s.Environment)
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
		return nil, errors.New("file does not contain the name of a file, but the content of the file")
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

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *sourceReader) variable(name string) ([]byte, error) {
	if !variableName.MatchString(name) {
		return nil, errors.New("env does not contain the name of an environment variable")
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
		return nil, errors.New("programs cannot be run here")
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, execTimeout, fmt.Errorf("it took longer than %s", execTimeout))
	defer cancel()
	data, err := r.env.Exec(ctx, argv, environment)
	if err != nil {
		return nil, fmt.Errorf("running %s failed: %s", filepath.Base(argv[0]), reason(err))
	}
	return data, nil
}
