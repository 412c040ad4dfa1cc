package overlay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

func TestExtents(t *testing.T) {
	base := bytes.NewReader(noise(1, 100))
	memory := func(off, n int64) overlay.Extent {
		return overlay.Extent{Offset: off, Length: n, Kind: overlay.Memory}
	}
	from := func(off, n, src int64) overlay.Extent {
		return overlay.Extent{Offset: off, Length: n, Kind: overlay.Base, SourceOffset: src}
	}
	zero := func(off, n int64) overlay.Extent {
		return overlay.Extent{Offset: off, Length: n, Kind: overlay.Zero}
	}
	tests := map[string]struct {
		change func(*overlay.Image)
		want   []overlay.Extent
	}{
		"untouched":             {func(*overlay.Image) {}, []overlay.Extent{from(0, 100, 0)}},
		"in the middle":         {func(m *overlay.Image) { m.Overlay(40, make([]byte, 20)) }, []overlay.Extent{from(0, 40, 0), memory(40, 20), from(60, 40, 60)}},
		"at the start":          {func(m *overlay.Image) { m.Overlay(0, make([]byte, 20)) }, []overlay.Extent{memory(0, 20), from(20, 80, 20)}},
		"across the end":        {func(m *overlay.Image) { m.Overlay(90, make([]byte, 20)) }, []overlay.Extent{from(0, 90, 0), memory(90, 20)}},
		"beyond the end":        {func(m *overlay.Image) { m.Overlay(110, make([]byte, 5)) }, []overlay.Extent{from(0, 100, 0), zero(100, 10), memory(110, 5)}},
		"nothing":               {func(m *overlay.Image) { m.Overlay(300, nil) }, []overlay.Extent{from(0, 100, 0)}},
		"all of it":             {func(m *overlay.Image) { m.Zero(0, 100) }, []overlay.Extent{zero(0, 100)}},
		"zeros meet":            {func(m *overlay.Image) { m.Zero(10, 10); m.Zero(20, 10); m.Zero(5, 7) }, []overlay.Extent{from(0, 5, 0), zero(5, 25), from(30, 70, 30)}},
		"put back":              {func(m *overlay.Image) { m.Zero(10, 10); m.OverlayFrom(10, base, 10, 10) }, []overlay.Extent{from(0, 100, 0)}},
		"moved":                 {func(m *overlay.Image) { m.OverlayFrom(10, base, 50, 10) }, []overlay.Extent{from(0, 10, 0), from(10, 10, 50), from(20, 80, 20)}},
		"cut":                   {func(m *overlay.Image) { m.Truncate(30) }, []overlay.Extent{from(0, 30, 0)}},
		"cut to nothing":        {func(m *overlay.Image) { m.Truncate(0) }, []overlay.Extent{}},
		"lengthened":            {func(m *overlay.Image) { m.Truncate(130) }, []overlay.Extent{from(0, 100, 0), zero(100, 30)}},
		"followed by itself":    {func(m *overlay.Image) { m.OverlayFrom(100, m, 0, 100) }, []overlay.Extent{from(0, 100, 0), from(100, 100, 0)}},
		"followed by a part":    {func(m *overlay.Image) { m.OverlayFrom(100, m, 90, 10) }, []overlay.Extent{from(0, 100, 0), from(100, 10, 90)}},
		"an overlay's overlay":  {func(m *overlay.Image) { m.Overlay(10, make([]byte, 30)); m.Zero(20, 10) }, []overlay.Extent{from(0, 10, 0), memory(10, 10), zero(20, 10), memory(30, 10), from(40, 60, 40)}},
		"farther than 32 bits":  {func(m *overlay.Image) { m.Overlay(1<<40, []byte("x")) }, []overlay.Extent{from(0, 100, 0), zero(100, 1<<40-100), memory(1<<40, 1)}},
		"a patched image again": {func(m *overlay.Image) { *m = *overlay.New(m, 100); m.Zero(99, 1) }, []overlay.Extent{from(0, 99, 0), zero(99, 1)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := overlay.New(base, 100)
			test.change(m)
			check.Same(t, test.want, m.Extents())
			var size int64
			for _, e := range m.Extents() {
				size += e.Length
			}
			if size != m.Size() {
				t.Errorf("the extents hold %d bytes of %d", size, m.Size())
			}
		})
	}
}

// TestAgainstBytes changes images and plain byte slices alike, at random, and
// wants the same content however it is read.
func TestAgainstBytes(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			pair := newPair(t, random)
			for range 25 {
				pair.change(random)
				got := make([]byte, len(pair.want)+1)
				if n, err := pair.image.ReadAt(got, 0); err != io.EOF || !bytes.Equal(got[:n], pair.want) {
					t.Fatalf("%v: %v", pair.image.Extents(), err)
				}
				off := random.Int64N(int64(len(pair.want)) + 1)
				n := random.Int64N(int64(len(pair.want)) - off + 1)
				var part bytes.Buffer
				if _, err := pair.image.WriteRange(&part, off, n); err != nil || !bytes.Equal(part.Bytes(), pair.want[off:off+n]) {
					t.Fatalf("[%d, %d) of %v: %v", off, off+n, pair.image.Extents(), err)
				}
			}
			checkFile(t, pair)
			checkDigest(t, pair)
		})
	}
}

// pair is an image and what it has to hold.
type pair struct {
	image   *overlay.Image
	want    []byte
	sources []source
}

type source struct {
	reader  io.ReaderAt
	content []byte
}

func newPair(t *testing.T, random *rand.Rand) *pair {
	t.Helper()
	inFile, inMemory := noise(random.Uint64(), 90_000), noise(random.Uint64(), 5_000)
	clear(inFile[4096:40_000])
	p := &pair{sources: []source{{file(t, inFile), inFile}, {bytes.NewReader(inMemory), inMemory}}}
	first := p.sources[random.IntN(2)]
	p.image, p.want = overlay.New(first.reader, int64(len(first.content))), bytes.Clone(first.content)
	return p
}

// change does one thing to both.
func (p *pair) change(random *rand.Rand) {
	size := int64(len(p.want))
	off, n := random.Int64N(size+200), random.Int64N(30_000)
	switch random.IntN(8) {
	case 0, 1:
		data := noise(random.Uint64(), int(n))
		p.image.Overlay(off, data)
		p.put(off, data)
	case 2:
		p.image.Zero(off, n)
		p.put(off, make([]byte, n))
	case 3, 4:
		s := p.sources[random.IntN(len(p.sources))]
		at := random.Int64N(int64(len(s.content)))
		n = min(n, int64(len(s.content))-at)
		p.image.OverlayFrom(off, s.reader, at, n)
		p.put(off, s.content[at:at+n])
	case 5:
		p.image.Truncate(off)
		p.want = append(p.want, make([]byte, 200)...)[:off]
	case 6:
		off = min(off, size)
		n = min(n, size-off)
		p.image.OverlayFrom(size, p.image, off, n)
		p.want = append(p.want, p.want[off:off+n]...)
	case 7:
		before := p.image
		p.image = before.Clone()
		before.Zero(0, size+1) // must not show in the clone
	}
}

func (p *pair) put(off int64, data []byte) {
	if len(data) == 0 {
		return
	}
	if more := off + int64(len(data)) - int64(len(p.want)); more > 0 {
		p.want = append(p.want, make([]byte, more)...)
	}
	copy(p.want[off:], data)
}

func TestShortBase(t *testing.T) {
	for name, base := range map[string]io.ReaderAt{
		"memory": bytes.NewReader(noise(1, 50_000)),
		"file":   file(t, noise(1, 50_000)),
	} {
		t.Run(name, func(t *testing.T) {
			m := overlay.New(base, 90_000)
			if _, err := m.ReadAt(make([]byte, 90_000), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("reading: %v", err)
			}
			if _, err := io.Copy(io.Discard, m.Reader()); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("copying: %v", err)
			}
			if _, err := m.Digest(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("digesting: %v", err)
			}
			path := filepath.Join(t.TempDir(), "out")
			if _, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("writing: %v", err)
			}
			if _, err := os.Lstat(path); err == nil {
				t.Error("there is a file")
			}
		})
	}
}

func TestReader(t *testing.T) {
	content := noise(1, 700)
	m := overlay.New(file(t, content), 700)
	m.Overlay(100, []byte("patch"))
	copy(content[100:], "patch")
	check.Do(t, iotest.TestReader(m.Reader(), content))
}

// TestManyReaders reads one image from many goroutines, in every way at once.
func TestManyReaders(t *testing.T) {
	m, want := patched(t, 300_000)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			off := int64(i * 20_000)
			got := make([]byte, 100_000)
			if _, err := m.ReadAt(got, off); err != nil || !bytes.Equal(got, want[off:off+100_000]) {
				t.Errorf("reading at %d: %v", off, err)
			}
			var sent bytes.Buffer
			if _, err := m.WriteRange(&sent, off, 100_000); err != nil || !bytes.Equal(sent.Bytes(), got) {
				t.Errorf("sending from %d: %v", off, err)
			}
			changed := m.Clone()
			changed.Zero(off, 100_000)
			if _, err := changed.ReadAt(got, off); err != nil || bytes.Equal(got, want[off:off+100_000]) {
				t.Error("a clone's change does not show")
			}
		})
	}
	group.Wait()
}

func TestReadingOutside(t *testing.T) {
	m := overlay.Bytes([]byte("content"))
	if n, err := m.ReadAt(make([]byte, 4), 5); n != 2 || err != io.EOF {
		t.Errorf("across the end: %d, %v", n, err)
	}
	if n, err := m.ReadAt(make([]byte, 4), 7); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if _, err := m.ReadAt(make([]byte, 4), -1); err == nil || err == io.EOF {
		t.Errorf("before the start: %v", err)
	}
	if n, err := m.WriteRange(io.Discard, 5, math.MaxInt64); n != 2 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("writing across the end: %d, %v", n, err)
	}
	if _, err := m.WriteRange(io.Discard, 8, 1); err == nil {
		t.Error("writing from beyond the end is no error")
	}
}

func TestImpossibleChanges(t *testing.T) {
	tests := map[string]func(*overlay.Image){
		"a negative offset":    func(m *overlay.Image) { m.Overlay(-1, nil) },
		"a negative length":    func(m *overlay.Image) { m.Zero(0, -1) },
		"a negative size":      func(m *overlay.Image) { m.Truncate(-1) },
		"beyond all files":     func(m *overlay.Image) { m.Zero(math.MaxInt64, 1) },
		"a slice over the end": func(m *overlay.Image) { m.Slice(5, 3) },
		"a source's far end":   func(m *overlay.Image) { m.OverlayFrom(0, m, 5, 3) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			change(overlay.Bytes([]byte("content")))
		})
	}
}

// noise is n bytes that are the same each time and compress badly.
func noise(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, seed))
	data := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		v := random.Uint64()
		for j := range 8 {
			data[i+j] = byte(v >> (8 * j))
		}
	}
	return data[:n]
}

// file is an open file of the given content.
func file(tb testing.TB, content []byte) *os.File {
	tb.Helper()
	f := must.Get(os.CreateTemp(tb.TempDir(), "base"))(tb)
	tb.Cleanup(func() { f.Close() })
	must.Get(f.Write(content))(tb)
	return f
}
