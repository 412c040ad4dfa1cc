package bmc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// How a controller reads media: in full what fits its patience, else only what the machine asks for.
const (
	chunk     = 1 << 20
	smallest  = 64 << 10
	mostWhole = 64 << 20
	patience  = 30 * time.Second // real time, for one request
)

// A machine that boots hangs at its drive while the controller cannot reach the server of the media.
const (
	reconnectEvery  = 20 * time.Second
	reconnectWithin = 30 * time.Minute
)

type mediaReader struct {
	client *http.Client
	clock  clock.Clock
}

// ReadMedia opens the media behind a URL as a controller does for its machine: what is not
// there yet is read when the machine asks for it, until ctx ends. waits is told why their
// server is waited for.
func ReadMedia(ctx context.Context, c clock.Clock, url string, waits func(error)) (io.ReaderAt, int64, error) {
	content, err := newMediaReader(c).read(ctx, url, waits)
	if err != nil {
		return nil, 0, err
	}
	return content, content.Size(), nil
}

func newMediaReader(c clock.Clock) *mediaReader {
	return &mediaReader{clock: c, client: &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			// Controllers come without a list of authorities and do not verify where they read media from.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // real controllers do not verify it either
			IdleConnTimeout: patience, MaxIdleConnsPerHost: 2,
		},
	}}
}

// content is the media behind a URL. What is not there yet is read when the machine asks for it.
type content struct {
	ctx    context.Context // of the machine's start, which ends with its power
	reader *mediaReader
	waits  func(error) // is told why a server is waited for
	url    string
	size   int64

	mu     sync.Mutex
	chunks map[int64][]byte
}

// read opens media until ctx ends, and reads small ones in full; waits is called when their server is away.
func (m *mediaReader) read(ctx context.Context, url string, waits func(error)) (*content, error) {
	var size int64
	err := m.patiently(ctx, waits, func() (err error) {
		size, err = m.measure(ctx, url)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &content{ctx: ctx, reader: m, waits: waits, url: url, size: size, chunks: map[int64][]byte{}}
	if size > mostWhole {
		return c, nil
	}
	for at := int64(0); at < size; at += chunk {
		if _, err := c.chunkAt(at); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// patiently does something again while the server is away, for a while.
func (m *mediaReader) patiently(ctx context.Context, waits func(error), do func() error) error {
	for since := (time.Time{}); ; {
		err := do()
		if ended := context.Cause(ctx); err != nil && ended != nil {
			return ended
		}
		if err == nil || !away(err) {
			return err
		}
		if since.IsZero() {
			since = m.clock.Now()
			waits(err)
		}
		if m.clock.Now().Sub(since) >= reconnectWithin {
			return err
		}
		if err := m.clock.Sleep(ctx, reconnectEvery); err != nil {
			return err
		}
	}
}

// away says whether a server cannot be reached, or hangs up. One that answers anything is there.
func away(err error) bool {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return !strings.HasSuffix(network.Op, " error") // where the sides do not agree on TLS
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

var errNoRanges = errors.New("the server does not serve ranges")

// measure asks for the size (HEAD), and whether ranges are served.
func (m *mediaReader) measure(ctx context.Context, url string) (int64, error) {
	response, err := m.ask(ctx, http.MethodHead, url, "")
	if err != nil {
		return 0, err
	}
	_ = response.Body.Close()
	switch {
	case response.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("HEAD %s: the server answers %s", withoutSecrets(url), response.Status)
	case response.ContentLength <= 0:
		return 0, fmt.Errorf("HEAD %s: the server tells no length", withoutSecrets(url))
	case response.Header.Get("Accept-Ranges") != "bytes":
		return 0, fmt.Errorf("HEAD %s: %w", withoutSecrets(url), errNoRanges)
	}
	return response.ContentLength, nil
}

func (m *mediaReader) ask(ctx context.Context, method, address, ranges string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make the request for the media: %w", err)
	}
	if ranges != "" {
		request.Header.Set("Range", ranges)
	}
	response, err := m.client.Do(request)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err // without the address, which may hold a secret
		}
		return nil, fmt.Errorf("%s %s: %w", method, withoutSecrets(address), err)
	}
	return response, nil
}

func (c *content) Size() int64 { return c.size }

func (c *content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read media at %d", off)
	}
	n := 0
	for n < len(p) && off < c.size {
		piece, err := c.chunkAt(off - off%chunk)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], piece[off%chunk:])
		n, off = n+copied, off+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// chunkAt is the chunk at an offset. The very first bytes have a small range of their own: controllers probe so.
func (c *content) chunkAt(at int64) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if piece, ok := c.chunks[at]; ok {
		return piece, nil
	}
	end := min(at+chunk, c.size)
	var piece bytes.Buffer
	for from := at; from < end; {
		to := end
		if at == 0 && from == 0 {
			to = min(end, smallest)
		}
		read := piece.Len()
		if err := c.reader.patiently(c.ctx, c.waits, func() error {
			piece.Truncate(read)
			return c.fetch(&piece, from, to)
		}); err != nil {
			return nil, err
		}
		from = to
	}
	c.chunks[at] = piece.Bytes()
	return piece.Bytes(), nil
}

func (c *content) fetch(into *bytes.Buffer, from, to int64) error {
	response, err := c.reader.ask(c.ctx, http.MethodGet, c.url, fmt.Sprintf("bytes=%d-%d", from, to-1))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	want := fmt.Sprintf("bytes %d-%d/%d", from, to-1, c.size)
	if got := response.Header.Get("Content-Range"); response.StatusCode != http.StatusPartialContent || got != want {
		return fmt.Errorf("GET %s: the server answers %s %q, not %q", withoutSecrets(c.url), response.Status, got, want)
	}
	n, err := io.Copy(into, io.LimitReader(response.Body, to-from))
	if err != nil {
		return fmt.Errorf("GET %s: read bytes %d to %d: %w", withoutSecrets(c.url), from, to, err)
	}
	if n != to-from {
		return fmt.Errorf("GET %s: the answer to bytes %d to %d ends after %d", withoutSecrets(c.url), from, to, n)
	}
	return nil
}

// withoutSecrets is the server of a URL: what opens it may be in the rest.
func withoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Scheme + "://" + u.Host + "/…"
}
