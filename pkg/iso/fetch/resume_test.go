package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

func TestDownloadIsResumed(t *testing.T) {
	whole := random(5 << 20)
	tests := map[string]struct {
		etag    string
		sha256  bool
		noRange bool
		fails   bool // without an ETag and a digest nothing can be resumed, and no answer is complete
	}{
		"by ETag":              {etag: `"a"`},
		"by digest":            {sha256: true},
		"by both":              {etag: `"a"`, sha256: true},
		"weak ETag":            {etag: `W/"a"`, fails: true},
		"without either":       {fails: true},
		"server without range": {etag: `"a"`, noRange: true, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := &origin{content: whole, etag: test.etag, cutAfter: 2 << 20, noRange: test.noRange}
			src := fetch.Source{Location: o.start(t)}
			if test.sha256 {
				src.SHA256 = sum(whole)
			}
			c, dir := newCache(t, 0)
			if !test.fails {
				get(t, c, src, whole)
				if o.requests != 3 {
					t.Errorf("%d requests: %q", o.requests, o.ranges)
				}
				return
			}
			check.Says(t, check.Err(c.Get(t.Context(), src, nil)), "EOF")
			if slices.Contains(names(t, dir), "iso") {
				t.Error("an incomplete download stands under a final name")
			}
			o.mu.Lock()
			o.cutAfter = 0
			o.mu.Unlock()
			get(t, c, src, whole)
		})
	}
}

// TestPartsAreNotTheWhole has a server send less than was asked for, in answers
// that are complete by themselves.
func TestPartsAreNotTheWhole(t *testing.T) {
	whole := random(3 << 20)
	const step = 1 << 20
	for name, test := range map[string]struct {
		asked bool   // whether the server sends parts only where it was asked for some
		size  string // as Content-Range says it
		fails string
	}{
		"size said later":       {asked: true, size: "3145728"},
		"size never said":       {asked: true, size: "*"},
		"parts from the outset": {size: "3145728", fails: "206 Partial Content"},
	} {
		t.Run(name, func(t *testing.T) {
			interrupted := false
			url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var first int
				_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first)
				w.Header().Set("ETag", `"a"`)
				if err != nil && test.asked { // all of it, without a Content-Length
					send := len(whole)
					if !interrupted {
						send = step
					}
					for at := 0; at < send; at += step {
						_, _ = w.Write(whole[at : at+step])
						w.(http.Flusher).Flush()
					}
					if !interrupted {
						interrupted = true
						panic(http.ErrAbortHandler)
					}
					return
				}
				last := min(first+step, len(whole))
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", first, last-1, test.size))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(whole[first:last])
			}))
			c, _ := newCache(t, 0)
			if test.fails == "" {
				get(t, c, fetch.Source{Location: url}, whole)
				return
			}
			check.Says(t, check.Err(c.Get(t.Context(), fetch.Source{Location: url}, nil)), test.fails)
		})
	}
}

func TestPartOutlivesItsProcess(t *testing.T) {
	whole := random(4 << 20)
	o := &origin{content: whole, etag: `"a"`}
	src := fetch.Source{Location: o.start(t)}
	c, dir := newCache(t, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	_, err := c.Get(ctx, src, func(done, total int64) {
		if done >= 1<<20 {
			cancel(enough)
		}
	})
	if !errors.Is(err, enough) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff([]string{"part", "part.json"}, names(t, dir)); diff != "" {
		t.Fatal(diff)
	}

	var began int64 = -1
	file := must.Get(c.Get(t.Context(), src, func(done, total int64) {
		if began < 0 {
			began = done
		}
		check.Equal(t, total, int64(len(whole)), "total")
	}))(t)
	defer file.Close()
	if began < 1<<20 || file.SHA256 != sum(whole) || !strings.HasPrefix(o.ranges[1], "bytes=") {
		t.Errorf("began at %d with %q: %s", began, o.ranges, file.SHA256)
	}
}

func TestContentThatChangesWhileItIsResumed(t *testing.T) {
	before := random(4 << 20)
	for name, test := range map[string]struct {
		etags    [2]string
		size     int
		digest   bool
		ifRange  bool // whether the server minds If-Range
		requests int
	}{
		"the ETag says so":                     {[2]string{`"a"`, `"b"`}, 4<<20 - 1, false, true, 3},
		"the server does not mind If-Range":    {[2]string{`"a"`, `"b"`}, 4<<20 - 1, false, false, 4},
		"only the digest shows it":             {[2]string{"", ""}, 4<<20 - 2, true, true, 4},
		"it is shorter than what was got once": {[2]string{`"a"`, `"a"`}, 3 << 20, false, true, 4},
	} {
		t.Run(name, func(t *testing.T) {
			after := random(test.size)
			if test.size > 3<<20 { // the same size as before
				after = append(after, before[:len(before)-len(after)]...)
			}
			o := &origin{content: before, etag: test.etags[0], cutAfter: 3<<20 + 5, status: []int{0, 403}, noIfRange: !test.ifRange}
			src := fetch.Source{Location: o.start(t)}
			if test.digest {
				src.SHA256 = sum(after)
			}
			c, _ := newCache(t, 0)
			if _, err := c.Get(t.Context(), src, nil); err == nil {
				t.Fatal("no error")
			}
			o.mu.Lock()
			o.content, o.etag, o.cutAfter = after, test.etags[1], 0
			o.mu.Unlock()
			get(t, c, src, after)
			if o.requests != test.requests {
				t.Errorf("%d requests: %q", o.requests, o.ranges)
			}
		})
	}
}
