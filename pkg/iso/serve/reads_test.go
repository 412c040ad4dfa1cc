package serve_test

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// counted is a base that counts the bytes that are read of it.
type counted struct {
	io.ReaderAt
	read atomic.Int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.read.Add(int64(len(p)))
	return c.ReaderAt.ReadAt(p, off)
}

// TestOnlyWhatIsSentIsRead reads nothing of a base for what its image says of itself.
func TestOnlyWhatIsSentIsRead(t *testing.T) {
	const size = 1 << 20
	source := &counted{ReaderAt: bytes.NewReader(random(size, 1))}
	s := newServer(t, serve.Config{})
	image := overlay.New(source, size)
	image.Overlay(5000, []byte("ignition of m-0"))
	set(t, s, "m-0", iso(image))
	url := s.URL("m-0", serve.ISO)
	etag := ask(s, "HEAD", url).Header().Get("ETag")
	for name, test := range map[string]struct {
		method string
		header []string
		status int
		read   int64
	}{
		"head":           {"HEAD", nil, 200, 0},
		"head of a part": {"HEAD", []string{"Range", "bytes=0-99"}, 206, 0},
		"not modified":   {"GET", []string{"If-None-Match", etag}, 304, 0},
		"beyond":         {"GET", []string{"Range", "bytes=1048576-"}, 416, 0},
		"what was added": {"GET", []string{"Range", "bytes=5000-5014"}, 206, 0},
		"a part":         {"GET", []string{"Range", "bytes=4990-5023"}, 206, 34 - 15},
		"whole":          {"GET", nil, 200, size - 15},
	} {
		source.read.Store(0)
		if got := ask(s, test.method, url, test.header...); got.Code != test.status || source.read.Load() != test.read {
			t.Errorf("%s: %d, %d bytes of the base were read, want %d", name, got.Code, source.read.Load(), test.read)
		}
	}
}
