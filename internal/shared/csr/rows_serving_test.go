package csr_test

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func servingRows(t *testing.T) []row {
	by := func(name string, change func(*world)) row {
		return refuses(name, model.ReasonUnexpectedRequester, change)
	}
	return []row{
		approves("as a kubelet makes it", func(*world) {}).saying(`"w-1", "10.0.0.11", "2001:db8::11"`),
		{name: "denied", change: func(w *world) { w.request.Denied = true }, decision: model.RequestIgnore, reason: model.ReasonDenied},
		{name: "approved", change: func(w *world) { w.request = approved(w.request) }, decision: model.RequestIgnore, reason: model.ReasonApproved},
		by("another node", func(w *world) { w.request.Username = "system:node:w-2" }),
		by("the node in capitals", func(w *world) { w.request.Username = "system:node:W-1" }),
		by("the bootstrapper", func(w *world) { w.request.Username, w.request.Groups = bootstrapper, bootstrapperGroups() }),
		by("nobody", func(w *world) { w.request.Username = "" }),
		by("without the group of nodes", func(w *world) { w.request.Groups = []string{"system:authenticated"} }),
		by("without authentication", func(w *world) { w.request.Groups = []string{"system:nodes"} }),
		by("in a group more", func(w *world) { w.request.Groups = append(w.request.Groups, "racks") }),
		approves("usages with key encipherment", usages("digital signature", "key encipherment", "server auth")),
		refuses("usages of a client", model.ReasonUnexpectedUsages, usages("digital signature", "client auth")),
		refuses("usages of both", model.ReasonUnexpectedUsages, usages("digital signature", "server auth", "client auth")),

		refuses("no names", model.ReasonNoSAN, func(w *world) { w.template = template("system:node:w-1", nil) }),
		refuses("an e-mail address", model.ReasonUnexpectedSAN, func(w *world) { w.template.EmailAddresses = []string{"w-1@example.com"} }),
		refuses("a URI", model.ReasonUnexpectedSAN, func(w *world) { w.template.URIs = []*url.URL{{Scheme: "spiffe", Host: "w-1"}} }),
		refuses("a name of another type beside", model.ReasonUnexpectedSAN, san(tlv(0x82, []byte("w-1")), otherName())),
		refuses("a directory name beside", model.ReasonUnexpectedSAN, san(tlv(0x82, []byte("w-1")), tlv(0xa4, nodeSubject("w-2")))),
		refuses("a name of no type beside", model.ReasonUnexpectedSAN, san(tlv(0x82, []byte("w-1")), tlv(utf8Text, []byte("w-1")))),
		refuses("a compound DNS name beside", model.ReasonUnexpectedSAN, san(tlv(0x82, []byte("w-1")), tlv(0xa2, tlv(0x82, []byte("w-2"))))),
		refuses("an authority", model.ReasonUnexpectedExtension, asking([]int{2, 5, 29, 19}, 0x30, 0x03, 0x01, 0x01, 0xff)),
		refuses("extensions in a second attribute", model.ReasonUnexpectedExtension, func(w *world) {
			w.hand = &byHand{subject: nodeSubject("w-1"), attributes: [][]byte{
				asks(alternatives(tlv(0x82, []byte("w-1")))), asks(tlv(0x30, []byte{0x06, 0x03, 0x55, 0x1d, 0x12}, tlv(0x04, tlv(0x30)))),
			}}
		}),
		refuses("too many names", model.ReasonTooLarge, func(w *world) {
			w.template.DNSNames = strings.Split(strings.Repeat("w-1,", 70), ",")[:65]
			w.template.IPAddresses = nil
		}),
		approves("the same name often", func(w *world) { w.template.DNSNames = []string{"w-1", "w-1"} }),
		{
			name: "no Node yet", change: func(w *world) { w.cluster.Nodes = nil },
			decision: model.RequestWait, reason: model.ReasonNodeMissing,
		},
		refuses("no Node yet, and another's address", model.ReasonForeignAddress, func(w *world) {
			w.cluster.Nodes, w.template = nil, template("system:node:w-1", nil, "10.0.0.12")
		}).about("10.0.0.12"),
		refuses("a name of two hosts", model.ReasonSharedHostname, func(w *world) { w.cluster.Hosts[1].Hostname = "w-1" }).of("w-1", "-"),
		refuses("an unknown name", model.ReasonUnknownName, func(w *world) { w.host().Hostname = "w-9" }).of("w-1", "-"),
		refuses("a host beside the file", model.ReasonHostNotNamed, func(w *world) { w.host().Named = false }).of("w-1", "-"),
		refuses("a host that installs again", model.ReasonHostNotInstalled, func(w *world) { w.host().Installed = false }),
		refuses("a reboot that nobody noted", model.ReasonRebootUnknown, func(w *world) { w.host().Rebooted = time.Time{} }),
	}
}

// proofRows are about Nodes older than the reboot, whose certificate has to be shown to be
// of this installation otherwise.
func proofRows(t *testing.T) []row {
	old := func(change func(*model.CertificateRequest)) func(*world) {
		r := clientRequest("csr-0", encode(t, newKey(t), template("system:node:w-1", nil)))
		r.Created = rebooted().Add(2 * time.Minute)
		r = approved(r)
		change(&r)
		return func(w *world) {
			w.cluster.Nodes[1].Created = rebooted().Add(-24 * time.Hour)
			w.other(r)
		}
	}
	unproven := func(name string, change func(*world)) row { return refuses(name, model.ReasonUnprovenNode, change) }
	created := func(later time.Duration) func(*world) {
		return func(w *world) { w.cluster.Nodes[1].Created = rebooted().Add(later) }
	}
	return []row{
		unproven("a Node of before the reboot", created(-24*time.Hour)).saying("2026-02-28T12:00:00Z"),
		unproven("a Node of just before the reboot", created(-time.Second)),
		unproven("a Node of the moment of the reboot", created(0)),
		unproven("a Node of no time", func(w *world) { w.cluster.Nodes[1].Created = time.Time{} }),
		approves("a Node of just after the reboot", created(time.Second)),
		approves("an old Node whose request was approved", old(func(*model.CertificateRequest) {})),
		approves("an old Node whose request somebody else approved", old(func(r *model.CertificateRequest) { r.Reason, r.Message = "AutoApproved", "" })),
		unproven("an old Node of a host that the service has seen as a Node", func(w *world) {
			created(-24 * time.Hour)(w)
			w.host().Joined = true
		}),
		unproven("a request of before the reboot approved since", old(func(r *model.CertificateRequest) {
			r.Created, r.ConditionAt = rebooted().Add(-time.Hour), rebooted().Add(time.Minute)
		})),
		unproven("an administrator's request approved", old(func(r *model.CertificateRequest) { r.Username = "system:admin" })),
		unproven("a renewal approved", old(func(r *model.CertificateRequest) { r.Username = "system:node:w-1" })),
		unproven("a request that pends", old(func(r *model.CertificateRequest) { r.Approved, r.Issued = false, false })),
		unproven("a request denied", old(func(r *model.CertificateRequest) { r.Approved, r.Issued, r.Denied = false, false, true })),
		unproven("another host's request approved", old(func(r *model.CertificateRequest) { r.PEM = encode(t, newKey(t), template("system:node:w-2", nil)) })),
		unproven("a request approved without the organisation", old(func(r *model.CertificateRequest) {
			r.PEM = byHand{subject: subject(relative(commonName, printable, "system:node:w-1"))}.encode(t, newKey(t))
		})),
		unproven("a request approved for another name behind", old(func(r *model.CertificateRequest) {
			r.PEM = byHand{subject: subject(relative(organization, printable, "system:nodes"),
				relative(commonName, printable, "system:node:w-1"), relative(commonName, printable, "system:node:w-2"))}.encode(t, newKey(t))
		})),
	}
}

// nameRows are about DNS names.
func nameRows() []row {
	names := func(all ...string) func(*world) {
		return func(w *world) { w.template = template("system:node:w-1", all) }
	}
	foreign := func(name string, change func(*world)) row { return refuses(name, model.ReasonForeignDNSName, change) }
	unknown := func(name string, change func(*world)) row { return refuses(name, model.ReasonUnknownDNSName, change) }
	return []row{
		approves("its further name", names("w-1", "w-1.example.com")),
		approves("its further name, recorded in capitals", func(w *world) {
			names("w-1.example.com")(w)
			w.host().Names = []string{"W-1.Example.COM"}
		}),
		unknown("its name in capitals", names("w-1", "W-1")),
		unknown("its further name in capitals", names("w-1", "W-1.example.com")),
		unknown("another host's hostname in capitals", names("w-1", "W-2")),
		unknown("its further name, with a dot at the end", names("w-1.example.com.")),
		unknown("its name as a wildcard", names("*.example.com")),
		unknown("its name in Punycode", names("xn--w-1-")),
		unknown("its address as a name", names("10.0.0.11")),
		unknown("its address with a zone as a name", names("2001:db8::11%eth0")),
		unknown("space around its name", names(" w-1")),
		approves("its further name alone", names("w-1.example.com")),
		unknown("an unknown name", names("w-1", "api.example.com")).saying(`"w-1", "w-1.example.com"`),
		unknown("the file's name", names("worker-1")),
		unknown("an asterisk", names("*")),
		unknown("an empty name", func(w *world) { san(tlv(0x82))(w) }),
		unknown("a dot at the end", names("w-1.")),
		unknown("a line feed", names("w-1\n")),
		unknown("a zero byte", names("w-1\x00.example.com")),
		foreign("another host's hostname", names("w-1", "w-2")).saying(`the host "w-2"`),
		foreign("another host's further name", names("w-2.example.com")),
		foreign("another Node's name", func(w *world) {
			names("w-8")(w)
			w.cluster.Nodes = append(w.cluster.Nodes, csr.Node{Name: "w-8"})
		}).saying(`the Node "w-8"`),
		foreign("a further name that is another's hostname", func(w *world) {
			names("w-3")(w)
			w.host().Names = append(w.host().Names, "w-3")
		}),
		foreign("a further name of a host beside the file", func(w *world) {
			names("localhost")(w)
			w.host().Names, w.cluster.Hosts[3].Names = []string{"localhost"}, []string{"localhost"}
		}),
		approves("its own name, which another has as a further one", func(w *world) {
			names("w-1")(w)
			w.cluster.Hosts[1].Names = []string{"w-1"}
		}),
	}
}

// addressRows are about IP addresses.
func addressRows() []row {
	claims := func(address string, own ...string) func(*world) {
		return func(w *world) {
			w.template = template("system:node:w-1", []string{"w-1"}, "10.0.0.11", address)
			w.host().Addresses = append(w.host().Addresses, addrs(own...)...)
		}
	}
	allowed := func(address string) func(*world) {
		return func(w *world) {
			claims(address)(w)
			w.host().Allowed = addrs(address)
		}
	}
	unknown := func(name, address string, change func(*world)) row {
		return row{name: name, change: change, decision: model.RequestAsk, reason: model.ReasonUnknownAddress, address: address, says: "10.0.0.11, 2001:db8::11"}
	}
	own := func(reason, address string, rows ...row) []row {
		return append(rows,
			refuses(address+" asked for", reason, claims(address)).about(address),
			refuses(address+" in the inventory", reason, claims(address, address)).about(address),
			refuses(address+" allowed by a person", reason, allowed(address)).about(address),
		)
	}
	rows := []row{
		unknown("an address that nobody has", "10.0.0.77", claims("10.0.0.77")).saying("10.0.0.77"),
		unknown("an address of its own Node that nobody has", "10.0.0.99", claims("10.0.0.99")),
		unknown("an IPv6 address that nobody has", "2001:db8::77", claims("2001:db8::77")),
		unknown("several", "10.0.0.77,10.0.0.78", func(w *world) { w.template = template("system:node:w-1", nil, "10.0.0.77", "10.0.0.78", "10.0.0.77") }),
		approves("an address that a person has allowed", allowed("10.0.0.77")),
		approves("addresses alone", func(w *world) { w.template = template("system:node:w-1", nil, "10.0.0.11") }),
		approves("an inventory of IPv4 written as IPv6", claims("10.0.0.77", "::ffff:10.0.0.77")),
		approves("an inventory with zones", claims("2001:db8::77", "2001:db8::77%eth0")),
		refuses("IPv4 written as IPv6", model.ReasonSpecialAddress, func(w *world) {
			san(tlv(0x87, append(make([]byte, 10), 0xff, 0xff, 10, 0, 0, 11)))(w)
		}).about("::ffff:10.0.0.11"),
		refuses("another's IPv4 written as IPv6", model.ReasonSpecialAddress, func(w *world) {
			san(tlv(0x87, append(make([]byte, 10), 0xff, 0xff, 10, 0, 0, 12)))(w)
		}).about("::ffff:10.0.0.12"),
		refuses("a loopback address written as IPv6", model.ReasonSpecialAddress, func(w *world) {
			san(tlv(0x87, append(make([]byte, 10), 0xff, 0xff, 127, 0, 0, 1)))(w)
		}).about("::ffff:127.0.0.1"),
		refuses("another's allowed address", model.ReasonForeignAddress, func(w *world) {
			allowed("10.0.0.77")(w)
			w.cluster.Hosts[1].Allowed = addrs("10.0.0.77")
		}).about("10.0.0.77"),
		refuses("a neighbour's after an unknown one", model.ReasonForeignAddress, func(w *world) {
			w.template = template("system:node:w-1", nil, "10.0.0.77", "10.0.0.12")
		}).about("10.0.0.12").saying(`the host "w-2"`),
		refuses("a network written as IPv6", model.ReasonClusterNetwork, func(w *world) {
			claims("192.168.7.7", "192.168.7.7")(w)
			w.cluster.Networks = append(w.cluster.Networks, netip.MustParsePrefix("::ffff:192.168.7.0/120"))
		}).about("192.168.7.7"),
		refuses("a virtual address written as IPv6", model.ReasonVirtualAddress, func(w *world) {
			claims("10.0.0.4", "10.0.0.4")(w)
			w.cluster.VIPs = addrs("::ffff:10.0.0.4")
		}).about("10.0.0.4"),
	}
	reasons := map[string]string{
		"10.0.0.12": model.ReasonForeignAddress, "2001:db8::12": model.ReasonForeignAddress, // a host's
		"10.0.0.13":  model.ReasonForeignAddress, // of one that installs still
		"10.0.0.10":  model.ReasonForeignAddress, // of one beside the file
		"10.0.0.110": model.ReasonForeignAddress, // a Node's
		"10.0.0.2":   model.ReasonVirtualAddress, "10.0.0.3": model.ReasonVirtualAddress,
		"10.128.0.1": model.ReasonClusterNetwork, "10.131.255.255": model.ReasonClusterNetwork, "172.30.0.1": model.ReasonClusterNetwork, "fd01::7": model.ReasonClusterNetwork,
		"127.0.0.1": model.ReasonSpecialAddress, "127.8.0.1": model.ReasonSpecialAddress, "::1": model.ReasonSpecialAddress,
		"169.254.1.1": model.ReasonSpecialAddress, "fe80::11": model.ReasonSpecialAddress,
		"224.0.0.1": model.ReasonSpecialAddress, "ff02::1": model.ReasonSpecialAddress, "ff0e::1": model.ReasonSpecialAddress,
		"0.0.0.0": model.ReasonSpecialAddress, "0.1.2.3": model.ReasonSpecialAddress, "::": model.ReasonSpecialAddress,
		"255.255.255.255": model.ReasonSpecialAddress, "240.0.0.1": model.ReasonSpecialAddress, "239.1.1.1": model.ReasonSpecialAddress,
		"::a00:b": model.ReasonSpecialAddress, "64:ff9b::a00:c": model.ReasonSpecialAddress, "64:ff9b:1::1": model.ReasonSpecialAddress,
		"100::1": model.ReasonSpecialAddress,
	}
	for _, address := range slices.Sorted(maps.Keys(reasons)) {
		rows = append(rows, own(reasons[address], address)...)
	}
	return rows
}
