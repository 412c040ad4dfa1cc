package nmstate

import (
	"crypto/sha1" //nolint:gosec // UUIDs of version 5 are made with it (RFC 9562 §5.5)
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// Keyfile is a connection profile of NetworkManager (nm-settings-keyfile(5)).
// NetworkManager reads it only if nobody but root may: whoever writes it gives it
// mode 0600.
type Keyfile struct {
	// Name of the file, ending in .nmconnection.
	Name string
	// Content of the file.
	Content []byte
}

// Keyfiles makes the profiles of a machine, in the order of their names and the
// same every time. macs gives the permanent MAC address of each physical
// interface by its name in the document; the document's own mac-address serves
// where there is none. The error is Problems: interfaces without an address,
// or with one that contradicts the document.
func (s *State) Keyfiles(macs map[string]string) ([]Keyfile, error) {
	w := &writer{state: s, r: &reader{name: s.name}, macs: map[string]string{}, ids: map[string]string{}, ports: map[string]membership{}}
	w.interfaces = slices.Clone(s.interfaces)
	w.addImplied()
	w.resolve(macs)
	if err := w.r.problems.err(); err != nil {
		return nil, err
	}
	var files []Keyfile
	for _, i := range w.interfaces {
		if i.state != absent {
			files = append(files, Keyfile{Name: i.name + keyfileSuffix, Content: w.profile(i)})
		}
	}
	slices.SortFunc(files, func(a, b Keyfile) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// keyfileSuffix is the only one that NetworkManager reads.
const keyfileSuffix = ".nmconnection"

// writer makes the profiles of one machine.
type writer struct {
	state      *State
	r          *reader
	interfaces []*iface
	macs       map[string]string     // permanent addresses of the physical interfaces by name
	ids        map[string]string     // UUIDs of the profiles by name of the interface
	ports      map[string]membership // of ports, by name
}

// membership is what a port belongs to.
type membership struct {
	controller *iface
	settings   portSettings
}

// Physical are the physical interfaces that the document speaks of, also those that are
// only named as ports or as what a VLAN stands on, with the MAC addresses that it has for
// them, "" where it has none.
func (s *State) Physical() map[string]string {
	w := &writer{state: s, r: &reader{name: s.name}, ports: map[string]membership{}}
	w.interfaces = slices.Clone(s.interfaces)
	w.addImplied()
	macs := map[string]string{}
	for _, i := range w.interfaces {
		if i.kind == ethernet && i.state != absent {
			macs[i.name] = i.mac.text
		}
	}
	return macs
}

// addImplied adds the physical interfaces that are named only by what stands on
// them, and notes who is a port of whom.
func (w *writer) addImplied() {
	for _, i := range w.state.interfaces {
		if i.state == absent {
			continue
		}
		for _, p := range i.ports() {
			w.ports[p.text] = membership{i, p.settings}
			w.imply(p.word, p.field)
		}
		if i.vlan != nil {
			w.imply(i.vlan.base, i.field+".vlan.base-iface")
		}
	}
}

func (w *writer) imply(name word, field string) {
	known := func(i *iface) bool { return i.name == name.text }
	if !slices.ContainsFunc(w.interfaces, known) {
		w.interfaces = append(w.interfaces, &iface{name: name.text, at: name.at, field: field, kind: ethernet, state: up})
	}
}

// resolve finds the MAC address of every physical interface, and gives every
// profile its UUID.
func (w *writer) resolve(macs map[string]string) {
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(macs)) {
		mac, ok := canonicalMAC(macs[name])
		if !ok {
			w.r.report(yamltree.Place{}, "", "%q, the MAC address of %s, is not one", macs[name], name)
			continue
		}
		given[name] = mac
	}
	owner := map[string]string{}
	for _, i := range w.interfaces {
		if i.kind != ethernet || i.state == absent {
			continue
		}
		mac := given[i.name]
		switch {
		case mac == "":
			mac = i.mac.text
		case i.byMAC && i.mac.text != mac:
			w.r.report(i.mac.at, i.field+".mac-address", "is %s, but the machine's %s has %s", i.mac.text, i.name, mac)
		}
		switch first, again := owner[mac]; {
		case mac == "" && w.state.find(i.name) == nil:
			w.r.report(i.at, i.field, "%s is not an interface of this document, and no MAC address is known for it", i.name)
		case mac == "":
			w.r.report(i.at, i.field, "no MAC address is known for %s: give one, or write identifier: mac-address and mac-address", i.name)
		case again:
			w.r.report(i.at, i.field, "%s has the MAC address of %s", i.name, first)
		}
		owner[mac], w.macs[i.name] = i.name, mac
	}
	machine := strings.Join(slices.Sorted(maps.Values(w.macs)), " ")
	for _, i := range w.interfaces {
		of := machine
		if i.kind == ethernet {
			of = w.macs[i.name]
		}
		w.ids[i.name] = uuid5(string(i.kind) + " " + i.name + " " + of)
	}
}

// namespace of the UUIDs of profiles; any fixed one serves.
const namespace = "\x5f\x0e\x11\x76\x7c\x4b\x4d\x1c\x9e\x63\x2a\xd0\x8b\x35\x94\xe7"

// uuid5 is a name-based UUID (RFC 9562 §5.5).
func uuid5(name string) string {
	sum := sha1.Sum([]byte(namespace + name)) //nolint:gosec // RFC 9562 names SHA-1; it protects nothing here
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
