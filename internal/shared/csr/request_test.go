package csr_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	clientSigner  = "kubernetes.io/kube-apiserver-client-kubelet"
	servingSigner = "kubernetes.io/kubelet-serving"
	bootstrapper  = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
)

func bootstrapperGroups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	return must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

// kept makes the key of a kind once, since RSA keys take their time.
var kept = sync.OnceValue(func() map[string]crypto.Signer {
	keys := map[string]crypto.Signer{}
	for kind, curve := range map[string]elliptic.Curve{"P-224": elliptic.P224(), "P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		keys[kind], _ = ecdsa.GenerateKey(curve, rand.Reader)
	}
	for kind, bits := range map[string]int{"RSA 1024": 1024, "RSA 2040": 2040, "RSA 2048": 2048} {
		keys[kind], _ = rsa.GenerateKey(rand.Reader, bits)
	}
	_, keys["Ed25519"], _ = ed25519.GenerateKey(rand.Reader)
	return keys
})

// armour is a request as kubelets send it.
func armour(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// encode makes a request by Go's own API, as a kubelet does.
func encode(t testing.TB, key crypto.Signer, template x509.CertificateRequest) []byte {
	t.Helper()
	der := must.Get(x509.CreateCertificateRequest(rand.Reader, &template, key))(t)
	return armour(der)
}

// decode is the DER of a block.
func decode(text []byte) []byte {
	block, _ := pem.Decode(text)
	return block.Bytes
}

// template is a kubelet's request.
func template(commonName string, names []string, addresses ...string) x509.CertificateRequest {
	request := x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: commonName, Organization: []string{"system:nodes"}},
		DNSNames: names,
	}
	for _, address := range addresses {
		request.IPAddresses = append(request.IPAddresses, net.ParseIP(address))
	}
	return request
}

// byHand is a request that Go's API does not make.
type byHand struct {
	version    int
	subject    []byte // an RDNSequence
	attributes [][]byte
	more       []byte // after the signature
}

func (b byHand) encode(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	public := must.Get(x509.MarshalPKIXPublicKey(key.Public()))(t)
	signed := tlv(0x30, tlv(0x02, []byte{byte(b.version)}), b.subject, public, tlv(0xa0, b.attributes...))
	digest := sha256.Sum256(signed)
	signature := must.Get(ecdsa.SignASN1(rand.Reader, key, digest[:]))(t)
	withSHA256 := tlv(0x30, []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02})
	return armour(append(tlv(0x30, signed, withSHA256, tlv(0x03, []byte{0}, signature)), b.more...))
}

// tlv is a value of ASN.1.
func tlv(tag byte, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	switch n := len(content); {
	case n < 0x80:
		return append([]byte{tag, byte(n)}, content...)
	case n < 0x100:
		return append([]byte{tag, 0x81, byte(n)}, content...)
	default:
		return append([]byte{tag, 0x82, byte(n >> 8), byte(n)}, content...)
	}
}

// relative is a relative name with one value of a subject: its type is 2.5.4.x.
func relative(x, textTag byte, text string) []byte { return tlv(0x31, pair(x, textTag, text)) }

func pair(x, textTag byte, text string) []byte {
	return tlv(0x30, []byte{0x06, 0x03, 0x55, 0x04, x}, tlv(textTag, []byte(text)))
}

func subject(relatives ...[]byte) []byte { return tlv(0x30, relatives...) }

// Types and texts of relative names.
const (
	commonName   = 3
	organization = 10
	unit         = 11
	utf8Text     = 0x0c
	printable    = 0x13
	ia5          = 0x16
	bmp          = 0x1e
)

// wide is a text of two bytes a letter.
func wide(text string) string {
	var all []byte
	for _, letter := range utf16.Encode([]rune(text)) {
		all = append(all, byte(letter>>8), byte(letter))
	}
	return string(all)
}

// nodeSubject is a kubelet's.
func nodeSubject(name string) []byte {
	return subject(relative(organization, printable, "system:nodes"), relative(commonName, printable, "system:node:"+name))
}

// asks is the attribute that asks for extensions.
func asks(extensions ...[]byte) []byte {
	return tlv(0x30, []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e}, tlv(0x31, tlv(0x30, extensions...)))
}

// alternatives is the extension of alternative names, of names as they are encoded.
func alternatives(names ...[]byte) []byte {
	return tlv(0x30, []byte{0x06, 0x03, 0x55, 0x1d, 0x11}, tlv(0x04, tlv(0x30, names...)))
}

// rebooted is when the hosts of the tests did.
func rebooted() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

// cluster has two workers that have just rebooted, one that installs still, and a control
// plane that the file does not name.
func cluster() csr.Cluster {
	return csr.Cluster{
		Hosts: []csr.Host{
			{
				Name: "worker-1", Hostname: "w-1", Names: []string{"w-1.example.com"}, Addresses: addrs("10.0.0.11", "2001:db8::11"),
				Named: true, Installed: true, Rebooted: rebooted(),
			},
			{
				Name: "worker-2", Hostname: "w-2", Names: []string{"w-2.example.com"}, Addresses: addrs("10.0.0.12", "2001:db8::12"),
				Named: true, Installed: true, Rebooted: rebooted(),
			},
			{Name: "worker-3", Hostname: "w-3", Addresses: addrs("10.0.0.13"), Named: true},
			{Name: "m-0", Hostname: "m-0", Addresses: addrs("10.0.0.10"), Installed: true, Rebooted: rebooted()},
		},
		Nodes:    []csr.Node{{Name: "m-0", Created: rebooted().Add(-time.Hour), Addresses: addrs("10.0.0.10", "10.0.0.110")}},
		VIPs:     addrs("10.0.0.2", "10.0.0.3"),
		Networks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14"), netip.MustParsePrefix("172.30.0.0/16"), netip.MustParsePrefix("fd01::/48")},
	}
}

// clientRequest is by the bootstrapper, five minutes after the reboot.
func clientRequest(name string, request []byte) model.CertificateRequest {
	return model.CertificateRequest{
		Name: name, UID: "uid-" + name, Created: rebooted().Add(5 * time.Minute), Signer: clientSigner,
		Username: bootstrapper, Groups: bootstrapperGroups(),
		Usages: []string{"digital signature", "client auth"}, PEM: request,
	}
}

// servingRequest is by a Node, six minutes after the reboot.
func servingRequest(name, node string, request []byte) model.CertificateRequest {
	return model.CertificateRequest{
		Name: name, UID: "uid-" + name, Created: rebooted().Add(6 * time.Minute), Signer: servingSigner,
		Username: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"},
		Usages: []string{"digital signature", "server auth"}, PEM: request,
	}
}

// approved is a request that was approved a minute after it was made.
func approved(r model.CertificateRequest) model.CertificateRequest {
	r.Approved, r.Issued, r.ConditionAt = true, true, r.Created.Add(time.Minute)
	r.Reason, r.Message = "NodeCSRApprove", "This CSR was approved by the Node CSR Approver (cluster-machine-approver)"
	return r
}

func now() time.Time { return rebooted().Add(10 * time.Minute) }
