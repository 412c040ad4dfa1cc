package serve

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

func path(kind Kind, id string) string {
	if kind == ISO {
		return "/i/" + id + ".iso"
	}
	return "/n/" + id + "/" + string(kind)
}

func rootfsPath(id string) string { return "/rootfs/" + id + ".img" }

// bootPath is the URL path at which machines ask for their scripts by MAC address.
// Its id is nobody's: MAC addresses are no secret, and a script names the media.
func (s *Server) bootPath() string { return "/ipxe/" + s.namer.id(bootClass, "") }

type route struct {
	class class
	id    string
	kind  Kind
}

// parsePath understands the paths that path and rootfsPath make, and no other
// spelling of them.
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

// lookupMAC finds the script of the host with a MAC address. MAC addresses can
// be guessed: a client that asks for many in vain is not answered for a while.
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

// normalMAC is a MAC address as aa:bb:cc:dd:ee:ff, whatever separates its
// digits: iPXE's hexhyp format writes hyphens, others colons, dots or nothing.
func normalMAC(mac string) (string, error) {
	bare := strings.NewReplacer(":", "", "-", "", ".", "").Replace(mac)
	raw, err := hex.DecodeString(bare)
	if err != nil || len(raw) != 6 || len(mac) > len("aa:bb:cc:dd:ee:ff") {
		return "", fmt.Errorf("%q is not a MAC address", mac)
	}
	return net.HardwareAddr(raw).String(), nil
}

func (s *Server) script(e *entry, f *file, r *http.Request) content {
	at := s.reachedAt(r)
	return textContent(f.Script(at+path(Kernel, e.id), at+path(Initrd, e.id), at+path(Rootfs, e.id)))
}

// chain makes the script for a machine that has not said its MAC address.
func (s *Server) chain(r *http.Request) content {
	return textContent(fmt.Sprintf(chainScript, s.reachedAt(r)+s.bootPath()))
}

// reachedAt is the server's URL: that of the configuration, else what the
// request named. A name that is none could bring commands into a script, and
// is left out.
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
