// Package embedarea packs and unpacks what stands in an Ignition embed area: cpio
// archives, compressed or not, behind each other, with zeros between and after
// them, as the Linux kernel takes them for an initial root file system. It knows
// bytes, not where in an image they stand.
package embedarea

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
)

// The dictionary of xz is what the encoder's memory and its time to start grow
// with; beyond 1 MiB nothing is won for configurations.
const (
	minDictionary = 64 << 10
	maxDictionary = 1 << 20
)

// xz takes about a second for a megabyte. Where it has filled this many times the area, it has lost, and what gzip made
// shows how many bytes are missing.
const maxTried = 2

var errHopeless = errors.New("far more than fits")

// Packer packs archives, and keeps the memory of its compressors for the next one. The
// zero value is ready; several goroutines may use it.
type Packer struct {
	gzips sync.Pool
}

// Pack makes one compressed archive of the members: with gzip, and with xz where gzip takes more than limit bytes. What
// cannot be made to fit is a *TooLarge. A limit of 0 or less is none. The same members give the same bytes, in any
// order; two of one name are an error. No members give no bytes.
func (p *Packer) Pack(members []Member, limit int64) (data []byte, compression string, err error) {
	if len(members) == 0 {
		return nil, None, nil
	}
	if limit <= 0 {
		limit = math.MaxInt64
	}
	sorted := slices.SortedFunc(slices.Values(members), func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	var size int64
	for _, m := range sorted {
		size += int64(len(m.Data))
	}

	zipped, err := p.gzip(sorted, min(limit, size/2+4096))
	if err != nil {
		return nil, "", err
	}
	if int64(len(zipped)) <= limit {
		return zipped, Gzip, nil
	}
	tight, err := compressXZ(sorted, size, maxTried*limit)
	switch {
	case errors.Is(err, errHopeless):
		return nil, "", &TooLarge{int64(len(zipped)), limit}
	case err != nil:
		return nil, "", err
	case int64(len(tight)) > limit:
		return nil, "", &TooLarge{int64(min(len(tight), len(zipped))), limit}
	}
	return tight, XZ, nil
}

func (p *Packer) gzip(members []Member, guess int64) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(int(guess))
	w, kept := p.gzips.Get().(*gzip.Writer)
	if kept {
		w.Reset(&out)
	} else {
		w = gzip.NewWriter(&out)
	}
	if err := errors.Join(archive(w, members), w.Close()); err != nil {
		return nil, err
	}
	w.Reset(io.Discard) // holds on to no result
	p.gzips.Put(w)
	return out.Bytes(), nil
}

// compressXZ uses CRC32, the only check that the kernel's decoder knows. Beyond most
// bytes it gives up with errHopeless.
func compressXZ(members []Member, size, most int64) ([]byte, error) {
	dictionary := minDictionary
	if size > minDictionary {
		dictionary = min(1<<bits.Len64(uint64(size-1)), maxDictionary)
	}
	out := capped{most: most}
	w, err := xz.WriterConfig{CheckSum: xz.CRC32, DictCap: dictionary}.NewWriter(&out)
	if err != nil {
		return nil, fmt.Errorf("start xz: %w", err)
	}
	err = errors.Join(archive(w, members), w.Close())
	if out.over {
		return nil, errHopeless
	}
	if err != nil {
		return nil, fmt.Errorf("compress with xz: %w", err)
	}
	return out.buffer.Bytes(), nil
}

// capped takes no more than most bytes, and remembers that it refused some: the xz
// writer does not hand on every error.
type capped struct {
	buffer bytes.Buffer
	most   int64
	over   bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.over || int64(c.buffer.Len()+len(p)) > c.most {
		c.over = true
		return 0, errHopeless
	}
	return c.buffer.Write(p)
}

// archive writes the members, sorted by name, so that a directory comes before
// what is in it.
func archive(out io.Writer, members []Member) error {
	w := cpio.NewWriter(out)
	for _, m := range members {
		mode := m.Mode
		if mode&cpio.TypeMask == 0 {
			mode |= cpio.TypeRegular
		}
		if err := w.Write(m.Name, mode, m.Data); err != nil {
			return err
		}
	}
	return w.Close()
}

// The compressions that the kernel of a live system unpacks and this package
// reads. Only None, Gzip and XZ are ever written: a kernel before RHEL 9 does not
// know the others.
const (
	None = "none"
	Gzip = "gzip"
	XZ   = "xz"
	Zstd = "zstd"
)

// Member is one file of the initial root file system.
type Member struct {
	// Name is a clean path relative to the root, such as "config.ign".
	Name string
	// Mode holds the permissions. Of anything but a regular file it holds the kind
	// too, as stat(2) has it; a directory has no Data, a symbolic link's Data is its
	// target.
	Mode uint32
	Data []byte
}

// TooLarge says that members do not fit into an area, however compressed.
type TooLarge struct {
	Need int64 // bytes of the smallest archive that was made of them
	Have int64 // bytes that the area holds
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the compressed archive takes %d bytes, %d more than the %d of the embed area", e.Need, e.Need-e.Have, e.Have)
}

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

// link identifies files of one archive that have several names.
type link struct {
	archive int
	inode   uint32
	device  [2]uint32
}

// shared is a file with several names: its content, or the names that wait for it.
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
