package serve

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// Access is a request that is over.
type Access struct {
	Time   time.Time // when it came
	Took   time.Duration
	Client netip.Addr
	Method string
	// Host and Kind say what was asked for; empty for what is not there, for what
	// hosts share, and for the chain script.
	Host   string
	Kind   Kind
	Status int
	Bytes  int64 // of the image, sent
	Err    error // why it ended early, or could not be served; nil if all is well
}

type answer struct {
	server *Server
	w      *recorder
	r      *http.Request
	access Access
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, _ := netip.ParseAddrPort(r.RemoteAddr)
	a := &answer{
		server: s, w: &recorder{ResponseWriter: w}, r: r,
		access: Access{Time: s.clock.Now(), Client: client.Addr(), Method: r.Method},
	}
	s.count.active.Add(1)
	defer a.finish()
	a.moveDeadline()
	a.dispatch()
}

// finish counts and reports the request, also when it was interrupted.
func (a *answer) finish() {
	s := a.server
	a.access.Status = a.w.status
	a.access.Took = s.clock.Now().Sub(a.access.Time)
	s.count.active.Add(-1)
	s.count.request(a.access)
	if s.config.Access != nil {
		s.config.Access(a.access)
	}
}

func (a *answer) dispatch() {
	s, r := a.server, a.r
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		a.refuse(http.StatusMethodNotAllowed)
	case r.ContentLength != 0: // nothing here takes a body, and one may be sent slowly for ever
		a.refuse(http.StatusBadRequest)
	case r.URL.RawPath != "": // another spelling than the one that the server itself uses
		a.refuse(http.StatusNotFound)
	case r.URL.Path == "/metrics":
		s.writeMetrics(a.w)
	case sameID(r.URL.Path, s.bootPath()):
		a.byMAC()
	default:
		a.file(s.lookup(r.URL.Path))
	}
}

func (a *answer) byMAC() {
	s, query := a.server, a.r.URL.Query()
	if !query.Has("mac") {
		script := fmt.Sprintf(chainScript, s.reachedAt(a.r)+s.bootPath())
		a.send(textContent(script), overlay.Meta{ContentType: scriptType})
		return
	}
	a.file(s.lookupMAC(a.access.Client, query))
}

func (a *answer) file(e *entry, f *file) {
	if f == nil {
		a.refuse(http.StatusNotFound)
		return
	}
	s, kind := a.server, f.Kind
	meta := overlay.Meta{ModTime: f.ModTime}
	a.access.Kind = kind
	if e.key.class == hostClass {
		a.access.Host = e.key.name
		if kind == ISO {
			meta.Name = e.key.name + ".iso"
		}
	}
	c, err := a.open(e, f)
	if err != nil {
		a.access.Err = err
		a.w.Header().Set("Retry-After", "5")
		a.refuse(http.StatusServiceUnavailable)
		return
	}
	if kind == IPXE {
		meta.ContentType = scriptType
	}
	begun := s.clock.Now()
	e.record(kind, begun, func(t *tally) { t.begin(c, begun) })
	defer func() { e.record(kind, s.clock.Now(), func(t *tally) { t.Active-- }) }()
	meta.Sent = func(off, n int64) {
		a.moveDeadline()
		a.access.Bytes += n
		s.count.sent.Add(n)
		now := s.clock.Now()
		e.record(kind, now, func(t *tally) { t.sent(c.etag, off, n, now) })
	}
	a.send(c, meta)
}

// errNotReady is why a request is answered with "come back later".
var errNotReady = errors.New("the content is not ready yet")

const scriptType = "text/plain; charset=utf-8"

func (a *answer) open(e *entry, f *file) (content, error) {
	if f.Script != nil {
		at := a.server.reachedAt(a.r)
		return textContent(f.Script(at+path(Kernel, e.id), at+path(Initrd, e.id), at+path(Rootfs, e.id))), nil
	}
	ctx, cancel := context.WithTimeoutCause(a.r.Context(), a.server.config.OpenTimeout, errNotReady)
	defer cancel()
	return f.open(ctx)
}

func (a *answer) send(c content, meta overlay.Meta) {
	h := a.w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-transform") // it holds secrets
	meta.ETag = c.etag
	meta.Failed = func(err error) { a.access.Err = err }
	overlay.Serve(a.w, a.r, c.image, meta)
}

// moveDeadline gives the client its time for the next chunk.
func (a *answer) moveDeadline() {
	until := clock.Real().Now().Add(a.server.config.ChunkTimeout)
	// Without a connection below it, as in a test, a response has no deadline.
	if err := http.NewResponseController(a.w).SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		a.access.Err = err
	}
}

// refuse answers with a status, and ends the connection of a client that sent a body.
func (a *answer) refuse(status int) {
	h := a.w.Header()
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, HEAD")
	}
	if a.r.ContentLength != 0 {
		h.Set("Connection", "close")
		soon := clock.Real().Now().Add(time.Second)
		if err := http.NewResponseController(a.w).SetReadDeadline(soon); err != nil && !errors.Is(err, http.ErrNotSupported) {
			a.access.Err = err
		}
	}
	http.Error(a.w, http.StatusText(status), status)
}

// recorder records the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
}

// Unwrap is what http.ResponseController looks for.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets a file reach the connection as a file, by the response's ReadFrom.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return io.Copy(w.ResponseWriter, src)
}

func path(kind Kind, id string) string {
	if kind == ISO {
		return "/i/" + id + ".iso"
	}
	return "/n/" + id + "/" + string(kind)
}

func rootfsPath(id string) string { return "/rootfs/" + id + ".img" }

// bootPath is where machines ask for their scripts by MAC address. Its id belongs to no host, and is secret: MAC
// addresses are no secret, and a script names the media.
func (s *Server) bootPath() string { return "/ipxe/" + s.namer.id(bootClass, "") }

type route struct {
	class class
	id    string
	kind  Kind
}

// parsePath understands just what path and rootfsPath make.
func parsePath(p string) (route, bool) {
	switch parts := strings.Split(p, "/"); {
	case parts[0] != "":
	case len(parts) == 3 && parts[1] == "i":
		id, ok := strings.CutSuffix(parts[2], ".iso")
		return route{hostClass, id, ISO}, ok
	case len(parts) == 3 && parts[1] == "rootfs":
		id, ok := strings.CutSuffix(parts[2], ".img")
		return route{sharedClass, id, Rootfs}, ok
	case len(parts) == 4 && parts[1] == "n":
		kind := Kind(parts[3])
		return route{hostClass, parts[2], kind}, kind != ISO && kind.known()
	}
	return route{}, false
}

// lookup finds what a path asks for; nil where it is not there, or out of use.
func (s *Server) lookup(p string) (*entry, *file) {
	r, ok := parsePath(p)
	if !ok {
		return nil, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.byID[s.namer.sealed(r.id)]
	if e == nil || !sameID(e.id, r.id) || e.key.class != r.class {
		return nil, nil
	}
	return s.pick(e, r.kind)
}

// lookupMAC finds the script of the host with a MAC address. MAC addresses can be guessed: a client that asks for many
// unknown ones is not answered for a while.
func (s *Server) lookupMAC(client netip.Addr, query url.Values) (*entry, *file) {
	now := s.clock.Now()
	if s.misses.tooMany(client, now) {
		return nil, nil
	}
	if mac, err := normalMAC(query.Get("mac")); err == nil {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if e, f := s.pick(s.byMAC[mac], IPXE); f != nil {
			return e, f
		}
	}
	s.misses.add(client, now)
	return nil, nil
}

// pick finds a file of an entry; s.mu is held.
func (s *Server) pick(e *entry, kind Kind) (*entry, *file) {
	if e == nil || e.files[kind] == nil {
		return nil, nil
	}
	if s.config.Expire > 0 && e.key.class == hostClass && e.expired(s.clock.Now().Add(-s.config.Expire)) {
		return nil, nil
	}
	return e, e.files[kind]
}

// chainScript asks again with the address of the interface that the machine
// booted from (iPXE's netX is the one that was opened last).
const chainScript = "#!ipxe\n" +
	"chain --replace %s?mac=${netX/mac:hexhyp}\n"

// normalMAC is a MAC address as aa:bb:cc:dd:ee:ff, with any separators of its digits: iPXE's hexhyp format writes
// hyphens, others colons, dots or nothing.
func normalMAC(mac string) (string, error) {
	bare := strings.NewReplacer(":", "", "-", "", ".", "").Replace(mac)
	raw, err := hex.DecodeString(bare)
	if err != nil || len(raw) != 6 || len(mac) > len("aa:bb:cc:dd:ee:ff") {
		return "", fmt.Errorf("%q is not a MAC address", mac)
	}
	return net.HardwareAddr(raw).String(), nil
}

// reachedAt is the server's URL: that of the configuration, else what the request
// named, without what is no name and could bring commands into a script.
func (s *Server) reachedAt(r *http.Request) string {
	switch {
	case s.config.URL != "":
		return s.config.URL
	case strings.Trim(r.Host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") != "":
		return ""
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
