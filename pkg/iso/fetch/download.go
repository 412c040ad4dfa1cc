package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"
)

// How often a download is taken up again without a byte of progress, and how
// long before each time; the wait doubles.
const (
	attempts  = 5
	firstWait = time.Second
)

// unknownStep is how much room is made at a time for content of unknown size.
const unknownStep = 64 << 20

// download is one content on its way into the cache, under the lock of its key.
type download struct {
	cache    *Cache
	from     origin
	progress Progress

	part  *os.File
	said  begun     // by the server, about the bytes in part
	done  int64     // bytes in part
	sum   hash.Hash // of them
	room  int64     // bytes that room was made for
	stale *File     // what the URL gave before; nil if the cache has nothing
	old   record    // about stale
}

// begin takes up the download that was begun earlier, or a new one.
func (c *Cache) begin(ctx context.Context, from origin, progress Progress) (*download, error) {
	part, err := os.OpenFile(c.path(from.key, ".part"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d := &download{cache: c, from: from, progress: progress, part: part, sum: sha256.New()}
	if err := d.recall(ctx); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// recall finds what the cache has: a part of the content, or what the URL gave before.
func (d *download) recall(ctx context.Context) error {
	c, key := d.cache, d.from.key
	var err error
	if readJSON(c.path(key, ".json"), &d.old) && (d.from.digest == "" || d.from.digest == d.old.SHA256) {
		if d.stale, err = c.hold(d.old.SHA256); err != nil {
			return err
		}
		if d.stale != nil && d.stale.Size != d.old.Size { // damaged
			d.dropStale()
			c.drop(kept{name: d.old.SHA256})
		}
	}
	if !readJSON(c.path(key, ".part.json"), &d.said) || !d.resumable() {
		return d.restart()
	}
	d.done, err = digest(ctx, d.sum, d.part, d.said.Total, d.progress)
	if err == nil && d.said.Total >= 0 && d.done > d.said.Total {
		return d.restart()
	}
	return err
}

// resumable reports whether later bytes are sure to belong to those in part: by the server's word, or because the whole
// will be checked.
func (d *download) resumable() bool { return d.said.ifRange() != "" || d.from.digest != "" }

func (d *download) restart() error {
	d.said, d.done = begun{Total: -1}, 0
	d.sum.Reset()
	if err := remove(d.cache.path(d.from.key, ".part.json")); err != nil {
		return err
	}
	if err := d.part.Truncate(0); err != nil {
		return err
	}
	_, err := d.part.Seek(0, io.SeekStart)
	return err
}

// close leaves the part for the process that resumes it.
func (d *download) close() {
	d.part.Close()
	if d.done == 0 {
		_ = remove(d.part.Name(), d.cache.path(d.from.key, ".part.json")) // empty files do no harm
	}
	d.dropStale()
}

// errSame ends a download before it begins: the URL gives what the cache has.
var errSame = errors.New("not modified")

func (d *download) run(ctx context.Context) (*File, error) {
	resumed := d.done > 0
	if d.stale != nil && d.from.version != "" && d.from.version == d.old.Version {
		return d.takeStale(""), nil
	}
	for {
		err := d.repeat(ctx)
		if errors.Is(err, errSame) {
			d.old.Version = d.from.version
			if err := writeJSON(d.cache.path(d.from.key, ".json"), d.old); err != nil {
				return nil, err
			}
			return d.takeStale(""), nil
		}
		if err != nil && d.stale != nil && passing(err) && context.Cause(ctx) == nil {
			return d.takeStale(fmt.Sprintf("%v; oaictl uses the earlier download, which may be out of date", err)), nil
		}
		if err != nil {
			return nil, err
		}
		file, err := d.finish(ctx)
		var wrong *ChecksumError
		if !errors.As(err, &wrong) {
			return file, err
		}
		if err := d.restart(); err != nil {
			return nil, err
		}
		if !resumed {
			return nil, wrong
		}
		resumed = false // the beginning may have been another version's
	}
}

func (d *download) takeStale(warning string) *File {
	file := d.stale
	d.stale = nil
	file.Warning = warning
	d.progress(file.Size, file.Size)
	return file
}

// repeat asks for the rest of the content as long as that gets anywhere.
func (d *download) repeat(ctx context.Context) error {
	wait := firstWait
	for failed := 0; ; {
		before := d.done
		err := d.exchange(ctx)
		if err == nil || !passing(err) {
			return err
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if d.done > before {
			failed, wait = 0, firstWait
		}
		if failed++; failed >= attempts || d.done == 0 && d.stale != nil {
			return err
		}
		d.cache.config.Again(err, wait)
		if err := d.cache.config.Clock.Sleep(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

func (d *download) finish(ctx context.Context) (*File, error) {
	c, got := d.cache, hex.EncodeToString(d.sum.Sum(nil))
	if d.from.digest != "" && got != d.from.digest {
		return nil, &ChecksumError{Want: d.from.digest, Got: got}
	}
	// No process may drop it between its naming and its use.
	use, err := waitLock(ctx, c.config.Clock, c.path(got, ".use"), false, func() {})
	if err != nil {
		return nil, err
	}
	defer use.Close()
	if err := d.name(c.path(got, ".iso")); err != nil {
		return nil, err
	}
	err = writeJSON(c.path(d.from.key, ".json"), record{
		validators: d.said.validators, URL: d.said.URL, Size: d.done, SHA256: got, Version: d.from.version, Owner: d.from.owner,
	})
	if err != nil {
		return nil, err
	}
	d.dropOld(got)
	d.done = 0 // nothing is left to be resumed
	file, err := c.hold(got)
	if err == nil && file == nil {
		err = fmt.Errorf("it is missing in the cache %s", c.config.Dir)
	}
	return file, err
}

// dropOld drops what a new version replaces: it is not asked for again.
func (d *download) dropOld(got string) {
	if d.from.version == "" || d.old.SHA256 == "" || d.old.SHA256 == got {
		return
	}
	d.dropStale()
	d.cache.drop(kept{name: d.old.SHA256}) // a process that still reads it keeps it, until there is no room
}

func (d *download) dropStale() {
	if d.stale != nil {
		d.stale.Close()
		d.stale = nil
	}
}

// name lets the part appear as content, unless another URL has brought the same: another process may be reading that
// file.
func (d *download) name(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == d.done {
		return nil
	}
	// The cache believes a name: the bytes must be on disk before it stands.
	if err := errors.Join(d.part.Sync(), d.part.Close()); err != nil {
		return err
	}
	return os.Rename(d.part.Name(), path)
}

// validators are what a server says about a version of a content (RFC 9110, 8.8).
type validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
}

func (v validators) condition(h http.Header) {
	if v.ETag != "" {
		h.Set("If-None-Match", v.ETag)
	} else if v.LastModified != "" {
		h.Set("If-Modified-Since", v.LastModified)
	}
}

// ifRange is what makes a range safe to ask for, "" if nothing does: a weak ETag does not prove that bytes are the
// same.
func (v validators) ifRange() string {
	if v.ETag != "" && !strings.HasPrefix(v.ETag, "W/") {
		return v.ETag
	}
	return v.LastModified
}

// record is what a URL gave last.
type record struct {
	validators
	URL    string `json:"url"` // redacted; for people who look into the directory
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Version and Owner are the Source's, where that had them.
	Version string `json:"version,omitempty"`
	Owner   string `json:"owner,omitempty"`
}

// begun is what the server said about a download that is not complete.
type begun struct {
	validators
	URL   string `json:"url"`
	Total int64  `json:"total"` // bytes, -1 if not known
	Owner string `json:"owner,omitempty"`
}

// readJSON reads a small file of the cache's own. A damaged one counts as absent:
// the cache can do without it.
func readJSON(path string, into any) bool {
	data, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(data, into) == nil
}

func writeJSON(path string, from any) error {
	data, err := json.Marshal(from)
	if err == nil {
		err = os.WriteFile(path+".new", append(data, '\n'), 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func remove(paths ...string) error {
	var failed error
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
