package pipes_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/pipes"
)

// TestServe asks a handler that takes an hour on the clock of the bubble. After Close there is no connection.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pipes.Serve(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "asked "+r.Host)
		}))
		transport := &http.Transport{DialContext: server.Dial}
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://service.example.com/", nil))(t)
		response := must.Get((&http.Client{Transport: transport}).Do(request))(t)
		check.Equal(t, string(must.Get(io.ReadAll(response.Body))(t)), "asked service.example.com")
		must.Do(t, response.Body.Close())
		transport.CloseIdleConnections()
		must.Do(t, server.Close())
		if _, err := server.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a connection after the end: %v", err)
		}
	})
}

// TestDialEndsWithItsContext: a server that accepts nothing does not hold its clients.
func TestDialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server := &pipes.Server{}
	if _, err := server.Dial(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a connection: %v", err)
	}
}
