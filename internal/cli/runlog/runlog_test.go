package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

func TestLogKeepsSecretsOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	auth := "dXNlcjpjb3JyZWN0LWhvcnNl" // user:correct-horse
	pullSecret := "{\"auths\":\n {\"quay.io\":{\"auth\":\"" + auth + "\"}}}\n"
	log, err := Open(t.Context(), dir, noon, spec.NewSecret(pullSecret), spec.NewSecret("bmc \"pass\"\tword"), spec.NewSecret("abc"))
	if err != nil {
		t.Fatal(err)
	}
	token := "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
	log.Event(model.Event{Type: model.EventHint, Time: noon(), Host: "cp-0", Message: "auth " + auth + " and correct-horse and bmc \"pass\"\tword", Next: "abc stays"})
	log.Event(model.Event{Type: model.EventWarning, Severity: model.SeverityWarning, Message: pullSecret})
	log.Exchange(install.Call{
		Method: "GET", URL: "https://x/bytoken/" + token + "/4.20/full.iso?api_key=" + token + "&x=1", Status: 200, Duration: time.Second, Attempt: 2,
		Error: "Authorization: Bearer abcdefghijkl.mno, password=hunter2hunter2",
	})
	log.Printf("token %s", token)
	var none *Log
	none.Printf("nobody hears")
	none.Event(model.Event{})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	if info, err := os.Stat(log.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	content, err := os.ReadFile(log.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{auth, "correct-horse", "pass\\\"", token, "c2lnbmF0dXJl", "abcdefghijkl", "hunter2"} {
		if strings.Contains(string(content), secret) {
			t.Errorf("the log holds %q:\n%s", secret, content)
		}
	}
	for _, word := range []string{"abc stays", "host=cp-0", "level=WARN", "attempt=2", "[redacted]", "x=1"} {
		if !strings.Contains(string(content), word) {
			t.Errorf("the log does not hold %q:\n%s", word, content)
		}
	}
}

func TestLogIsAppendedTo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	if err := os.WriteFile(path, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := Open(t.Context(), dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	log.Printf("after")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if text := string(content); !strings.HasPrefix(text, "before\ntime=2026-08-01T12:00:00.000Z level=INFO msg=after") {
		t.Errorf("content %q", text)
	}
}

func TestOpenSaysWhatFailed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), filepath.Join(file, "below"), noon); err == nil {
		t.Error("a folder below a file was accepted")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("a line", "secret-value")
	f.Add("secret-value secret-value", "secret-value")
	f.Add("x", "{\"auths\":{}}")
	f.Fuzz(func(t *testing.T, line, secret string) {
		var out strings.Builder
		r := &redactor{w: &out, replace: strings.NewReplacer(pairs([]spec.Secret{spec.NewSecret(secret)})...)}
		if n, err := r.Write([]byte(line)); err != nil || n != len(line) {
			t.Fatalf("Write = %d, %v", n, err)
		}
		trimmed := strings.TrimSpace(secret)
		if len(trimmed) >= shortest && !strings.Contains("[redacted]", trimmed) && strings.Contains(out.String(), trimmed) && !strings.Contains(trimmed, "redacted") {
			t.Errorf("%q came through in %q", trimmed, out.String())
		}
	})
}

// TestNothingIsNotedAfterTheEnd: requests that are still under way when a run ends are
// no reason to say that its log cannot be written.
func TestNothingIsNotedAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	log, err := Open(t.Context(), dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	log.OnFailure(func(err error) { t.Errorf("told of a failure: %v", err) })
	var late sync.WaitGroup
	for range 4 {
		late.Go(func() {
			for range 100 {
				log.Printf("a watch went on")
			}
		})
	}
	log.Printf("the last line")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log.Printf("too late")
	late.Wait()
	text, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil || !strings.Contains(string(text), "the last line") || strings.Contains(string(text), "too late") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestNoLinkIsFollowed: a user who may write to the folder must not make oaictl append to another file and change its
// mode.
func TestNoLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, Name)); err != nil {
		t.Fatal(err)
	}
	log, err := Open(t.Context(), dir, time.Now)
	if err == nil {
		_ = log.Close()
		t.Error("the link was followed")
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o644 || info.Size() != int64(len("theirs")) {
		t.Errorf("the other file is %v, %v", info, err)
	}
}
