package serve

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// stands is a clock that only the test moves.
type stands struct {
	clock.Clock
	now time.Time
}

func (s *stands) Now() time.Time { return s.now }

// TestSharedOutlivesHosts has a host that comes for the root filesystem only long
// after it was promised.
func TestSharedOutlivesHosts(t *testing.T) {
	clk := &stands{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	s := must.Get(New(Config{Key: []byte("0123456789abcdef"), Clock: clk, Expire: time.Hour}))(t)
	image := overlay.Bytes([]byte("image"))
	must.Do(t, s.SetRootfs("base", File{Image: image}))
	there := func() bool {
		s.expire()
		_, f := s.lookup(s.RootfsURL("base"))
		return f != nil
	}
	clk.now = clk.now.Add(50 * time.Minute)
	must.Do(t, s.Set("m-0", File{Kind: ISO, Image: image}))
	clk.now = clk.now.Add(50 * time.Minute)
	if !there() {
		t.Error("the root filesystem is gone before the host")
	}
	clk.now = clk.now.Add(50 * time.Minute)
	if there() || s.served() != 0 {
		t.Error("the root filesystem outlives all hosts")
	}
}

// TestCoverageAgainstBytes compares it with a plain list of bytes.
func TestCoverageAgainstBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const size = 300
		var c coverage
		var sent [size]bool
		for range 60 {
			off := rng.Int64N(size)
			n := rng.Int64N(min(20, size-off) + 1)
			c.add(off, n)
			for i := off; i < off+n; i++ {
				sent[i] = true
			}
			var want int64
			for _, is := range sent {
				if is {
					want++
				}
			}
			if c.bytes != want {
				t.Fatalf("%d bytes, want %d: %v", c.bytes, want, c.spans)
			}
		}
		for i := 1; i < len(c.spans); i++ {
			if c.spans[i-1].to >= c.spans[i].from {
				t.Fatalf("spans touch: %v", c.spans)
			}
		}
	}
}

func TestCoverageIsBoundedAndNeverSaysTooMuch(t *testing.T) {
	var c coverage
	const pieces = 20 * maxSpans
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(pieces) {
		c.add(int64(i)*3, 2)
		if len(c.spans) > maxSpans {
			t.Fatalf("%d spans", len(c.spans))
		}
	}
	if c.bytes > 2*pieces || c.bytes < maxSpans {
		t.Errorf("%d bytes of %d", c.bytes, 2*pieces)
	}
	var whole coverage
	for off := int64(0); off < 1<<40; off += 1 << 32 {
		whole.add(off, 1<<32)
	}
	if whole.bytes != 1<<40 || len(whole.spans) != 1 {
		t.Errorf("%d bytes in %d spans", whole.bytes, len(whole.spans))
	}
}

func TestMissesAreBounded(t *testing.T) {
	m, now := newMisses(), time.Unix(1000, 0)
	for i := range 100_000 {
		m.add(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	if len(m.byClient) > missesClients+1 {
		t.Errorf("%d clients", len(m.byClient))
	}
	late := netip.MustParseAddr("192.0.2.1")
	if !m.tooMany(late, now) {
		t.Error("a flood of clients goes uncounted")
	}
	m.add(late, now.Add(missesWithin))
	if m.tooMany(late, now.Add(missesWithin)) || len(m.byClient) > 2 {
		t.Errorf("a flood is never forgotten: %d clients", len(m.byClient))
	}
}

func FuzzParsePath(f *testing.F) {
	for _, p := range []string{"/i/abc.iso", "/n/abc/kernel", "/rootfs/abc.img", "/i/../x.iso", "", "/n/a/iso", "0/n//kernel"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		r, ok := parsePath(p)
		if !ok {
			return
		}
		again := path(r.kind, r.id)
		if r.class == sharedClass {
			again = rootfsPath(r.id)
		}
		if again != p || strings.Contains(r.id, "/") {
			t.Errorf("%q was understood as %q", p, again)
		}
	})
}

func FuzzNormalMAC(f *testing.F) {
	for _, mac := range []string{"52:54:00:00:00:0a", "5254.0000.000a", "52-54-00-00-00-0A", "", "52:54"} {
		f.Add(mac)
	}
	f.Fuzz(func(t *testing.T, mac string) {
		normal, err := normalMAC(mac)
		if err != nil {
			return
		}
		if again, err := normalMAC(normal); err != nil || again != normal || len(normal) != 17 {
			t.Errorf("%q became %q became %q, %v", mac, normal, again, err)
		}
	})
}

func TestIDsAreSpreadOut(t *testing.T) {
	n, seen := newNamer(make([]byte, 32)), map[string]bool{}
	for i := range 5000 {
		id := n.id(hostClass, fmt.Sprint("host-", i))
		if len(id) != 16 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
}
