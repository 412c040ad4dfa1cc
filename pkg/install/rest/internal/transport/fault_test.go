package transport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestRecordedErrors reads every error that was recorded from a real service, where
// OAICTL_RECORDINGS names the recordings.
func TestRecordedErrors(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s (%v)", folder, err)
	}
	read := 0
	for _, name := range files {
		file := must.Get(os.Open(name))(t)
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var exchange struct {
				Method, Path string
				Status       int
				Response     json.RawMessage
			}
			must.Do(t, json.Unmarshal(lines.Bytes(), &exchange))
			if exchange.Status < 400 {
				continue
			}
			read++
			if kind, reason := errorShape(exchange.Response); kind == shapeless || reason == "" {
				t.Errorf("%s %s: error without a shape: %s", exchange.Method, exchange.Path, exchange.Response)
			}
		}
		_ = file.Close()
	}
	if read == 0 {
		t.Error("no error was recorded")
	}
}

func FuzzErrorShape(f *testing.F) {
	for _, seed := range []string{"", "{", `{"code":"409","reason":"x"}`, `{"code":400,"message":"x"}`, "<title>a", "<html><TITLE> x </title>", `{"code":{},"reason":7}`, "\x00\xff", "[1]", "İ<title>İ</title>"} {
		f.Add([]byte(seed), "7")
	}
	f.Fuzz(func(t *testing.T, body []byte, after string) {
		resp := &http.Response{StatusCode: 500, Header: http.Header{"Retry-After": {after}}}
		e := readError(resp, body, time.Unix(0, 0), hiding(""))
		if e.reason == "" || len(e.reason) > 3000 || e.retryAfter < 0 {
			t.Errorf("reason %q, retry after %s", e.reason, e.retryAfter)
		}
		_ = fmt.Sprint(e)
	})
}
