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
	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
)

// Load reads the cluster in the file at path; "-" is standard input. Whatever
// the file refers to is read too. The error is a *Problems with everything that
// is wrong, or says that ctx was done.
func Load(ctx context.Context, path string, env Env) (*Cluster, error) {
	read := env.ReadFile
	if path == "-" {
		if env.Stdin == nil {
			return nil, fileProblem(path, "there is no standard input")
		}
		read = func(string) ([]byte, error) { return io.ReadAll(io.LimitReader(env.Stdin, yamltree.MaxSize+1)) }
	}
	if read == nil {
		return nil, fileProblem(path, "there is no access to files")
	}
	data, err := read(path)
	if err != nil {
		return nil, fileProblem(path, "cannot be read: "+reason(err))
	}
	return Parse(ctx, path, data, env)
}

// Parse reads the cluster in data. name is what messages call it, and what relative
// paths are relative to; "-" stands for standard input and the current folder.
func Parse(ctx context.Context, name string, data []byte, env Env) (*Cluster, error) {
	problems := &Problems{}
	root, syntax := decode.ParseTree(data)
	for _, p := range syntax {
		problems.List = append(problems.List, Problem{File: name, Line: p.At.Line, Column: p.At.Column, Message: p.Message, Remedy: p.Remedy})
	}
	if root == nil || root.TooLarge() {
		return nil, problems.sorted()
	}
	c := &Cluster{source: &source{file: name, dir: filepath.Dir(name), stdin: name == "-", places: map[string]yamltree.Place{}}}
	d := &decode.Decoder{Places: c.source.places, Failed: map[string]bool{}, Format: &clusterFormat{file: name, problems: problems}}
	d.Value(root, root.At, "", reflect.ValueOf(c).Elem())
	if root.Kind != yamltree.Map || !ours(c, problems) || d.Format.Full() {
		return nil, problems.sorted()
	}
	if err := c.resolve(ctx, env, problems, d.Failed); err != nil {
		return nil, err
	}
	if err := problems.sorted(); err != nil {
		return nil, err
	}
	return c, nil
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
		decode.NotePresent(c.source.places, reflect.ValueOf(c).Elem(), "")
	}
	problems := &Problems{}
	if err := c.resolve(ctx, env, problems, map[string]bool{}); err != nil {
		return err
	}
	return problems.sorted()
}

func (c *Cluster) resolve(ctx context.Context, env Env, problems *Problems, failed map[string]bool) error {
	c.Default()
	check := newChecker(c, problems, failed)
	readSources(ctx, env, check)
	c.defaultBMCs()
	if ctx.Err() != nil {
		return fmt.Errorf("reading what %s refers to: %w", c.source.file, context.Cause(ctx))
	}
	check.all()
	return nil
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
