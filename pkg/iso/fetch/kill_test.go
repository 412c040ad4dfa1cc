package fetch_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// TestChild is not a test: it is the process that TestKilledDownloadIsResumed
// kills.
func TestChild(t *testing.T) {
	location, dir, ok := strings.Cut(os.Getenv("FETCH_CHILD"), " ")
	if !ok {
		t.Skip("only run by TestKilledDownloadIsResumed")
	}
	_, err := fetch.New(fetch.Config{Dir: dir}).Get(t.Context(), fetch.Source{Location: location}, nil)
	t.Errorf("the download ended: %v", err)
}

func TestKilledDownloadIsResumed(t *testing.T) {
	whole := random(4 << 20)
	sent := make(chan struct{})
	first := true
	var resumedAt string
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if first {
			first = false
			w.Header().Set("Content-Length", "4194304")
			_, _ = w.Write(whole[:3<<20])
			w.(http.Flusher).Flush()
			close(sent)
			<-r.Context().Done() // until the child is dead
			return
		}
		resumedAt = r.Header.Get("Range")
		(&origin{content: whole, etag: `"a"`}).ServeHTTP(w, r)
	}))
	c, dir := newCache(t, 0)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), "FETCH_CHILD="+url+" "+dir)
	must.Do(t, child.Start())
	<-sent
	// It holds its lock: nothing of it is used while it lives.
	waiting := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		file, err := fetch.New(fetch.Config{Dir: dir}).Get(t.Context(), fetch.Source{Location: url}, func(n, _ int64) {
			if n >= 2<<20 {
				select {
				case waiting <- struct{}{}:
				default:
				}
			}
		})
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		check.Equal(t, file.SHA256, sum(whole))
	}()
	<-waiting
	must.Do(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	<-done
	if !strings.HasPrefix(resumedAt, "bytes=") || resumedAt == "bytes=0-" {
		t.Errorf("resumed at %q", resumedAt)
	}
	get(t, c, fetch.Source{Location: url}, whole)
}
