package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/filelock"
)

type kept struct {
	name    string // digest, or key of a download that was begun
	partial bool
	size    int64
	used    time.Time
}

// makeRoom drops what was not used for longest and is not in use, until size more
// bytes fit for the download of a key.
func (c *Cache) makeRoom(ctx context.Context, key string, size int64) error {
	if c.config.Cap <= 0 {
		return nil
	}
	if size > c.config.Cap {
		return fmt.Errorf("it has %d bytes, but the limit of the cache %s is %d", size, c.config.Dir, c.config.Cap)
	}
	room, err := waitLock(ctx, c.config.Clock, c.path("room", ".lock"), true, func() {})
	if err != nil {
		return err
	}
	defer room.Close()

	all, err := c.list(key)
	if err != nil {
		return err
	}
	var held int64
	for _, k := range all {
		held += k.size
	}
	for _, k := range all {
		if held+size <= c.config.Cap {
			return nil
		}
		if c.drop(k) {
			held -= k.size
		}
	}
	if held+size > c.config.Cap {
		return fmt.Errorf("it has %d bytes, the limit of the cache %s is %d, and %d of them are in use", size, c.config.Dir, c.config.Cap, held)
	}
	return nil
}

// list is what takes room beside the download of a key, longest unused first.
func (c *Cache) list(except string) ([]kept, error) {
	entries, err := os.ReadDir(c.config.Dir)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, entry := range entries {
		suffix := filepath.Ext(entry.Name())
		name := strings.TrimSuffix(entry.Name(), suffix)
		if suffix != ".iso" && suffix != ".part" || name == except {
			continue
		}
		info, err := entry.Info()
		if err != nil { // removed since
			continue
		}
		k := kept{name: name, partial: suffix == ".part", size: info.Size(), used: info.ModTime()}
		var b begun
		if k.partial && readJSON(c.path(name, ".part.json"), &b) {
			k.size = max(k.size, b.Total)
		}
		if use, err := os.Stat(c.path(name, ".use")); err == nil {
			k.used = use.ModTime()
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	return all, nil
}

// Forget removes what the cache has of a source, also a download that was only begun, and reports whether there was
// anything. It fails if the content is in use.
func (c *Cache) Forget(ctx context.Context, src Source) (bool, error) {
	from, err := src.parse()
	if err != nil || from.url == nil {
		return false, err
	}
	return c.forget(from.key, Redact(src.Location))
}

// ForgetOf removes what the cache has of an owner, as Forget does.
func (c *Cache) ForgetOf(owner string) error {
	files, err := os.ReadDir(c.config.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		key, suffix, _ := strings.Cut(file.Name(), ".")
		var of struct {
			Owner string `json:"owner"`
		}
		if suffix != "json" && suffix != "part.json" || !readJSON(filepath.Join(c.config.Dir, file.Name()), &of) || of.Owner != owner {
			continue
		}
		_, failed := c.forget(key, "an image of "+owner)
		err = errors.Join(err, failed)
	}
	return err
}

func (c *Cache) forget(key, name string) (bool, error) {
	var had record
	content := readJSON(c.path(key, ".json"), &had)
	_, begun, err := sizeOf(c.path(key, ".part"))
	if err != nil || !content && !begun {
		return false, err
	}
	if begun && !c.drop(kept{name: key, partial: true}) {
		return false, fmt.Errorf("forget %s: it is being fetched", name)
	}
	if !content {
		return true, nil
	}
	if _, there, err := sizeOf(c.path(had.SHA256, ".iso")); err != nil || there && !c.drop(kept{name: had.SHA256}) {
		return false, errors.Join(fmt.Errorf("forget %s: it is in use", name), err)
	}
	return true, remove(c.path(key, ".json"))
}

func (c *Cache) drop(k kept) bool {
	guard, files := c.path(k.name, ".use"), []string{c.path(k.name, ".iso")}
	if k.partial {
		guard, files = c.path(k.name, ".lock"), []string{c.path(k.name, ".part"), c.path(k.name, ".part.json")}
	}
	use, err := lock(guard, true)
	if err != nil || use == nil {
		return false
	}
	defer use.Close()
	if remove(files...) != nil {
		return false
	}
	_ = remove(guard) // Windows keeps files that are open; an empty one does no harm
	return true
}

// lockPoll is how often a held lock is tried again: the kernel's own waiting can't be interrupted.
const lockPoll = 200 * time.Millisecond

// lock locks a file, which it makes where it is missing; nil where another holds it.
func lock(path string, exclusive bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		locked, err := claim(f, path, exclusive)
		if locked {
			return f, nil
		}
		f.Close()
		switch {
		case err == nil:
			return nil, nil
		case !errors.Is(err, errRemoved):
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

var errRemoved = errors.New("who held it has removed it: the name means another file now")

// claim tries to lock a file that was opened under a name.
func claim(f *os.File, path string, exclusive bool) (locked bool, err error) {
	if locked, err = filelock.Try(f, exclusive); !locked {
		return false, err
	}
	opened, err := f.Stat()
	named, missing := os.Stat(path)
	if err != nil || missing != nil || !os.SameFile(opened, named) {
		return false, errRemoved
	}
	return true, nil
}

// waitLock locks a file however long another holds it, and calls waiting meanwhile.
func waitLock(ctx context.Context, clk clock.Clock, path string, exclusive bool, waiting func()) (*os.File, error) {
	for {
		f, err := lock(path, exclusive)
		if err != nil || f != nil {
			return f, err
		}
		waiting()
		if err := clk.Sleep(ctx, lockPoll); err != nil {
			return nil, err
		}
	}
}

// File is an image on this machine.
type File struct {
	// Path is where it lies. It must not be written to.
	Path string
	// Size is in bytes.
	Size int64
	// SHA256 is the content's digest in hexadecimal; empty for a file of this
	// machine that no checksum was given for.
	SHA256 string
	// Warning says why the content may be out of date; empty if all is well.
	Warning string

	use *os.File // locked; nil for a file of this machine
}

// Close gives the file back: from now on the cache may drop it to make room.
func (f *File) Close() error {
	f.use.Close() // fails where there is none, and a second time
	return nil
}

// hold takes content out of the cache, in a way that keeps it there; nil where the
// cache does not have it.
func (c *Cache) hold(digest string) (*File, error) {
	if digest == "" {
		return nil, nil
	}
	path := c.path(digest, ".iso")
	if _, there, err := sizeOf(path); err != nil || !there {
		return nil, err
	}
	use, err := lock(c.path(digest, ".use"), false)
	if err != nil || use == nil { // nil: it is being dropped at this moment
		return nil, err
	}
	size, there, err := sizeOf(path)
	if there { // else it was dropped at this moment
		now := c.config.Clock.Now()
		err = os.Chtimes(use.Name(), now, now)
	}
	if err != nil || !there {
		use.Close()
		return nil, err
	}
	return &File{Path: path, Size: size, SHA256: digest, use: use}, nil
}

func sizeOf(path string) (size int64, there bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}
