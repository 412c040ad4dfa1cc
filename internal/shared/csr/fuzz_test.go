package csr_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// FuzzJudge: no request is approved against the rules that proves implements, regardless of who made it. Beside it
// there is a genuine request that was approved for w-2, and the Node w-2 is older than its reboot. The bytes are tried
// as PEM and as the content of PEM.
func FuzzJudge(f *testing.F) {
	key := newKey(f)
	earlier, world := oldNode(f)
	client := encode(f, key, template("system:node:w-1", nil))
	serving := encode(f, key, template("system:node:w-2", []string{"w-2"}, "10.0.0.12", "2001:db8::12"))
	f.Add(client, bootstrapper, clientSigner)
	f.Add(decode(client), bootstrapper, clientSigner)
	f.Add(serving, "system:node:w-2", servingSigner)
	f.Add(decode(serving), "system:node:w-2", servingSigner)
	f.Add(earlier.PEM, "system:node:w-2", clientSigner)
	f.Add(encode(f, key, template("system:node:w-2", []string{"m-0"}, "10.0.0.10")), "system:node:w-2", servingSigner)
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"), "", "")
	f.Fuzz(func(t *testing.T, raw []byte, username, signer string) {
		for _, pem := range [][]byte{raw, armour(raw)} {
			client, serving := clientRequest("csr-1", pem), servingRequest("csr-2", "", pem)
			client.Username, client.Signer, serving.Username, serving.Signer = username, signer, username, signer
			holds(t, world, earlier, client)
			holds(t, world, earlier, serving)
			holds(t, world, approved(client), serving)
		}
	})
}

// FuzzContents tries signed requests with any content.
func FuzzContents(f *testing.F) {
	key := newKey(f)
	earlier, world := oldNode(f)
	nodes, own := relative(organization, printable, "system:nodes"), relative(commonName, printable, "system:node:w-1")
	names := asks(alternatives(tlv(0x82, []byte("w-2")), tlv(0x87, []byte{10, 0, 0, 12})))
	f.Add(nodeSubject("w-1"), []byte(nil))
	f.Add(nodeSubject("w-2"), names)
	f.Add(nodeSubject("m-0"), names)
	f.Add(subject(nodes, own, relative(commonName, bmp, wide("system:node:w-2"))), asks())
	f.Add(nodeSubject("w-2"), asks(alternatives(tlv(0x82, []byte("w-2")), otherName(), tlv(0x87, make([]byte, 16)))))
	f.Fuzz(func(t *testing.T, subject, attributes []byte) {
		if len(subject)+len(attributes) > 8<<10 {
			return
		}
		pem := byHand{subject: subject, attributes: [][]byte{attributes}}.encode(t, key)
		client, serving := clientRequest("csr-1", pem), servingRequest("csr-2", "w-2", pem)
		if says, _ := contentOf(pem); len(says.commonNames) > 0 {
			serving.Username = says.commonNames[0]
		}
		holds(t, world, earlier, client)
		holds(t, world, earlier, serving)
		holds(t, world, approved(client), serving)
	})
}

// oldNode is a cluster in which the Node w-2 is older than its reboot, and the request that
// was approved for it since.
func oldNode(t testing.TB) (model.CertificateRequest, csr.Cluster) {
	world := cluster()
	world.Nodes = append(world.Nodes, csr.Node{Name: "w-2", Created: rebooted().Add(-time.Hour), Addresses: addrs("10.0.0.12")})
	return approved(clientRequest("csr-0", encode(t, newKey(t), template("system:node:w-2", nil)))), world
}

// holds asks that the second of two requests is not approved against the rules. What is
// refused although it fits is for TestNothingForeignIsApproved to find: the two readers need
// not agree about broken ASN.1.
func holds(t *testing.T, world csr.Cluster, requests ...model.CertificateRequest) {
	t.Helper()
	v := csr.Judge(requests, world, now())[1]
	if wrong := proves(papers(requests), 1, world); v.Decision == model.RequestApprove && wrong != nil {
		t.Errorf("%s; by the rules: %v", v.Message, wrong)
	}
	if strings.ContainsFunc(v.Message, func(r rune) bool { return r != '…' && (r < ' ' || r > '~') }) || len(v.Message) > 3000 {
		t.Errorf("not for a terminal: %q", v.Message)
	}
}
