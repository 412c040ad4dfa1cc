package csr_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// almost are texts that are not the name w-1, and that some reader could take for it.
func almost() []string {
	return []string{
		"W-1", "w-1.", ".w-1", "w-1..", " w-1", "w-1 ", "\tw-1", "w-1\n", "w-1\r\n", "w-1\x00", "\x00w-1", "w-1\x00.example.com", "w-1\x7f",
		"\uff57-1", "w\uff0d1", "w-\uff11", "w\u20101", "w\u20111", "w\u22121", "w\u00ad-1", "w\u200b-1", "w\u200d-1", "w-1\u202e", "\ufeffw-1",
		"w\u0301-1", "\u1e83-1", "\u2168-1", "w-\u00b9", "w-1\u3002", "xn--w-1", "xn--w-1-", "xn---1-abc", "w-01", "w--1", "w-1-", "-w-1",
		"w_1", "w-1_",
		"w-1/", "w-1/status", "../w-1", "w-1%eth0", "w-1:10250", "w-1@w-2", "w-1,O=system:masters", "w-1+OU=a", "w-1\\00", "system:node:w-1",
		"w-1=w-2", "w-1;w-2", "w-1,w-2", "w-1 w-2", "*", "*.", "*-1", "w-*", "w-?", "[w]-1", "W-1.example.com", "w-1.EXAMPLE.com",
		"w-1.example.com.",
		"w-1.localdomain", "10.0.0.11", "2001:db8::11", "::ffff:10.0.0.11", "fe80::1%eth0", "0x0a00000b", "167772171", "",
		strings.Repeat("w-1.", 80) + "w-1",
	}
}

// attack is a hostile request: it changes what a kubelet of w-1 would send.
type attack struct {
	hand   *byHand
	change func(*model.CertificateRequest, *x509.CertificateRequest)
	bend   func([]byte) []byte
}

// attacks are those by form, alike for both kinds of request.
func attacks(t *testing.T) map[string]attack {
	all := map[string]attack{}
	organized := relative(organization, printable, "system:nodes")
	for tag, text := range map[byte]string{
		ia5: "system:node:w-1", bmp: wide("system:node:w-1"), 0x14: "system:node:w-1", 0x12: "system:node:w-1", 0x1a: "system:node:w-1",
		0x1c: "\x00\x00\x00s", 0x04: "system:node:w-1", 0x1b: "system:node:w-1",
	} {
		all[fmt.Sprintf("text type %#x", tag)] = attack{hand: &byHand{subject: subject(organized, relative(commonName, tag, text))}}
	}
	for name, oid := range map[string][]byte{
		"an OID that is too long": {0x06, 0x04, 0x55, 0x04, 0x80, 0x03}, "a serial number": {0x06, 0x03, 0x55, 0x04, 0x05},
		"a unit":    {0x06, 0x03, 0x55, 0x04, 0x0b},
		"a user id": {0x06, 0x0a, 0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x01},
	} {
		pair := tlv(0x31, tlv(0x30, oid, tlv(printable, []byte("system:node:w-1"))))
		all["the name as "+name] = attack{hand: &byHand{subject: subject(organized, pair)}}
		all["the name, and another as "+name] = attack{hand: &byHand{subject: subject(organized, relative(commonName, printable,
			"system:node:w-1"), pair)}}
	}
	for _, group := range []string{"System:nodes", "system:Nodes", "system:nodes ", " system:nodes", "system:nodes\x00",
		"system:masters", "system:nodes,system:masters", "", "\uff53ystem:nodes"} {
		all[fmt.Sprintf("the organisation %q", group)] = attack{hand: &byHand{subject: subject(relative(organization, utf8Text, group),
			relative(commonName, printable, "system:node:w-1"))}}
	}
	for name, names := range map[string][][]byte{
		"a directory name": {tlv(0xa4, nodeSubject("w-1"))}, "an EDI party": {tlv(0xa5, tlv(0xa1, tlv(utf8Text, []byte("w-1"))))},
		"an X.400 address":      {tlv(0xa3)},
		"an address and a mask": {tlv(0x87, []byte{10, 0, 0, 11, 255, 255, 255, 0})}, "no address": {tlv(0x87)},
		"an address of six bytes": {tlv(0x87, make([]byte, 6))},
		"a mail address":          {tlv(0x81, []byte("root@w-1"))}, "a URI": {tlv(0x86, []byte("https://w-1"))}, "a name of high bytes": {tlv(0x82,
			[]byte("w-1\xc3\xa9"))},
	} {
		all["alternatively "+name] = attack{hand: &byHand{subject: nodeSubject("w-1"),
			attributes: [][]byte{asks(alternatives(append(names, tlv(0x82, []byte("w-1")))...))}}}
	}
	for name, bend := range map[string]func([]byte) []byte{
		"a mark of byte order": func(p []byte) []byte { return append([]byte("\xef\xbb\xbf"), p...) },
		"lines with returns":   func(p []byte) []byte { return []byte(strings.ReplaceAll(string(p), "\n", "\r\n")) },
		"no line at the end":   func(p []byte) []byte { return p[:len(p)-1] },
		"two blocks":           func(p []byte) []byte { return append(p, p...) },
		"a certificate beside": func(p []byte) []byte { return append(p, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"...) },
		"another signature":    func(p []byte) []byte { der := decode(p); der[len(der)-3] ^= 0x40; return armour(der) },
		"a byte behind":        func(p []byte) []byte { return armour(append(decode(p), 0)) },
		"an indefinite length": func(p []byte) []byte {
			der := decode(p)
			return armour(append(append([]byte{0x30, 0x80}, der[3:]...), 0, 0))
		},
	} {
		all[name] = attack{bend: bend}
	}
	for _, signer := range []string{"kubernetes.io/kube-apiserver-client", "kubernetes.io/legacy-unknown",
		"Kubernetes.io/kubelet-serving", clientSigner + " ", servingSigner + "\n", ""} {
		all[fmt.Sprintf("for the signer %q", signer)] = attack{change: func(r *model.CertificateRequest, _ *x509.CertificateRequest) { r.Signer = signer }}
	}
	for _, user := range []string{"system:admin", "system:serviceaccount:default:node-bootstrapper", bootstrapper + " ",
		strings.ToUpper(bootstrapper), "system:node:w-2", "system:node:", "System:node:w-1", "system:bootstrap:abc", ""} {
		all[fmt.Sprintf("by %q", user)] = attack{change: func(r *model.CertificateRequest, _ *x509.CertificateRequest) { r.Username = user }}
	}
	for _, group := range []string{"system:masters", "system:Nodes", "system:authenticated ", "system:unauthenticated"} {
		all[fmt.Sprintf("with the group %q", group)] = attack{change: func(r *model.CertificateRequest,
			_ *x509.CertificateRequest) {
			r.Groups = append(slices.Clone(r.Groups), group)
		}}
	}
	for _, usage := range []string{"cert sign", "any", "Client Auth", "server auth", "client auth", "code signing", "digital signature"} {
		all[fmt.Sprintf("with the usage %q", usage)] = attack{change: func(r *model.CertificateRequest,
			_ *x509.CertificateRequest) {
			r.Usages = append(slices.Clone(r.Usages), usage)
		}}
	}
	return all
}

// TestAttacks: of hostile requests, each made in the place of a kubelet's or beside it, none is approved.
func TestAttacks(t *testing.T) {
	key, kinds := newKey(t), 0
	cheap := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	known := cluster()
	known.Nodes = append(known.Nodes, csr.Node{Name: "w-2", Created: rebooted().Add(1e9), Addresses: addrs("10.0.0.12")})
	genuine := servingRequest("csr-genuine", "w-2", encode(t, newKey(t), template("system:node:w-2", []string{"w-2"}, "10.0.0.12")))
	served := cluster()
	served.Nodes = append(known.Nodes, csr.Node{Name: "w-1", Created: rebooted().Add(1e9), Addresses: addrs("10.0.0.11")})
	refuse := func(t *testing.T, known csr.Cluster, hostile model.CertificateRequest) {
		t.Helper()
		kinds++
		verdicts := csr.Judge([]model.CertificateRequest{hostile, genuine}, known, now())
		if v := verdicts[0]; v.Decision == model.RequestApprove || v.Decision == model.RequestWait {
			t.Errorf("%s: %s", v.Decision, v.Message)
		}
		if v := verdicts[1]; v.Decision != model.RequestApprove {
			t.Errorf("the request of another host: %s", v.Message)
		}
	}
	base := func(serving bool) (csr.Cluster, model.CertificateRequest, x509.CertificateRequest) {
		if serving {
			return served, servingRequest("csr-1", "w-1", nil), template("system:node:w-1", []string{"w-1"}, "10.0.0.11")
		}
		return known, clientRequest("csr-1", nil), template("system:node:w-1", nil)
	}
	all := attacks(t)
	for _, serving := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			t.Run(fmt.Sprintf("serving %t/%s", serving, name), func(t *testing.T) {
				a := all[name]
				known, r, form := base(serving)
				if a.change != nil {
					a.change(&r, &form)
				}
				r.PEM = encode(t, key, form)
				if a.hand != nil {
					r.PEM = a.hand.encode(t, key)
				}
				if a.bend != nil {
					r.PEM = a.bend(r.PEM)
				}
				refuse(t, known, r)
			})
		}
		for _, name := range almost() {
			t.Run(fmt.Sprintf("serving %t/the name %q", serving, name), func(t *testing.T) {
				known, r, _ := base(serving)
				names := asks()
				if serving {
					r.Username, names = "system:node:"+name, asks(alternatives(tlv(0x82, []byte("w-1"))))
				}
				r.PEM = byHand{subject: subject(relative(organization, printable, "system:nodes"), relative(commonName, utf8Text,
					"system:node:"+name)), attributes: [][]byte{names}}.encode(t, key)
				refuse(t, known, r)
				if serving { // and as a further name
					known, r, _ = base(true)
					r.PEM = byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks(alternatives(tlv(0x82, []byte("w-1")), tlv(0x82,
						[]byte(name))))}}.encode(t, key)
					refuse(t, known, r)
				}
			})
		}
	}
	for _, address := range []string{
		"0.0.0.0", "255.255.255.255", "127.0.0.1", "169.254.169.254", "224.0.0.251", "240.0.0.1", "10.0.0.2", "10.0.0.12", "10.0.0.10",
		"10.128.0.1", "172.30.0.1",
		"::", "::1", "fe80::11", "ff02::1", "fd01::1", "::10.0.0.12", "64:ff9b::10.0.0.12", "64:ff9b:1::a00:c", "100::1", "2001:db8::12",
		"10.0.0.77",
	} {
		t.Run("the address "+address, func(t *testing.T) {
			known, r, _ := base(true)
			r.PEM = encode(t, key, template("system:node:w-1", []string{"w-1"}, "10.0.0.11", address))
			refuse(t, known, r)
			mapped := append(append(make([]byte, 10), 0xff, 0xff), net.ParseIP("10.0.0.11").To4()...)
			r.PEM = byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks(alternatives(tlv(0x82, []byte("w-1")), tlv(0x87,
				mapped)))}}.encode(t, key)
			refuse(t, known, r)
		})
	}
	for name, odd := range kept() {
		if name == "RSA 2048" {
			continue
		}
		for _, serving := range []bool{false, true} {
			known, r, form := base(serving)
			r.PEM = encode(t, odd, form)
			refuse(t, known, r)
		}
	}
	small := *cheap
	small.E = 3
	known, r, form := base(false)
	if der, err := x509.CreateCertificateRequest(rand.Reader, &form, &small); err == nil {
		r.PEM = armour(der)
		refuse(t, known, r)
	}
	if t.Logf("%d hostile requests", kinds); kinds < 350 {
		t.Errorf("only %d hostile requests", kinds)
	}
}
