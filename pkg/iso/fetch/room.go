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
)

type kept struct {
	name    string // digest, or key of a download that was begun
	partial bool
	size    int64
	used    time.Time
}

// makeRoom drops what was not used for longest, until size more bytes fit for
// the download of a key. What is in use stays.
func (c *Cache) makeRoom(ctx context.Context, key string, size int64) error {
	if c.config.Cap <= 0 {
		return nil
	}
	if size > c.config.Cap {
		return fmt.Errorf("it has %d bytes, and the cache %s may hold %d", size, c.config.Dir, c.config.Cap)
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
		return fmt.Errorf("it has %d bytes, the cache %s may hold %d, and %d of them are in use", size, c.config.Dir, c.config.Cap, held)
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
		name, suffix := strings.TrimSuffix(entry.Name(), filepath.Ext(entry.Name())), filepath.Ext(entry.Name())
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

// Forget removes what the cache has of a source, also what was only begun. It says
// whether there was anything, and fails where somebody uses it.
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

// drop removes something from the cache, unless it is in use.
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
