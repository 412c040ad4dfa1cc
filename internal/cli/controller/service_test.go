package controller

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// hand is a clock that is set by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (c *hand) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *hand) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (c *hand) Wall(d time.Duration) time.Duration { return d }

// TestCredentialsAreReadAgain: a Secret that is mounted is written anew while the process runs.
func TestCredentialsAreReadAgain(t *testing.T) {
	var mu sync.Mutex
	good, seen := "first", ""
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if seen = r.Header.Get("Authorization"); seen != "Bearer "+good {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("[]"))
	}))
	defer service.Close()
	dir, clock := t.TempDir(), &hand{now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := app.New(app.Identify([]string{"oaictl"}), streams.Streams{Out: &strings.Builder{}, Err: &strings.Builder{}}, streams.Env{})
	a.Clock = clock
	o := &options{App: a, CredentialsDir: dir}
	o.Globals.ServiceURL = service.URL
	put(fileToken, "first\n")
	plane, err := o.service()
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	list := func() error {
		_, err := plane.ListClusters(t.Context())
		return err
	}
	if err := list(); err == nil {
		t.Fatal("a certificate that nobody trusts is taken")
	}
	put(fileCA, string(pemOf(service)))
	_ = clock.Sleep(t.Context(), readAgain)
	if err := list(); err != nil {
		t.Fatalf("with its authority: %v", err)
	}
	mu.Lock()
	good = "second"
	mu.Unlock()
	put(fileToken, "second\n")
	if err := list(); err != nil {
		t.Errorf("a refused token is not read again: %v (it has sent %s)", err, seen)
	}
	put(fileToken, "")
	_ = clock.Sleep(t.Context(), readAgain)
	if err := list(); err != nil {
		t.Errorf("a file that cannot be used puts away what was read: %v", err)
	}
	t.Run("what is missing is told", func(t *testing.T) {
		o := &options{App: a, CredentialsDir: dir}
		o.Globals.ServiceURL = service.URL
		if _, err := o.service(); model.FaultOf(err).Code != model.CodeUsage {
			t.Errorf("an empty token: %v", err)
		}
	})
	t.Run("a service account", func(t *testing.T) {
		for _, name := range []string{fileToken, fileCA} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		put(fileClientID, "id")
		put(fileClientSecret, "secret")
		c, err := o.connection()
		if err != nil || c.ClientID != "id" || c.ClientSecretFile != filepath.Join(dir, fileClientSecret) || c.TokenFile+c.CAFile != "" {
			t.Errorf("it is reached as %+v, %v", c, err)
		}
	})
}

func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
