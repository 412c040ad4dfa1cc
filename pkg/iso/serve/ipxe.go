package serve

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
)

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

// script makes the script that boots a host.
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
