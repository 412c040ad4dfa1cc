package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// inFolder changes to an empty folder with a live image and a config.
func inFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	live := must.Get(filepath.Abs("base.iso"))(t)
	must.Do(t, makeFixture("x86_64-2023-07", live))
	must.Do(t, os.WriteFile("a.ign", []byte(exampleConfig), 0o600))
}

// runISO runs a command line with a cache of its own and a clock that does not wait.
func runISO(t *testing.T, terminal bool, line string) outcome {
	t.Helper()
	var out, problems strings.Builder
	folder := must.Get(os.Getwd())(t)
	io := streams.Streams{Out: &out, Err: &problems, OutTTY: terminal, ErrTTY: terminal}
	a := app.New(app.Identify(strings.Fields(line)), io, streams.Env{"XDG_CACHE_HOME": filepath.Join(folder, "cache")})
	a.Clock = &frozen{now: noon()}
	code := execute(t.Context(), a)
	return outcome{code, out.String(), problems.String()}
}

func TestISOFromAURL(t *testing.T) {
	inFolder(t)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("ETag", `"one"`)
		http.ServeFile(w, r, "base.iso")
	}))
	t.Cleanup(server.Close)
	for n := range 2 {
		got := runISO(t, false, "oaictl iso customize "+server.URL+"/base.iso?token=hidden -o out.iso --ignition a.ign --force")
		if got.code != 0 || got.out != "out.iso\n" {
			t.Fatalf("run %d ends with %d:\n%s", n, got.code, got.errors)
		}
	}
	kept, err := filepath.Glob("cache/oaictl/images/*.iso")
	if err != nil || len(kept) != 1 {
		t.Errorf("the cache holds %v (%v)", kept, err)
	}
	server.Close()
	away := runISO(t, false, "oaictl iso show "+server.URL+"/other.iso?token=hidden")
	if away.code != 1 || !strings.Contains(away.errors, "fetch "+server.URL+"/other.iso") || strings.Contains(away.errors, "hidden") {
		t.Errorf("a server that is away ends with %d:\n%s", away.code, away.errors)
	}
}

func TestISOCustomizeAndATerminal(t *testing.T) {
	inFolder(t)
	got := runISO(t, true, "oaictl iso customize base.iso -o - --ignition a.ign")
	if got.code != 2 || got.out != "" || !strings.Contains(got.errors, "standard output is a terminal") {
		t.Errorf("ends with %d:\n%s", got.code, got.errors)
	}
}
