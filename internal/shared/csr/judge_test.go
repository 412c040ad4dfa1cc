package csr_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// world is one request and what it is compared with; a row of the table changes it.
type world struct {
	cluster  csr.Cluster
	request  model.CertificateRequest
	template x509.CertificateRequest
	key      *ecdsa.PrivateKey
	oddKey   crypto.Signer              // in place of the key
	hand     *byHand                    // in place of the template
	bend     func([]byte) []byte        // what is done to the encoded request
	others   []model.CertificateRequest // in the list before the request
	reversed bool                       // the others are behind it
}

func (w *world) host() *csr.Host { return &w.cluster.Hosts[0] }

// other adds a request beside the one that is judged.
func (w *world) other(r model.CertificateRequest) { w.others = append(w.others, r) }

// judge is the verdict on the request of a world, and those on the others.
func (w *world) judge(t *testing.T) (model.RequestVerdict, []model.RequestVerdict) {
	t.Helper()
	switch {
	case w.hand != nil:
		w.request.PEM = w.hand.encode(t, w.key)
	case w.oddKey != nil:
		w.request.PEM = encode(t, w.oddKey, w.template)
	default:
		w.request.PEM = encode(t, w.key, w.template)
	}
	if w.bend != nil {
		w.request.PEM = w.bend(w.request.PEM)
	}
	all, at := append(slices.Clone(w.others), w.request), len(w.others)
	if w.reversed {
		slices.Reverse(all)
		at = 0
	}
	verdicts := csr.Judge(all, w.cluster, now())
	if len(verdicts) != len(all) {
		t.Fatalf("%d verdicts on %d requests", len(verdicts), len(all))
	}
	for i, v := range verdicts {
		if v.Name != all[i].Name || v.UID != all[i].UID || v.Kind == "" || v.Decision == "" || v.Reason == "" || v.Message == "" {
			t.Errorf("an incomplete verdict: %+v", v)
		}
		if i := strings.IndexFunc(v.Message, func(r rune) bool { return r != '…' && (r < ' ' || r > '~') }); i >= 0 {
			t.Errorf("a message that a terminal may take for something else: %q", v.Message)
		}
		if len(v.Message) > 2000 {
			t.Errorf("a message of %d bytes", len(v.Message))
		}
	}
	if again := csr.Judge(all, w.cluster, now()); !reflect.DeepEqual(verdicts, again) {
		t.Errorf("judged twice, differently:\n%v\n%v", verdicts, again)
	}
	return verdicts[at], slices.Delete(slices.Clone(verdicts), at, at+1)
}

// clientWorld has a request that is approved: of w-1, which has rebooted.
func clientWorld(t *testing.T) *world {
	w := &world{cluster: cluster(), key: newKey(t), template: template("system:node:w-1", nil)}
	w.request = clientRequest("csr-1", nil)
	return w
}

// servingWorld has one too: of w-1, which is a Node since then.
func servingWorld(t *testing.T) *world {
	w := &world{cluster: cluster(), key: newKey(t), template: template("system:node:w-1", []string{"w-1"}, "10.0.0.11", "2001:db8::11")}
	w.cluster.Nodes = append(w.cluster.Nodes, csr.Node{Name: "w-1", Created: rebooted().Add(4 * time.Minute), Addresses: addrs("10.0.0.11", "10.0.0.99")})
	w.request = servingRequest("csr-1", "w-1", nil)
	return w
}

// row is a case of Judge.
type row struct {
	name     string
	change   func(*world)
	decision model.RequestDecision
	reason   string
	node     string // "w-1" unless said
	host     string // worker-1 unless said, - for none
	address  string // those in question, with commas
	says     string // in the message
}

func TestClientRequests(t *testing.T) {
	for _, r := range slices.Concat(answeredRows(), formRows(), subjectRows(), keyRows(), requesterRows(), clientRows(t),
		approvalRows(t), rivalRows(t)) {
		t.Run(r.name, func(t *testing.T) { r.check(t, clientWorld(t), model.RequestClient) })
	}
}

func TestServingRequests(t *testing.T) {
	for _, r := range slices.Concat(formRows(), subjectRows(), keyRows(), servingRows(t), proofRows(t), nameRows(), addressRows()) {
		t.Run(r.name, func(t *testing.T) { r.check(t, servingWorld(t), model.RequestServing) })
	}
}

func (r row) check(t *testing.T, w *world, kind model.RequestKind) {
	t.Helper()
	r.change(w)
	v, _ := w.judge(t)
	if v.Decision != r.decision || v.Reason != r.reason {
		t.Fatalf("%s, %s and not %s, %s: %s", v.Decision, v.Reason, r.decision, r.reason, v.Message)
	}
	t.Log(v.Message)
	node, host := r.node, r.host
	if node == "" {
		node = "w-1"
	}
	if host == "" {
		host = "worker-1"
	}
	if strings.TrimPrefix(node, "-") != v.Node || strings.TrimPrefix(host, "-") != v.Host {
		t.Errorf("node %q, host %q", v.Node, v.Host)
	}
	if v.Kind != kind && r.decision != model.RequestIgnore {
		t.Errorf("kind %s", v.Kind)
	}
	var addresses []string
	for _, address := range v.Addresses {
		addresses = append(addresses, address.String())
	}
	check.Equal(t, strings.Join(addresses, ","), r.address, "addresses in question")
	check.Contains(t, v.Message, r.says, "the message does not say")
}

func answeredRows() []row {
	return []row{
		{name: "as a kubelet makes it", change: func(*world) {}, decision: model.RequestApprove, reason: model.ReasonProven, says: "worker-1"},
		{name: "another signer", change: func(w *world) { w.request.Signer = "kubernetes.io/legacy-unknown" }, decision: model.RequestIgnore, reason: model.ReasonOtherSigner, node: "-", host: "-"},
		{name: "no signer", change: func(w *world) { w.request.Signer = "" }, decision: model.RequestIgnore, reason: model.ReasonOtherSigner, node: "-", host: "-"},
		{name: "a renewal", change: func(w *world) { w.request.Username = "system:node:w-2" }, decision: model.RequestIgnore, reason: model.ReasonClientRenewal, node: "w-2", host: "-"},
		{name: "approved", change: func(w *world) { w.request = approved(w.request) }, decision: model.RequestIgnore, reason: model.ReasonApproved, says: "NodeCSRApprove"},
		{name: "approved, and of a name that no Node has", change: func(w *world) {
			w.request, w.template = approved(w.request), template("system:node:w-1\x1b[2J", nil)
		}, decision: model.RequestIgnore, reason: model.ReasonApproved, node: "-", host: "-"},
		{name: "approved, of a host beside the file", change: func(w *world) {
			w.request, w.template = approved(w.request), template("system:node:m-0", nil)
		}, decision: model.RequestIgnore, reason: model.ReasonApproved, node: "m-0", host: "-"},
		{name: "issued, and a host that has no name yet", change: func(w *world) {
			w.request.Issued, w.cluster.Hosts[2].Hostname = true, ""
		}, decision: model.RequestIgnore, reason: model.ReasonApproved, node: "-", host: "-"},
		{name: "issued", change: func(w *world) { w.request.Issued = true }, decision: model.RequestIgnore, reason: model.ReasonApproved, node: "-", host: "-"},
		{name: "denied", change: func(w *world) { w.request.Denied, w.request.Reason = true, "No" }, decision: model.RequestIgnore, reason: model.ReasonDenied, node: "-", host: "-", says: `"No"`},
	}
}

// formRows are about PKCS#10, and alike for both kinds.
func formRows() []row {
	malformed := func(name string, bend func([]byte) []byte) row {
		return row{name: name, change: func(w *world) { w.bend = bend }, decision: model.RequestRefuse, reason: model.ReasonMalformed, node: "-", host: "-"}
	}
	handmade := func(name string, hand byHand) row {
		return row{name: name, change: func(w *world) { w.hand = &hand }, decision: model.RequestRefuse, reason: model.ReasonMalformed, node: "-", host: "-"}
	}
	return []row{
		malformed("nothing", func([]byte) []byte { return nil }),
		malformed("no PEM", func([]byte) []byte { return []byte("system:node:w-1") }),
		malformed("words before the block", func(p []byte) []byte { return append([]byte("w-1\n"), p...) }),
		malformed("words after the block", func(p []byte) []byte { return append(p, "w-1\n"...) }),
		malformed("two blocks", func(p []byte) []byte { return append(p, p...) }),
		malformed("a header", func(p []byte) []byte {
			return []byte(strings.Replace(string(p), "REQUEST-----\n", "REQUEST-----\nA: b\n\n", 1))
		}),
		malformed("another type", func(p []byte) []byte { return []byte(strings.ReplaceAll(string(p), "CERTIFICATE", "NEW CERTIFICATE")) }),
		malformed("other lines", func(p []byte) []byte {
			return []byte(strings.Replace(string(p), "REQUEST-----\nM", "REQUEST-----\nM\n", 1))
		}),
		malformed("no PKCS#10", func([]byte) []byte { return armour([]byte{0x30, 0x00}) }),
		handmade("bytes after it", byHand{subject: nodeSubject("w-1"), more: []byte{0x05, 0x00}}),
		handmade("another version", byHand{subject: nodeSubject("w-1"), version: 1}),
		handmade("an attribute that is none", byHand{subject: nodeSubject("w-1"), attributes: [][]byte{tlv(0x30, []byte{0x05, 0x00})}}),
		handmade("an extension that is none", byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks([]byte{0x05, 0x00})}}),
		handmade("bytes after the alternative names", byHand{subject: nodeSubject("w-1"), attributes: [][]byte{
			asks(tlv(0x30, []byte{0x06, 0x03, 0x55, 0x1d, 0x11}, tlv(0x04, tlv(0x30, tlv(0x82, []byte("w-1"))), []byte{0x05, 0x00}))),
		}}),
		handmade("an address of five bytes", byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks(alternatives(tlv(0x87, []byte{10, 0, 0, 11, 0})))}}),
		handmade("alternative names twice", byHand{subject: nodeSubject("w-1"), attributes: [][]byte{asks(alternatives(tlv(0x82, []byte("w-1"))), alternatives(tlv(0x82, []byte("w-1"))))}}),
		{
			name: "too long", change: func(w *world) { w.bend = func(p []byte) []byte { return append(p, make([]byte, 16<<10)...) } },
			decision: model.RequestRefuse, reason: model.ReasonTooLarge, node: "-", host: "-",
		},
		{
			name: "signed with another key",
			change: func(w *world) {
				w.bend = func(p []byte) []byte {
					block := decode(p)
					block[len(block)-1] ^= 1
					return armour(block)
				}
			},
			decision: model.RequestRefuse, reason: model.ReasonBadSignature,
		},
	}
}

// subjectRows are alike for both kinds, too.
func subjectRows() []row {
	subjectOf := func(name string, relatives ...[]byte) row {
		r := row{name: name, decision: model.RequestRefuse, reason: model.ReasonUnexpectedSubject}
		r.change = func(w *world) { w.hand = &byHand{subject: subject(relatives...)} }
		return r
	}
	none := func(r row) row { r.node, r.host = "-", "-"; return r }
	nodes, own := relative(organization, printable, "system:nodes"), relative(commonName, printable, "system:node:w-1")
	named := func(name, node string) row {
		return row{
			name: name, decision: model.RequestRefuse, reason: model.ReasonInvalidName, node: "-", host: "-",
			change: func(w *world) {
				w.hand = &byHand{subject: subject(nodes, relative(commonName, utf8Text, "system:node:"+node))}
				if w.request.Signer == servingSigner {
					w.request.Username = "system:node:" + node
				}
			},
		}
	}
	return []row{
		subjectOf("no organisation", own),
		subjectOf("another organisation", relative(organization, printable, "system:masters"), own),
		subjectOf("two organisations", nodes, relative(organization, printable, "system:masters"), own),
		subjectOf("one organisation twice", nodes, nodes, own),
		subjectOf("a unit beside", nodes, relative(unit, printable, "system:masters"), own),
		subjectOf("two common names", nodes, relative(commonName, printable, "system:node:w-2"), own),
		subjectOf("two common names and no organisation", relative(commonName, printable, "system:node:w-2"), own),
		none(subjectOf("another common name last", nodes, own, relative(commonName, printable, "system:admin"))),
		subjectOf("two values in one relative name", nodes, tlv(0x31, pair(commonName, printable, "system:node:w-1"), pair(unit, printable, "masters"))),
		subjectOf("all in one relative name", tlv(0x31, pair(organization, printable, "system:nodes"), pair(commonName, printable, "system:node:w-1"))),
		none(subjectOf("no common name", nodes)),
		none(subjectOf("no subject")),
		none(subjectOf("a user's name", nodes, relative(commonName, printable, "w-1"))),
		none(subjectOf("another spelling of system:node:", nodes, relative(commonName, printable, "System:node:w-1"))),
		subjectOf("a name in 7 bits", nodes, relative(commonName, ia5, "system:node:w-1")),
		subjectOf("a name in 16 bits", nodes, relative(commonName, bmp, wide("system:node:w-1"))),
		named("no name", ""),
		named("a line feed", "w-1\n"),
		named("an escape", "w-1\x1b[2J"),
		named("a zero byte", "w-1\x00"),
		named("a Cyrillic letter", "\u0455-1"),
		named("a Kelvin sign", "\u212a-1"),
		named("right to left", "w-1\u202e"),
		named("a slash", "w-1/status"),
		named("an empty label", "w-1..example.com"),
		named("a dot at the end", "w-1."),
		named("a dash at the end", "w-1-"),
		named("a dash at the beginning", "-w-1"),
		named("a capital letter", "W-1"),
		named("a wide letter", "\uff57-1"),
		named("a letter that normalisation would change", "w\u0301-1"),
		named("space before it", " w-1"),
		named("space behind it", "w-1 "),
		named("an address with a zone", "fe80::1%eth0"),
		named("an underscore", "w_1"),
		named("a long name", strings.Repeat("w", 254)),
	}
}

// keyRows are alike for both kinds as well.
func keyRows() []row {
	with := func(kind string) func(*world) { return func(w *world) { w.oddKey = kept()[kind] } }
	signedBy := func(kind string, algorithm x509.SignatureAlgorithm) func(*world) {
		return func(w *world) { with(kind)(w); w.template.SignatureAlgorithm = algorithm }
	}
	odd := func(name string, change func(*world)) row { return refuses(name, model.ReasonUnexpectedKey, change) }
	return []row{
		approves("an RSA key", with("RSA 2048")),
		odd("a short RSA key", with("RSA 1024")).saying("1024 bits"),
		odd("an RSA key that is a little short", with("RSA 2040")),
		odd("an RSA key, signed by PSS", signedBy("RSA 2048", x509.SHA256WithRSAPSS)),
		odd("an RSA key, signed with SHA-512", signedBy("RSA 2048", x509.SHA512WithRSA)),
		odd("a key on P-224", with("P-224")),
		odd("a key on P-384", with("P-384")).saying("P-384"),
		odd("a key on P-521", with("P-521")),
		odd("a key of Ed25519", with("Ed25519")).saying("Ed25519"),
		odd("signed with SHA-512", func(w *world) { w.oddKey, w.template.SignatureAlgorithm = w.key, x509.ECDSAWithSHA512 }),
	}
}

func requesterRows() []row {
	by := func(name string, change func(*world)) row {
		return row{name: name, change: change, decision: model.RequestRefuse, reason: model.ReasonUnexpectedRequester}
	}
	return []row{
		by("an administrator", func(w *world) { w.request.Username = "system:admin" }),
		by("another ServiceAccount", func(w *world) { w.request.Username = "system:serviceaccount:default:node-bootstrapper" }),
		by("nobody", func(w *world) { w.request.Username = "" }),
		by("a group more", func(w *world) { w.request.Groups = append(w.request.Groups, "system:masters") }),
		by("a group less", func(w *world) { w.request.Groups = w.request.Groups[:2] }),
		by("a group twice", func(w *world) { w.request.Groups[1] = w.request.Groups[0] }),
		by("no groups", func(w *world) { w.request.Groups = nil }),
	}
}

// TestReasons asks for a row for every reason.
func TestReasons(t *testing.T) {
	all := slices.Concat(answeredRows(), formRows(), subjectRows(), keyRows(), requesterRows(), clientRows(t), approvalRows(t), rivalRows(t),
		servingRows(t), proofRows(t), nameRows(), addressRows())
	for name, reason := range reasons(t) {
		if !slices.ContainsFunc(all, func(r row) bool { return r.reason == reason }) {
			t.Errorf("no row has the reason %s", name)
		}
		if "Reason"+reason != name {
			t.Errorf("%s is called %s", name, reason)
		}
	}
}

// reasons are the constants Reason… of the package.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), "../../../pkg/install/model/request.go", nil, 0))(t)
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		if value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err == nil {
			found[spec.Names[0].Name] = value
		}
		return true
	})
	if len(found) < 30 {
		t.Fatalf("only %d reasons", len(found))
	}
	return found
}

// TestJudgeChangesNothing: what is handed in is as it was.
func TestJudgeChangesNothing(t *testing.T) {
	w := servingWorld(t)
	w.request.PEM = encode(t, w.key, w.template)
	requests := func() []model.CertificateRequest {
		r := clientRequest("csr-2", encode(t, w.key, template("system:node:w-2", nil)))
		return []model.CertificateRequest{w.request, approved(r), r}
	}()
	before := slices.Clone(requests)
	for i := range before {
		before[i].Groups, before[i].Usages = slices.Clone(before[i].Groups), slices.Clone(before[i].Usages)
	}
	csr.Judge(requests, w.cluster, now())
	if !reflect.DeepEqual(before, requests) {
		t.Error("the requests have changed")
	}
	want := servingWorld(t).cluster
	if !reflect.DeepEqual(w.cluster, want) {
		t.Error("the cluster has changed")
	}
}
