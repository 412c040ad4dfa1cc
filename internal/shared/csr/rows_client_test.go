package csr_test

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/url"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func refuses(name, reason string, change func(*world)) row {
	return row{name: name, change: change, decision: model.RequestRefuse, reason: reason}
}

func approves(name string, change func(*world)) row {
	return row{name: name, change: change, decision: model.RequestApprove, reason: model.ReasonProven}
}

func (r row) of(node, host string) row { r.node, r.host = node, host; return r }

func (r row) about(address string) row { r.address = address; return r }

func (r row) saying(says string) row { r.says = says; return r }

// san puts alternative names into the request that Go's API does not make.
func san(names ...[]byte) func(*world) {
	return func(w *world) {
		w.hand = &byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks(alternatives(names...))}}
	}
}

// asking adds an extension to the request.
func asking(id []int, value ...byte) func(*world) {
	return func(w *world) {
		w.template.ExtraExtensions = append(w.template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier(id), Critical: true, Value: value})
	}
}

func usages(all ...string) func(*world) { return func(w *world) { w.request.Usages = all } }

// otherName is an alternative name of a type of its own.
func otherName() []byte {
	return tlv(0xa0, []byte{0x06, 0x03, 0x55, 0x04, commonName}, tlv(0xa0, tlv(utf8Text, []byte("w-1"))))
}

func clientRows(t *testing.T) []row {
	named := func(name string) func(*world) {
		return func(w *world) { w.template = template("system:node:"+name, nil) }
	}
	return []row{
		approves("usages with key encipherment", usages("key encipherment", "digital signature", "client auth")),
		refuses("usages of a server", model.ReasonUnexpectedUsages, usages("digital signature", "server auth")),
		refuses("usages of both", model.ReasonUnexpectedUsages, usages("digital signature", "client auth", "server auth")),
		refuses("one usage", model.ReasonUnexpectedUsages, usages("client auth")),
		refuses("a usage twice", model.ReasonUnexpectedUsages, usages("digital signature", "client auth", "client auth")),
		refuses("another usage", model.ReasonUnexpectedUsages, usages("digital signature", "client auth", "cert sign")),
		refuses("no usages", model.ReasonUnexpectedUsages, usages()),

		refuses("a DNS name", model.ReasonUnexpectedSAN, func(w *world) { w.template.DNSNames = []string{"w-1"} }),
		refuses("an address", model.ReasonUnexpectedSAN, func(w *world) { w.template = template("system:node:w-1", nil, "10.0.0.11") }).saying("10.0.0.11"),
		refuses("an e-mail address", model.ReasonUnexpectedSAN, func(w *world) { w.template.EmailAddresses = []string{"w-1@example.com"} }),
		refuses("a URI", model.ReasonUnexpectedSAN, func(w *world) { w.template.URIs = []*url.URL{{Scheme: "spiffe", Host: "w-1"}} }),
		refuses("a name of another type", model.ReasonUnexpectedSAN, san(otherName())),
		refuses("a registered id", model.ReasonUnexpectedSAN, san(tlv(0x88, []byte{0x55, 0x04}))),
		refuses("a name of no type", model.ReasonUnexpectedSAN, san(tlv(utf8Text, []byte("w-1")))),
		refuses("a compound DNS name", model.ReasonUnexpectedSAN, san(tlv(0xa2, tlv(0x82, []byte("w-1"))))),
		refuses("an authority", model.ReasonUnexpectedExtension, asking([]int{2, 5, 29, 19}, 0x30, 0x03, 0x01, 0x01, 0xff)).saying("2.5.29.19"),
		refuses("an extension with a long name", model.ReasonUnexpectedExtension, asking(append([]int{2, 5}, make([]int, 5000)...))),
		refuses("key usages", model.ReasonUnexpectedExtension, asking([]int{2, 5, 29, 15}, 0x03, 0x02, 0x02, 0x04)),
		refuses("alternative names, but none", model.ReasonUnexpectedSAN, san()),
		refuses("a second attribute", model.ReasonUnexpectedExtension, func(w *world) {
			w.hand = &byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks(), asks()}}
		}),
		approves("no extensions, asked for", func(w *world) {
			w.hand = &byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks()}}
		}),
		refuses("a password", model.ReasonUnexpectedExtension, func(w *world) {
			w.hand = &byHand{subject: nodeSubject("w-1"), attributes: [][]byte{
				tlv(0x30, []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x07}, tlv(0x31, tlv(utf8Text, []byte("secret")))),
			}}
		}).saying("1.2.840.113549.1.9.7"),
		refuses("extensions twice in one attribute", model.ReasonUnexpectedExtension, func(w *world) {
			w.hand = &byHand{subject: nodeSubject("w-1"), attributes: [][]byte{
				tlv(0x30, []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e}, tlv(0x31, tlv(0x30), tlv(0x30))),
			}}
		}),
		approves("made by hand", func(w *world) { w.hand = &byHand{subject: nodeSubject("w-1")} }),
		approves("the common name first", func(w *world) {
			w.hand = &byHand{subject: subject(relative(commonName, utf8Text, "system:node:w-1"), relative(organization, utf8Text, "system:nodes"))}
		}),

		refuses("capitals in the name", model.ReasonInvalidName, named("W-1")).of("-", "-"),
		refuses("capitals in name and record", model.ReasonInvalidName, func(w *world) {
			w.host().Hostname, w.template = "W-1", template("system:node:W-1", nil)
		}).of("-", "-"),
		approves("capitals in the record", func(w *world) { w.host().Hostname = "W-1" }),
		approves("space around the record", func(w *world) { w.host().Hostname = "w-1\n" }),
		refuses("an unknown name", model.ReasonUnknownName, named("w-9")).of("w-9", "-"),
		refuses("the file's name of a host", model.ReasonUnknownName, named("worker-1")).of("worker-1", "-"),
		refuses("a further name of a host", model.ReasonUnknownName, named("w-1.example.com")).of("w-1.example.com", "-"),
		refuses("a name that a Kelvin sign makes", model.ReasonUnknownName, func(w *world) {
			w.host().Hostname, w.template = "\u212a-1", template("system:node:k-1", nil)
		}).of("k-1", "-"),
		refuses("no recorded name", model.ReasonUnknownName, func(w *world) { w.host().Hostname = "" }).of("w-1", "-"),
		refuses("a name of two hosts", model.ReasonSharedHostname, func(w *world) { w.cluster.Hosts[3].Hostname = "W-1" }).of("w-1", "-").saying(`"worker-1", "m-0"`),
		refuses("a host beside the file", model.ReasonHostNotNamed, named("m-0")).of("m-0", "-"),
		refuses("a host that nobody asks about", model.ReasonHostUnasked, func(w *world) { w.host().Unasked = true }),
		refuses("a host that installs still", model.ReasonHostNotInstalled, named("w-3")).of("w-3", "worker-3"),
		refuses("a reboot that nobody noted", model.ReasonRebootUnknown, func(w *world) { w.host().Rebooted = time.Time{} }),
		refuses("made long before the reboot", model.ReasonBeforeReboot, made(-time.Hour)).saying("2026-03-01T12:00:00Z"),
		refuses("made too early", model.ReasonBeforeReboot, made(-61*time.Second)),
		refuses("made at no time", model.ReasonBeforeReboot, func(w *world) { w.request.Created = time.Time{} }),
		approves("made a little early", made(-60*time.Second)),
		approves("made a day later", made(24*time.Hour)),
		refuses("a Node of that name", model.ReasonNodeExists, func(w *world) {
			w.cluster.Nodes = append(w.cluster.Nodes, csr.Node{Name: "w-1", Created: rebooted().Add(-time.Hour)})
		}).saying("2026-03-01T11:00:00Z"),
		refuses("a Node of that name without a date", model.ReasonNodeExists, func(w *world) {
			w.cluster.Nodes = append(w.cluster.Nodes, csr.Node{Name: "w-1"})
		}).saying("an unknown time"),
	}
}

func made(later time.Duration) func(*world) {
	return func(w *world) { w.request.Created = rebooted().Add(later) }
}

// approvalRows are about earlier approvals of client requests.
func approvalRows(t *testing.T) []row {
	earlier := func(change func(*model.CertificateRequest)) func(*world) {
		r := clientRequest("csr-0", encode(t, newKey(t), template("system:node:w-1", nil)))
		r.Created = rebooted().Add(2 * time.Minute)
		r = approved(r)
		change(&r)
		return func(w *world) { w.other(r) }
	}
	subjectOf := func(parts ...[]byte) func(*model.CertificateRequest) {
		return func(r *model.CertificateRequest) {
			r.PEM = byHand{subject: subject(parts...)}.encode(t, newKey(t))
		}
	}
	return []row{
		refuses("approved once", model.ReasonAlreadyApproved, earlier(func(*model.CertificateRequest) {})).saying(`"csr-0"`),
		refuses("approved once, later in the list", model.ReasonAlreadyApproved, func(w *world) {
			earlier(func(*model.CertificateRequest) {})(w)
			w.reversed = true
		}),
		approves("another name approved, in capitals", earlier(func(r *model.CertificateRequest) {
			r.PEM = encode(t, newKey(t), template("system:node:W-1", nil))
		})),
		refuses("made before the reboot and approved since", model.ReasonAlreadyApproved, earlier(func(r *model.CertificateRequest) {
			r.Created, r.ConditionAt = rebooted().Add(-time.Hour), rebooted().Add(time.Minute)
		})),
		refuses("approved nobody knows when", model.ReasonAlreadyApproved, earlier(func(r *model.CertificateRequest) { r.ConditionAt = time.Time{} })),
		refuses("an administrator's, approved", model.ReasonAlreadyApproved, earlier(func(r *model.CertificateRequest) { r.Username = "system:admin" })),
		refuses("approved with another common name behind", model.ReasonAlreadyApproved, earlier(subjectOf(
			relative(commonName, printable, "system:node:w-1"), relative(commonName, printable, "system:node:w-2")))),
		refuses("approved without an organisation", model.ReasonAlreadyApproved, earlier(subjectOf(relative(commonName, bmp, wide("system:node:w-1"))))),
		refuses("approved before another host rebooted", model.ReasonAlreadyApproved, func(w *world) {
			w.host().Rebooted = rebooted().Add(-24 * time.Hour)
			earlier(func(r *model.CertificateRequest) {
				r.Created, r.ConditionAt = rebooted().Add(-time.Hour), rebooted().Add(-50*time.Minute)
			})(w)
		}),
		refuses("approved, beside a host whose reboot nobody noted", model.ReasonAlreadyApproved, func(w *world) {
			w.cluster.Hosts[2].Installed = true
			earlier(func(*model.CertificateRequest) {})(w)
		}),
		refuses("approved twice", model.ReasonAlreadyApproved, func(w *world) {
			earlier(func(r *model.CertificateRequest) { r.Name = "csr-00" })(w)
			earlier(func(r *model.CertificateRequest) { r.Created = r.Created.Add(-time.Second) })(w)
			earlier(func(r *model.CertificateRequest) { r.Name = "csr-000" })(w)
		}).saying(`the request "csr-0",`),
		refuses("joined by the service's record", model.ReasonAlreadyJoined,
			func(w *world) { w.host().Joined = true }).saying("the service reports that the host"),
		approves("approved before the reboot", earlier(func(r *model.CertificateRequest) {
			r.Created, r.ConditionAt = rebooted().Add(-time.Hour), rebooted().Add(-50*time.Minute)
		})),
		approves("approved before the reboot, while another host has long been up", func(w *world) {
			w.cluster.Hosts[1].Rebooted = rebooted().Add(-24 * time.Hour)
			earlier(func(r *model.CertificateRequest) {
				r.Created, r.ConditionAt = rebooted().Add(-time.Hour), rebooted().Add(-50*time.Minute)
			})(w)
		}),
		approves("another host's approved", earlier(func(r *model.CertificateRequest) { r.PEM = encode(t, newKey(t), template("system:node:w-2", nil)) })),
		approves("a renewal approved", earlier(func(r *model.CertificateRequest) { r.Username = "system:node:w-1" })),
		approves("one denied", earlier(func(r *model.CertificateRequest) { r.Approved, r.Issued, r.Denied = false, false, true })),
		approves("a serving request approved", earlier(func(r *model.CertificateRequest) { r.Signer = servingSigner })),
		approves("approved with the name as a unit", earlier(subjectOf(
			relative(unit, printable, "system:node:w-1"), relative(commonName, printable, "system:node:w-2")))),
		approves("something unreadable approved", earlier(func(r *model.CertificateRequest) { r.PEM = []byte("w-1") })),
		approves("no PKCS#10 approved", earlier(func(r *model.CertificateRequest) { r.PEM = armour([]byte{0x30, 0x00}) })),
	}
}

// rivalRows are about other pending requests of the same name.
func rivalRows(t *testing.T) []row {
	rival := func(change func(*model.CertificateRequest)) func(*world) {
		r := clientRequest("csr-2", encode(t, newKey(t), template("system:node:w-1", nil)))
		change(&r)
		return func(w *world) { w.other(r) }
	}
	asks := func(name string, change func(*world)) row {
		return row{name: name, change: change, decision: model.RequestAsk, reason: model.ReasonRivalKeys, says: `"csr-2" (key `}
	}
	again := func(later time.Duration) func(*world) {
		return func(w *world) {
			r := clientRequest("csr-2", encode(t, w.key, template("system:node:w-1", nil)))
			r.Created = r.Created.Add(later)
			w.other(r)
		}
	}
	return []row{
		asks("two keys", rival(func(*model.CertificateRequest) {})),
		approves("two keys, one of another name in capitals", rival(func(r *model.CertificateRequest) {
			r.PEM = encode(t, newKey(t), template("system:node:W-1", nil))
		})),
		asks("two keys, one with usages of a server", rival(func(r *model.CertificateRequest) { r.Usages = []string{"server auth"} })),
		asks("two keys, one with names", rival(func(r *model.CertificateRequest) {
			r.PEM = encode(t, newKey(t), template("system:node:w-1", []string{"w-1"}))
		})),
		asks("two keys and one of them twice", func(w *world) {
			rival(func(*model.CertificateRequest) {})(w)
			w.other(clientRequest("csr-3", encode(t, w.key, template("system:node:w-1", nil))))
		}),
		asks("two keys, the newer one", rival(func(r *model.CertificateRequest) { r.Created = r.Created.Add(-time.Second) })).saying(`first: "csr-1" (key `),
		refuses("two keys, the older one", model.ReasonSuperseded, rival(func(r *model.CertificateRequest) { r.Created = r.Created.Add(time.Second) })).saying(`"csr-2"`),
		asks("two keys, and a newer one with usages of a server", rival(func(r *model.CertificateRequest) {
			r.Created, r.Usages = r.Created.Add(time.Second), []string{"server auth"}
		})),
		approves("two keys, one of before the reboot", rival(func(r *model.CertificateRequest) { r.Created = rebooted().Add(-time.Hour) })),
		approves("two keys, one by an administrator", rival(func(r *model.CertificateRequest) { r.Username = "system:admin" })),
		approves("two keys, one of a renewal", rival(func(r *model.CertificateRequest) { r.Username = "system:node:w-1" })),
		approves("two keys, one denied", rival(func(r *model.CertificateRequest) { r.Denied = true })),
		approves("two keys of two names", rival(func(r *model.CertificateRequest) { r.PEM = encode(t, newKey(t), template("system:node:w-2", nil)) })),
		approves("one key twice, the older one", again(time.Second)),
		approves("one key twice at once, the first by name", again(0)),
		refuses("one key twice, the younger one", model.ReasonRepeated, again(-time.Second)).saying(`"csr-2"`),
		approves("one key twice, the older one of before the reboot", again(-time.Hour)),
	}
}
