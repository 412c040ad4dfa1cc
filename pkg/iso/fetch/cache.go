// Package fetch brings base images to this machine: a path is used where it
// lies, a URL goes through a cache on disk.
//
// The cache is a directory that several processes may share:
//
//	<sha256>.iso      content, named by what it is; appears complete or not at all
//	<sha256>.use      locked while that content is in use; its time is the last use
//	<key>.json        what a URL gave last: validators, size, digest
//	<key>.part        a download that was begun, kept to be resumed
//	<key>.part.json   what the server said about it: without that it can't be resumed
//	<key>.lock        locked by the one process that downloads that URL
//	room.lock         locked while room is made
//
// Locks are the kernel's and end with their process, so nothing has to be
// cleaned up after a kill.
package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// DefaultCap is a Cap of 20 GiB, which holds the live images of a few versions.
const DefaultCap = 20 << 30

// Config says how a Cache works.
type Config struct {
	// Dir holds the cache; it is made, for its owner alone, when first needed.
	Dir string
	// Cap is how many bytes the cache may hold, with downloads that were begun; 0
	// means as many as the disk does.
	Cap int64
	// Client makes the requests; nil means one with deadlines for connecting and for
	// the answer's beginning. It must have no Timeout: an image takes as long as it
	// takes. Its redirect policy is replaced: none is followed from https to http.
	Client *http.Client
	// TLS says which authorities the cache's own client trusts; nil means the system's authorities.
	TLS *tls.Config
	// Clock times repetitions and uses; nil means the machine's.
	Clock clock.Clock
	// Stall is how long a server may send nothing before the download is resumed by
	// another connection; 0 means a minute.
	Stall time.Duration
	// Begins, if any, checks the first StartSize bytes of what a server sends as soon as they are there: its error ends
	// the download, and nothing is kept.
	Begins func(start []byte) error
	// Again, if any, is called with the reason why an attempt failed that is made again after a wait.
	Again func(err error, wait time.Duration)
}

// StartSize is how many bytes Config.Begins is given.
const StartSize = 64 << 10

// Progress is called with how many bytes of how many there are; total is -1 where the server does not say. It is called
// from one goroutine at a time, often.
type Progress func(done, total int64)

// Cache keeps base images on disk. Goroutines and processes may share a directory.
type Cache struct{ config Config }

// New returns the cache of a directory. It touches nothing.
func New(c Config) *Cache {
	if c.Client == nil {
		c.Client = newClient(c.TLS)
	}
	own := *c.Client
	own.CheckRedirect = noDowngrade
	c.Client = &own
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.Again == nil {
		c.Again = func(error, time.Duration) {}
	}
	if c.Stall <= 0 {
		c.Stall = time.Minute
	}
	return &Cache{c}
}

// Get returns the content of a source as a file, downloaded unless the cache holds it
// and the server says that it is still the same. Until the caller closes the file,
// the cache does not give it up.
func (c *Cache) Get(ctx context.Context, src Source, progress Progress) (*File, error) {
	from, err := src.parse()
	if err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	if from.path != "" {
		return openLocal(ctx, from, progress)
	}
	file, err := c.get(ctx, from, progress)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", Redact(from.url.String()), err)
	}
	return file, nil
}

func (c *Cache) get(ctx context.Context, from origin, progress Progress) (*File, error) {
	if c.config.Dir == "" {
		return nil, errors.New("the cache has no directory")
	}
	if file, err := c.hold(from.digest); file != nil || err != nil {
		return file, err
	}
	if err := os.MkdirAll(c.config.Dir, 0o700); err != nil {
		return nil, err
	}
	mine, err := waitLock(ctx, c.config.Clock, c.path(from.key, ".lock"), true, func() { c.watch(from, progress) })
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = remove(c.path(from.key, ".lock")) // while it is locked, so that no process uses it by mistake; one that stays does no harm
		mine.Close()
	}()
	// The previous holder of the lock may have fetched it.
	if file, err := c.hold(from.digest); file != nil || err != nil {
		return file, err
	}
	d, err := c.begin(ctx, from, progress)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.run(ctx)
}

func (c *Cache) watch(from origin, progress Progress) {
	var b begun
	info, err := os.Stat(c.path(from.key, ".part"))
	if err == nil && readJSON(c.path(from.key, ".part.json"), &b) {
		progress(info.Size(), b.Total)
	}
}

func (c *Cache) path(name, suffix string) string { return filepath.Join(c.config.Dir, name+suffix) }

// notOpened says why an image cannot be read: the path once, and no system call.
func notOpened(path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &fs.PathError{Op: "open the image", Path: path, Err: err}
}

func openLocal(ctx context.Context, from origin, progress Progress) (*File, error) {
	info, err := os.Stat(from.path)
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, notOpened(from.path, err)
	}
	file := &File{Path: from.path, Size: info.Size(), SHA256: from.digest}
	if from.digest == "" {
		return file, nil
	}
	f, err := os.Open(from.path)
	if err != nil {
		return nil, notOpened(from.path, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := digest(ctx, sum, f, info.Size(), progress); err != nil {
		return nil, fmt.Errorf("read %s: %w", from.path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != from.digest {
		return nil, fmt.Errorf("check %s: %w", from.path, &ChecksumError{Want: from.digest, Got: got})
	}
	return file, nil
}

// ChecksumError is returned where content is not what it should be.
type ChecksumError struct{ Want, Got string }

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("its SHA-256 is %s, expected %s", e.Got, e.Want)
}

func digest(ctx context.Context, sum hash.Hash, r io.Reader, total int64, progress Progress) (int64, error) {
	var done int64
	buf := make([]byte, 1<<20)
	for {
		if err := context.Cause(ctx); err != nil {
			return done, err
		}
		n, err := r.Read(buf)
		sum.Write(buf[:n])
		done += int64(n)
		progress(done, total)
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
	}
}

// Source says where an image is to be had.
type Source struct {
	// Location is a path, a file:// URL, or an http:// or https:// URL.
	Location string
	// SHA256 is the digest that the content must have, in hexadecimal; empty if it
	// is not known. With it the cache needs to ask no server.
	SHA256 string
	// Name distinguishes one content from another where the URL does not, as where its query holds a token that
	// changes; empty means the URL itself.
	Name string
	// Version names what the content is made of, where that is known: what the cache
	// has of the same Name and Version is used without asking a server, and what it
	// has of an older Version is dropped once the new one is there.
	Version string
	// Owner is what the content is kept for: [Cache.ForgetOf] removes all of an owner.
	Owner string
}

// origin is a Source that was understood: exactly one of path and url is set.
type origin struct {
	path    string
	url     *url.URL
	digest  string // lower case, "" if not known
	key     string // names the URL's files in the cache
	version string
	owner   string
}

// Check says what about a source cannot be understood, before anything is read.
func (s Source) Check() error {
	_, err := s.parse()
	return err
}

func (s Source) parse() (origin, error) {
	digest := strings.ToLower(s.SHA256)
	if raw, err := hex.DecodeString(digest); digest != "" && (err != nil || len(raw) != sha256.Size) {
		return origin{}, fmt.Errorf("read the checksum of %s: %q is not a SHA-256 of 64 hexadecimal digits", Redact(s.Location), s.SHA256)
	}
	if s.Location == "" {
		return origin{}, fmt.Errorf("find the base image: neither a path nor a URL is given")
	}
	if !strings.Contains(s.Location, "://") {
		return origin{path: s.Location, digest: digest}, nil
	}
	u, err := url.Parse(s.Location)
	if err != nil {
		// What url.Parse complains about may be part of a secret.
		return origin{}, fmt.Errorf("read the URL %s: it is not a URL", Redact(s.Location))
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return origin{}, fmt.Errorf("read the URL %s: a file on another host (%s) can't be opened", Redact(s.Location), u.Host)
		}
		if u.Path == "" {
			return origin{}, fmt.Errorf("read the URL %s: it names no file", Redact(s.Location))
		}
		return origin{path: filepath.FromSlash(u.Path), digest: digest}, nil
	case "http", "https":
		if u.Host == "" {
			return origin{}, fmt.Errorf("read the URL %s: it names no host", Redact(s.Location))
		}
	default:
		return origin{}, fmt.Errorf("read the URL %s: its scheme %q is none of http, https and file", Redact(s.Location), u.Scheme)
	}
	sum := sha256.Sum256([]byte(cmp.Or(s.Name, s.Location)))
	return origin{url: u, digest: digest, key: hex.EncodeToString(sum[:16]), version: s.Version, owner: s.Owner}, nil
}

// token matches what grants access inside a path: a JSON web token, as in
// the image service's /byapikey/TOKEN/….
var token = regexp.MustCompile(`[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)

// Redact is a location without what may grant access to it: user and password,
// query, fragment, and tokens in the path. A path of this machine is returned
// as it is.
func Redact(location string) string {
	scheme, rest, isURL := strings.Cut(location, "://")
	if !isURL {
		return location
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, hasQuery := strings.Cut(rest, "?")
	host, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	out := scheme + "://" + host
	if hasPath {
		out += "/" + token.ReplaceAllString(path, "…")
	}
	if hasQuery {
		out += "?…"
	}
	return out
}
