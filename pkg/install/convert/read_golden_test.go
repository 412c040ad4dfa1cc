package convert_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readCases are the inputs in testdata/read, and what they need beside them.
func readCases(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/read/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Base(dirs[i])
	}
	return dirs
}

// readPath is what a user would name of a case: its only file, or the folder.
func readPath(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("testdata/read", name, "in")
	entries := must.Get(os.ReadDir(dir))(t)
	for _, entry := range entries {
		if entry.Name() == "params.yml" {
			return filepath.Join(dir, entry.Name())
		}
	}
	if len(entries) == 1 && !entries[0].IsDir() {
		return filepath.Join(dir, entries[0].Name())
	}
	return dir
}

// readOptions are what the formats do not say and a user says beside them.
func readOptions(name string) convert.Options {
	o := convert.Options{AcceptUnknownHosts: strings.HasPrefix(name, "capi")}
	if strings.HasPrefix(name, "agent") {
		o.Version = "4.20"
	}
	return o
}

func converted(t testing.TB, name string) *convert.Converted {
	t.Helper()
	return must.Get(convert.Read(t.Context(), readPath(t, name), readOptions(name)))(t, name)
}

// report is everything that came out of a conversion, as one text.
func report(t testing.TB, c *convert.Converted) string {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("# " + string(c.Format) + "\n" + string(c.Document))
	section := func(name string, list []convert.Loss) {
		out.WriteString("--- " + name + "\n")
		for _, loss := range list {
			text := must.Get(json.Marshal(loss.Value))(t)
			out.WriteString(loss.Path + " = " + string(text) + "\n  " + loss.Why + "\n")
		}
	}
	section("losses", c.Losses)
	section("idle", c.Idle)
	out.WriteString("--- notes\n")
	for _, note := range c.Notes {
		out.WriteString(note + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		out.WriteString("--- file " + name + "\n" + string(c.Files[name]) + "\n")
	}
	return out.String()
}

func TestReadGolden(t *testing.T) {
	for _, name := range readCases(t) {
		t.Run(name, func(t *testing.T) {
			c := converted(t, name)
			got := report(t, c)
			sample.Golden(t, *update, filepath.Join("read", name, "out.txt"), got)
			if again := report(t, converted(t, name)); again != got {
				t.Errorf("the second run differs:\n%s", cmp.Diff(got, again))
			}
			load(t, c)
		})
	}
}

// load has the document loaded from a folder, as a user would after writing it.
func load(t testing.TB, c *convert.Converted) *spec.Cluster {
	t.Helper()
	dir := t.TempDir()
	for name, data := range c.Files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), data)
	}
	file := filepath.Join(dir, "cluster.yaml")
	write(t, file, c.Document)
	cluster, err := spec.Load(t.Context(), file, spec.OSEnv())
	if err != nil {
		t.Fatalf("the document does not load:\n%v\n%s", err, c.Document)
	}
	return cluster
}

func write(t testing.TB, file string, data []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.Do(t, os.WriteFile(file, data, 0o600))
}

// secrets are values of the inputs that are never shown.
var secrets = []string{"s3cret", "geheim", "ipmi-pass", "hunter2"}

func TestReadShowsNoSecrets(t *testing.T) {
	for _, name := range readCases(t) {
		c := converted(t, name)
		for _, part := range []any{string(c.Document), c.Losses, c.Idle, c.Notes} {
			text := must.Get(json.Marshal(part))(t)
			for _, secret := range secrets {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("%s: %q stands in %s", name, secret, text)
				}
			}
		}
	}
}

// memory is a folder that is kept in memory.
type memory map[string][]byte

func (m memory) env() spec.Env {
	return spec.Env{
		ReadFile: func(name string) ([]byte, error) {
			if data, ok := m[filepath.ToSlash(name)]; ok {
				return data, nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
		ReadDir: func(name string) ([]fs.DirEntry, error) {
			seen := map[string]bool{}
			var entries []fs.DirEntry
			for _, file := range slices.Sorted(maps.Keys(m)) {
				rest, below := strings.CutPrefix(file, filepath.ToSlash(name)+"/")
				first, _, nested := strings.Cut(rest, "/")
				if below && !seen[first] {
					seen[first] = true
					entries = append(entries, memoryEntry{first, nested})
				}
			}
			if len(entries) == 0 {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return entries, nil
		},
	}
}

type memoryEntry struct {
	name string
	dir  bool
}

func (e memoryEntry) Name() string { return e.name }
func (e memoryEntry) IsDir() bool  { return e.dir }
func (e memoryEntry) Type() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}
func (e memoryEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// memoryOf reads the input of a case into memory.
func memoryOf(t testing.TB, name string) memory {
	t.Helper()
	m := memory{}
	root := filepath.Join("testdata/read", name, "in")
	must.Do(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		m[filepath.ToSlash(file)] = data
		return err
	}))
	return m
}
