package boot

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// liveISO makes a live image.
func liveISO(path string) error {
	command := exec.Command("go", "run", "github.com/oaictl/oaictl/pkg/iso/internal/isotest/isofixture", "x86_64-2023-07", path)
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make a live image: %w: %s", err, text)
	}
	return nil
}

// aBase is a base image at a server that answers with handle.
func aBase(t *testing.T, arch spec.Arch, handle http.HandlerFunc) *baseImage {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	ctx, stop := context.WithCancel(t.Context())
	b := &baseImage{ctx: ctx, arch: arch, dir: t.TempDir(), where: func(context.Context) (fetch.Source, error) {
		return fetch.Source{Location: server.URL + "/live.iso"}, nil
	}}
	t.Cleanup(func() {
		stop()
		check.Do(t, b.close())
	})
	return b
}

// TestBaseImageIsOnItsWay says how far a slow download is, without waiting for
// it, and fetches once.
func TestBaseImageIsOnItsWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.iso")
	must.Do(t, liveISO(path))
	data := must.Get(os.ReadFile(path))(t)
	half, sent, rest := make(chan struct{}), make(chan struct{}, 2), make(chan struct{})
	var asked atomic.Int32
	b := aBase(t, spec.X86, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		asked.Add(1)
		<-half
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:len(data)*6/10])
		_ = http.NewResponseController(w).Flush()
		sent <- struct{}{}
		<-rest
		_, _ = w.Write(data[len(data)*6/10:])
	})
	at := func() string {
		over, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		return b.missing(over)
	}
	if got := at(); !strings.HasPrefix(got, "its live image is being downloaded, 0 B") {
		t.Errorf("before the first byte: %q", got)
	}
	close(half)
	<-sent
	for end := time.Now().Add(10 * time.Second); !strings.Contains(at(), " 50% of "); {
		if time.Now().After(end) {
			t.Fatalf("with half of it here: %q", at())
		}
	}
	if b.path() != "" {
		t.Error("half an image has a path")
	}
	close(rest)
	base := must.Get(b.open(t.Context()))(t)
	if again, err := b.open(t.Context()); again != base || err != nil || at() != "" || b.path() == "" || asked.Load() != 1 {
		t.Errorf("a second time: %v, %q at %q, fetched %d times", err, at(), b.path(), asked.Load())
	}
}

// TestBaseImageIsTriedAgain does not remember an error for good, and refuses
// what the machines cannot boot.
func TestBaseImageIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.iso")
	must.Do(t, liveISO(path))
	var gone atomic.Bool
	gone.Store(true)
	handle := func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, path)
	}
	b := aBase(t, spec.X86, handle)
	check.Says(t, check.Err(b.open(t.Context())), "404", "an image that is not there")
	gone.Store(false)
	check.Do(t, check.Err(b.open(t.Context())), "once it is there")
	arm := aBase(t, spec.ARM, handle)
	if _, err := arm.open(t.Context()); model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "it is for x86_64, but the machines are aarch64") {
		t.Errorf("an image for other machines: %v", err)
	}
}
