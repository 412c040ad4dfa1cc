package transport

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
)

// slowBody brings a byte at a time, each after a while, until the request is given up.
type slowBody struct {
	ctx   context.Context
	every time.Duration
	left  int
}

func (b *slowBody) Read(data []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(b.every):
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	b.left--
	data[0] = 'x'
	return 1, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// TestSlowDownload goes on for as long as something comes, however long all of it takes.
func TestSlowDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(&slowBody{ctx: request.Context(), every: 20 * time.Second, left: 5})}, nil
		})}
		c, err := Connect(Options{URL: "http://service.example.com", Client: client, Clock: clock.Real()})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := c.Download(t.Context(), Request{Op: "download", On: "it", Path: "/v2/file"}, &out, 0); err != nil || out.String() != "xxxxx" {
			t.Errorf("%q, %v", out.String(), err)
		}
	})
}
