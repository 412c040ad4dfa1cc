package embed

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
)

// The most that Unpack takes in: far above what any live system is given, far
// below what hurts.
const (
	maxUnpacked = 64 << 20
	maxMembers  = 100_000
)

// Unpack gives back what a live system would find of an area: every member as
// its last copy has it, in the order of their first copies, the content of hard
// links with each of their names, and names cleaned to paths below the root.
// Directories are left out where Pack makes the same ones for what is in them.
//
// The compression is None, Gzip, XZ or Zstd, joined by "+" where archives differ,
// and empty where the area holds only zeros. Damage is an error that names the
// byte.
func Unpack(area []byte) (members []Member, compression string, err error) {
	c := collector{at: map[string]int{}, links: map[link]*shared{}}
	seen, err := Walk(bytes.NewReader(area), int64(len(area)), maxUnpacked, c.take)
	if err != nil {
		return nil, "", fmt.Errorf("unpack %d bytes: %w", len(area), err)
	}
	return c.withoutMadeDirectories(), strings.Join(seen, "+"), nil
}

// link tells files of one archive apart that have several names.
type link struct {
	archive int
	inode   uint32
	device  [2]uint32
}

// shared is what is known of a file with several names: its content, or the
// names that still wait for it.
type shared struct {
	data    []byte
	waiting []string
}

type collector struct {
	members []Member
	at      map[string]int // name → place in members
	links   map[link]*shared
}

func (c *collector) take(h cpio.Header, content io.Reader) error {
	name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	if name == "" { // the root itself
		return nil
	}
	if len(c.members) >= maxMembers {
		return fmt.Errorf("%w: more than %d members", ErrTooMuch, maxMembers)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	m := Member{Name: name, Mode: h.Mode, Data: data}
	if h.Kind() == cpio.TypeRegular {
		m.Mode &^= cpio.TypeMask
	}
	if h.Links > 1 && h.Kind() == cpio.TypeRegular {
		c.share(link{h.Archive, h.Inode, h.Device}, &m)
	}
	c.put(m)
	return nil
}

func (c *collector) put(m Member) {
	if i, there := c.at[m.Name]; there {
		c.members[i] = m
		return
	}
	c.at[m.Name] = len(c.members)
	c.members = append(c.members, m)
}

// share gives the content to all names of a file, whichever came with it.
func (c *collector) share(l link, m *Member) {
	s := c.links[l]
	if s == nil {
		s = &shared{}
		c.links[l] = s
	}
	switch {
	case len(m.Data) > 0:
		for _, name := range s.waiting {
			c.members[c.at[name]].Data = m.Data
		}
		s.data, s.waiting = m.Data, nil
	case s.data != nil:
		m.Data = s.data
	default:
		s.waiting = append(s.waiting, m.Name)
	}
}

func (c *collector) withoutMadeDirectories() []Member {
	used := map[string]bool{}
	for _, m := range c.members {
		for above := path.Dir(m.Name); above != "." && !used[above]; above = path.Dir(above) {
			used[above] = true
		}
	}
	kept := c.members[:0]
	for _, m := range c.members {
		if m.Mode == cpio.TypeDirectory|0o755 && used[m.Name] {
			continue
		}
		kept = append(kept, m)
	}
	return kept
}
