package spec

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goodPullSecret has one auth, user:password.
const goodPullSecret = `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}`

// world is an environment that is made of a map of files.
func world(files map[string]string) Env {
	system := fstest.MapFS{}
	for name, content := range files {
		system[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return Env{
		LookupEnv: func(name string) (string, bool) {
			text, ok := map[string]string{"BMC": "admin:hunter2", "HOME": "/home/me", "EMPTY": ""}[name]
			return text, ok
		},
		ReadFile: func(name string) ([]byte, error) {
			return system.ReadFile(strings.TrimPrefix(filepath.ToSlash(name), "/"))
		},
		ReadDir: func(name string) ([]fs.DirEntry, error) {
			return system.ReadDir(strings.TrimPrefix(filepath.ToSlash(name), "/"))
		},
		Exec: func(_ context.Context, argv, _ []string) ([]byte, error) {
			if argv[0] == "pass" {
				return []byte(goodPullSecret + "\n"), nil
			}
			return nil, errors.New("exit status 1")
		},
		Stdin: strings.NewReader(goodPullSecret),
	}
}

func parse(t *testing.T, text string, files map[string]string) (*Cluster, error) {
	t.Helper()
	all := map[string]string{"pull-secret.json": goodPullSecret}
	for name, content := range files {
		all[name] = content
	}
	return Parse(t.Context(), "cluster.yaml", []byte(text), world(all))
}

// TestProblemsEnd: of a file with very many problems only the first are reported.
func TestProblemsEnd(t *testing.T) {
	_, err := parse(t, strings.Replace(good, more, strings.Repeat("  -\n", maxProblems+100), 1), nil)
	var problems *Problems
	if !errors.As(err, &problems) || len(problems.List) != maxProblems {
		t.Fatalf("%d problems: %v", len(problems.List), err)
	}
}

// All problems of a file come at once, in its order, and none repeats a secret.
func TestManyProblemsGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/many-problems.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = parse(t, string(text), nil)
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want problems", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("a problem repeats a password")
	}
	golden := "testdata/many-problems.txt"
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
		t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
	}
}
