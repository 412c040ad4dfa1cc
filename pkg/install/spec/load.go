package spec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// Load reads the cluster in the file at path; "-" is standard input. Whatever
// the file refers to is read too. The error is a *Problems with everything that
// is wrong, or says that ctx was done.
func Load(ctx context.Context, path string, env Env) (*Cluster, error) {
	if path == "-" {
		if env.Stdin == nil {
			return nil, fileProblem(path, "there is no standard input")
		}
		return Read(ctx, path, env.Stdin, env)
	}
	if env.ReadFile == nil {
		return nil, fileProblem(path, "there is no access to files")
	}
	data, err := env.ReadFile(path)
	if err != nil {
		return nil, fileProblem(path, "cannot be read: "+reason(err))
	}
	return Parse(ctx, path, data, env)
}

// Read reads the cluster from r. name is what messages call it, and what
// relative paths are relative to; "-" stands for standard input and the current
// folder.
func Read(ctx context.Context, name string, r io.Reader, env Env) (*Cluster, error) {
	data, err := io.ReadAll(io.LimitReader(r, yamltree.MaxSize+1))
	if err != nil {
		return nil, fileProblem(name, "cannot be read: "+reason(err))
	}
	return Parse(ctx, name, data, env)
}

// Parse reads the cluster in data, as Read does.
func Parse(ctx context.Context, name string, data []byte, env Env) (*Cluster, error) {
	problems := &Problems{}
	root, syntax := parseTree(data)
	for _, p := range syntax {
		problems.List = append(problems.List, Problem{File: name, Line: p.At.Line, Column: p.At.Column, Message: p.Message, Remedy: p.Remedy})
	}
	if root == nil || root.TooLarge() {
		return nil, problems.sorted()
	}
	c := &Cluster{source: &source{file: name, dir: filepath.Dir(name), stdin: name == "-", places: map[string]yamltree.Place{}}}
	d := &decoder{file: name, places: c.source.places, problems: problems, failed: map[string]bool{}}
	d.value(root, root.At, "", reflect.ValueOf(c).Elem())
	if root.Kind != yamltree.Map || !ours(c, problems) || d.full() {
		return nil, problems.sorted()
	}
	if err := c.resolve(ctx, env, problems, d.failed); err != nil {
		return nil, err
	}
	if err := problems.sorted(); err != nil {
		return nil, err
	}
	return c, nil
}

// parseTree reads one YAML document.
func parseTree(data []byte) (*yamltree.Node, []yamltree.Problem) {
	docs, problems := yamltree.Parse(data)
	switch {
	case len(problems) > 0 && len(docs) == 0:
		return nil, problems
	case len(docs) == 0 || docs[0].Kind == yamltree.Null && len(problems) == 0:
		return nil, []yamltree.Problem{{At: yamltree.Place{Line: 1, Column: 1}, Message: "is empty"}}
	case len(docs) > 1:
		return nil, []yamltree.Problem{{At: docs[1].At, Message: "a second document starts here", Remedy: "keep one cluster in a file"}}
	}
	return docs[0], problems
}

// ours says whether the document is one of ours at all. If it is not, every
// other problem is a consequence, and the only one told.
func ours(c *Cluster, problems *Problems) bool {
	message := ""
	switch {
	case c.Kind != "" && c.Kind != Kind:
		message = fmt.Sprintf("is a %q, not a %s", c.Kind, Kind)
	case c.APIVersion != "" && c.APIVersion != APIVersion:
		message = fmt.Sprintf("the version %q of the format is not known", c.APIVersion)
	default:
		return true
	}
	field := "kind"
	if c.Kind == Kind || c.Kind == "" {
		field = "apiVersion"
	}
	file, line, col := c.Position(field)
	problems.List = []Problem{{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: fmt.Sprintf("write apiVersion: %s and kind: %s", APIVersion, Kind)}}
	return false
}

// Resolve finishes a cluster that was made in Go: it fills in what can be
// derived, reads what the cluster refers to, relative to dir, and checks
// everything. A cluster from Load is finished already.
func (c *Cluster) Resolve(ctx context.Context, dir string, env Env) error {
	if c.source == nil {
		c.source = &source{dir: dir, places: map[string]yamltree.Place{}}
		notePresent(c.source.places, reflect.ValueOf(c).Elem(), "")
	}
	problems := &Problems{}
	if err := c.resolve(ctx, env, problems, map[string]bool{}); err != nil {
		return err
	}
	return problems.sorted()
}

func (c *Cluster) resolve(ctx context.Context, env Env, problems *Problems, failed map[string]bool) error {
	c.Default()
	check := &checker{cluster: c, problems: problems, failed: failed}
	readSources(ctx, env, check)
	c.defaultBMCs()
	if ctx.Err() != nil {
		return fmt.Errorf("reading what %s refers to: %w", c.source.file, context.Cause(ctx))
	}
	check.all()
	return nil
}

// notePresent notes the fields that are not zero.
func notePresent(places map[string]yamltree.Place, v reflect.Value, path string) {
	if v.IsZero() {
		return
	}
	if path != "" {
		places[path] = yamltree.Place{}
	}
	switch v.Kind() {
	case reflect.Pointer:
		notePresent(places, v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := yamlName(v.Type().Field(i)); name != "" {
				notePresent(places, v.Field(i), join(path, name))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			notePresent(places, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

func fileProblem(name, message string) error {
	return &Problems{List: []Problem{{File: name, Message: message}}}
}

// reason is why a file could not be read, without its name, which the message
// already gives.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
