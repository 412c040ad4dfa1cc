package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// Kind is what a file is to the machine that boots from it.
type Kind string

// The kinds of files, each as the last part of its URL.
const (
	ISO      Kind = "iso"
	Kernel   Kind = "kernel"
	Initrd   Kind = "initrd"
	Rootfs   Kind = "rootfs"
	IPXE     Kind = "ipxe"
	AddrSize Kind = "initrd.addrsize" // s390x: where the initrd goes, and its size
	Ins      Kind = "generic.ins"     // s390x: which file goes where
	Prm      Kind = "generic.prm"     // s390x: the kernel arguments, which Ins names
)

func (k Kind) known() bool {
	return slices.Contains([]Kind{ISO, Kernel, Initrd, Rootfs, IPXE, AddrSize, Ins, Prm}, k)
}

// File is something to be served. Its content is one of Image, Open and Script.
type File struct {
	Kind Kind
	// Image is the content. It must not be changed any more.
	Image *overlay.Image
	// Open makes the content when it is first asked for, as where the base has to
	// be downloaded; it is called again only after an error. The request that
	// asked first does not end it.
	Open func(ctx context.Context) (*overlay.Image, error)
	// Script makes an iPXE script from the URLs of the host's other files.
	Script func(kernelURL, initrdURL, rootfsURL string) string
	// Base names the base image for the ETag, which survives a restart.
	Base string
	// ModTime is sent as Last-Modified, unless it is zero.
	ModTime time.Time
}

func (f File) check() error {
	given := []bool{f.Image != nil, f.Open != nil, f.Script != nil}
	contents := len(slices.DeleteFunc(given, func(has bool) bool { return !has }))
	switch {
	case !f.Kind.known():
		return fmt.Errorf("there is no kind of file %q", f.Kind)
	case contents != 1:
		return fmt.Errorf("the %s has %d contents of Image, Open and Script, and needs one", f.Kind, contents)
	case f.Script != nil && f.Kind != IPXE:
		return fmt.Errorf("a script is for the kind %s, not for %s", IPXE, f.Kind)
	}
	return nil
}

// content is what a response sends.
type content struct {
	image *overlay.Image
	etag  string
}

// file is a File while it is served.
type file struct {
	File

	mu      sync.Mutex
	ready   content            // its image is nil until it was opened
	opening singleflight.Group // of one call of Open that any number of requests wait for
}

func newFile(f File) *file {
	opened := &file{File: f}
	if f.Image != nil {
		opened.ready = content{f.Image, f.Image.Tag(f.Base)}
	}
	return opened
}

// content is what is there; its image is nil and its ETag "" until it was opened.
func (f *file) content() content {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready
}

// open waits for the content, as long as ctx allows.
func (f *file) open(ctx context.Context) (content, error) {
	if c := f.content(); c.image != nil {
		return c, nil
	}
	made := f.opening.DoChan("", func() (any, error) { return nil, f.make(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return content{}, context.Cause(ctx)
	case result := <-made:
		return f.content(), result.Err
	}
}

func (f *file) make(ctx context.Context) error {
	if f.content().image != nil { // another request was first
		return nil
	}
	image, err := f.Open(ctx)
	if err == nil && image == nil {
		err = fmt.Errorf("the %s has no content", f.Kind)
	}
	if err != nil {
		return err
	}
	ready := content{image, image.Tag(f.Base)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = ready
	return nil
}

func textContent(text string) content {
	sum := sha256.Sum256([]byte(text))
	return content{overlay.Bytes([]byte(text)), `"` + hex.EncodeToString(sum[:16]) + `"`}
}

type class string

const (
	hostClass   class = "host"
	sharedClass class = "shared"
	bootClass   class = "boot" // of no entry: the path at which scripts are asked for
)

type entryKey struct {
	class class
	name  string
}

// entry is all that is served under one id. Files and macs are replaced as a whole,
// under the server's lock.
type entry struct {
	key   entryKey
	id    string
	files map[Kind]*file
	macs  []string

	mu      sync.Mutex
	tallies map[Kind]*tally
	used    time.Time // when it was last set, or asked for something
}

func (e *entry) record(kind Kind, now time.Time, change func(*tally)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used = now
	change(e.tally(kind))
}

// tally returns the tally of a kind; e.mu is held.
func (e *entry) tally(kind Kind) *tally {
	t := e.tallies[kind]
	if t == nil {
		t = &tally{}
		e.tallies[kind] = t
	}
	return t
}

// renew drops the tallies of content that is no longer served, and counts as a use.
func (e *entry) renew(files map[Kind]*file, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used = now
	for kind, t := range e.tallies {
		if f := files[kind]; f == nil && t.Active == 0 {
			delete(e.tallies, kind)
		}
	}
	for kind, f := range files {
		t := e.tally(kind)
		if c := f.content(); c.etag != "" && c.etag != t.tag {
			*t = tally{tag: c.etag, Fetch: Fetch{Active: t.Active, Size: c.image.Size()}}
		}
	}
}

func (e *entry) expired(since time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.tallies {
		if t.Active > 0 {
			return false
		}
	}
	return e.used.Before(since)
}
