package csr

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	userPrefix = "system:node:"
	nodesGroup = "system:nodes"
	pemType    = "CERTIFICATE REQUEST"

	// A kubelet's request has some 500 bytes, one with a long RSA key and many addresses
	// 3,000.
	maxPEM  = 16 << 10
	maxSANs = 64
)

var (
	oidCommonName       = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidExtensionRequest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 14}
	oidSubjectAltName   = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// claim is what a request asks for.
type claim struct {
	*x509.CertificateRequest
	key  [sha256.Size]byte // of its public key
	sans int               // how many alternative names, of any kind
	// extra is what it asks for beside alternative names; empty if nothing.
	extra string
}

// tbs is the part of a request that is signed.
type tbs struct {
	Raw        asn1.RawContent
	Version    int
	Subject    asn1.RawValue
	PublicKey  asn1.RawValue
	Attributes []asn1.RawValue `asn1:"tag:0"`
}

// attribute is what a request says of itself beside subject and key.
type attribute struct {
	ID     asn1.ObjectIdentifier
	Values []asn1.RawValue `asn1:"set"`
}

// read parses a request strictly. crypto/x509, by which the API server reads it and the signer makes the certificate,
// skips what it does not know; this function checks that, too.
func read(text []byte) (*claim, *finding) {
	if len(text) > maxPEM {
		return nil, &finding{model.RequestRefuse, model.ReasonTooLarge,
			fmt.Sprintf("it has %d bytes, but a request of a kubelet has at most %d", len(text), maxPEM)}
	}
	block, _ := pem.Decode(text)
	if block == nil || !bytes.Equal(text, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: block.Bytes})) {
		return nil, &finding{model.RequestRefuse, model.ReasonMalformed, "it is not exactly one PEM block of type " + pemType}
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, malformed(err)
	}
	c := &claim{CertificateRequest: request, key: sha256.Sum256(request.RawSubjectPublicKeyInfo)}
	if err := c.readAttributes(); err != nil {
		return c, malformed(err)
	}
	return c, nil
}

func malformed(err error) *finding {
	return &finding{model.RequestRefuse, model.ReasonMalformed, "it is not a PKCS#10 request: " + quoted(err.Error())}
}

// fingerprint is a key for people.
func fingerprint(key [sha256.Size]byte) string { return hex.EncodeToString(key[:8]) }

// readAttributes records every alternative name and everything else that is requested.
func (c *claim) readAttributes() error {
	var signed tbs
	if err := whole(c.RawTBSCertificateRequest, &signed); err != nil {
		return err
	}
	if signed.Version != 0 {
		return fmt.Errorf("version %d", signed.Version)
	}
	for i, raw := range signed.Attributes {
		var a attribute
		if err := whole(raw.FullBytes, &a); err != nil {
			return err
		}
		if i > 0 || len(a.Values) != 1 || !a.ID.Equal(oidExtensionRequest) {
			c.extra = "the attribute " + quoted(a.ID.String())
			continue
		}
		if err := c.readExtensions(a.Values[0].FullBytes); err != nil {
			return err
		}
	}
	return nil
}

func (c *claim) readExtensions(raw []byte) error {
	var extensions []pkix.Extension
	if err := whole(raw, &extensions); err != nil {
		return err
	}
	for _, extension := range extensions {
		if !extension.Id.Equal(oidSubjectAltName) {
			c.extra = "the extension " + quoted(extension.Id.String())
			continue
		}
		var names []asn1.RawValue
		if err := whole(extension.Value, &names); err != nil {
			return err
		}
		c.sans += len(names)
	}
	return nil
}

// whole reads a value, and is an error if anything follows it.
func whole(raw []byte, into any) error {
	rest, err := asn1.Unmarshal(raw, into)
	if err == nil && len(rest) != 0 {
		err = asn1.SyntaxError{Msg: "trailing data"}
	}
	return err
}

// relativeNameSET is one relative name of a subject; its type's name makes it a SET.
type relativeNameSET []struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// subject is the name that follows system:node: in the common name, and whether the subject
// is as a kubelet's: two relative names with one value each, the organisation system:nodes
// and the common name. The certificate takes over all that is in a subject, and of several
// common names the last one, so nothing else may be there.
func (c *claim) subject() (name string, usual bool) {
	name, usual = strings.CutPrefix(c.Subject.CommonName, userPrefix)
	if !usual {
		return "", false
	}
	var relative []relativeNameSET
	if err := whole(c.RawSubject, &relative); err != nil || len(relative) != 2 {
		return name, false
	}
	for _, one := range relative {
		if len(one) != 1 || one[0].Value.Tag != asn1.TagUTF8String && one[0].Value.Tag != asn1.TagPrintableString {
			return name, false
		}
	}
	return name, slices.Equal(c.Subject.Organization, []string{nodesGroup})
}

// glance is what a request is about, however it is made: the subject as the signer reads it,
// and the key. Both are empty if there is no reading it.
func glance(text []byte) (subject pkix.Name, key [sha256.Size]byte) {
	var request struct {
		Signed struct { // what follows in both is not read
			Version   int
			Subject   pkix.RDNSequence
			PublicKey asn1.RawValue
		}
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return subject, key
	}
	if _, err := asn1.Unmarshal(block.Bytes, &request); err == nil {
		subject.FillFromRDNSequence(&request.Signed.Subject)
		key = sha256.Sum256(request.Signed.PublicKey.FullBytes)
	}
	return subject, key
}

// nodesOf are the Nodes that the common names of a subject claim.
func nodesOf(subject pkix.Name) []string {
	var nodes []string
	for _, one := range subject.Names {
		text, _ := one.Value.(string)
		if node, ok := nodeOf(text); ok && one.Type.Equal(oidCommonName) && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// nodeOf is the Node that a common name claims.
func nodeOf(commonName string) (node string, ok bool) {
	name, ok := strings.CutPrefix(commonName, userPrefix)
	if !ok || !nodeName(name) {
		return "", false
	}
	return name, true
}
