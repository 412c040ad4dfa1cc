package csr_test

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestNothingForeignIsApproved makes clusters and requests by chance, and holds what is
// approved to the rules as proves has them: no request for a name or an address outside of
// the hosts that the file names and the service has installed, and none that fits is left.
func TestNothingForeignIsApproved(t *testing.T) {
	g := &generator{t: t, rand: rand.New(rand.NewPCG(1, 2))}
	for range 8 {
		g.keys = append(g.keys, newKey(t))
	}
	for _, kind := range slices.Sorted(maps.Keys(kept())) {
		g.odd = append(g.odd, kept()[kind])
	}
	reasons := map[string]int{}
	for round := range 2500 {
		cluster := g.cluster()
		requests := g.requests(cluster)
		verdicts := csr.Judge(requests, cluster, now())
		all := papers(requests)
		for i, v := range verdicts {
			reasons[string(v.Kind)+" "+v.Reason]++
			wrong := proves(all, i, cluster)
			if wrong == nil && v.Kind == model.RequestClient && !oldest(all, i, cluster) {
				wrong = fmt.Errorf("an older request stands for it")
			}
			if (wrong == nil) != (v.Decision == model.RequestApprove) {
				t.Fatalf("round %d: %s, and by the rules: %v\n%+v\n%+v", round, v.Message, wrong, requests[i], cluster)
			}
		}
	}
	t.Log(reasons)
	for _, often := range []string{"client Proven", "serving Proven", "client RivalKeys", "serving UnknownAddress", "serving ForeignAddress", "serving NodeMissing", "client NodeExists"} {
		if reasons[often] < 30 {
			t.Errorf("only %d times %s: the test does not reach it", reasons[often], often)
		}
	}
}

// generator makes clusters and requests in which much is almost right.
type generator struct {
	t    *testing.T
	rand *rand.Rand
	keys []*ecdsa.PrivateKey
	odd  []crypto.Signer
}

func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

func one[T any](g *generator, of ...T) T { return of[g.rand.IntN(len(of))] }

// some are up to most of several.
func some[T any](g *generator, most int, of ...T) []T {
	var all []T
	for range g.rand.IntN(most + 1) {
		all = append(all, one(g, of...))
	}
	return all
}

func (g *generator) name() string {
	return one(g, "w-0", "w-1", "w-2", "W-1", "W-2", "w-3", "w-4", "m-0", "w-1.", "xn--w-1", " w-1", "w-1\n", "w-1%eth0", "w-1.EXAMPLE.com")
}

func (g *generator) address() netip.Addr {
	return netip.MustParseAddr(one(g, "10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "2001:db8::11", "2001:db8::12", "::ffff:10.0.0.12",
		"10.0.0.2", "10.128.1.1", "fd01::1", "127.0.0.1", "169.254.0.1", "fe80::1", "224.0.0.5", "::", "10.0.0.77",
		"255.255.255.255", "240.0.0.1", "0.0.0.7", "::ffff:10.0.0.11", "::a00:b", "64:ff9b::a00:b", "ff05::1"))
}

// around is a time near the reboot.
func (g *generator) around() time.Time {
	return rebooted().Add(one(g, -time.Hour, -2*time.Minute, -61*time.Second, -60*time.Second, -30*time.Second, 0, time.Second, time.Minute, 10*time.Minute))
}

func (g *generator) cluster() csr.Cluster {
	c := csr.Cluster{
		VIPs:     addrs("10.0.0.2"),
		Networks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14"), netip.MustParsePrefix("fd01::/48")},
	}
	for i := range 4 {
		h := csr.Host{
			Name: fmt.Sprint("host-", i), Hostname: fmt.Sprint("w-", i), Addresses: addrs(fmt.Sprint("10.0.0.1", i), fmt.Sprint("2001:db8::1", i)),
			Named: !g.chance(4), Unasked: g.chance(3), Installed: !g.chance(4), Rebooted: rebooted(), Joined: g.chance(3),
		}
		if g.chance(4) {
			h.Hostname = g.name()
		}
		if g.chance(3) {
			h.Rebooted = time.Time{}
		}
		if g.chance(30) {
			h.Addresses = append(h.Addresses, g.address())
		}
		if g.chance(30) {
			h.Allowed = some(g, 2, g.address())
		}
		if g.chance(40) {
			h.Names = some(g, 2, fmt.Sprint("w-", i, ".example.com"), "w-1.example.com", "w-2", "w-9", "localhost")
		}
		c.Hosts = append(c.Hosts, h)
		if g.chance(50) {
			created := rebooted().Add(3 * time.Minute)
			if g.chance(50) {
				created = g.around()
			}
			c.Nodes = append(c.Nodes, csr.Node{Name: fmt.Sprint("w-", i), Created: created, Addresses: h.Addresses[:1]})
		}
	}
	if g.chance(20) {
		c.Nodes = append(c.Nodes, csr.Node{Name: one(g, "m-0", "w-9"), Created: g.around(), Addresses: []netip.Addr{g.address()}})
	}
	return c
}

// requests are up to four pending requests of random hosts, some of them damaged, and some requests that were approved
// earlier.
func (g *generator) requests(c csr.Cluster) []model.CertificateRequest {
	var all []model.CertificateRequest
	for i := range 1 + g.rand.IntN(4) {
		which := g.rand.IntN(3)
		host, key := c.Hosts[which], g.keys[which]
		if g.chance(15) {
			key = one(g, g.keys...)
		}
		name := host.Hostname
		if g.chance(5) {
			name = g.name()
		}
		isNode := slices.ContainsFunc(c.Nodes, func(n csr.Node) bool { return n.Name == name })
		r := g.request(host, key, name, isNode != g.chance(10))
		if r.Name = fmt.Sprint("csr-", i); g.chance(30) {
			g.bendRequest(&r)
		}
		all = append(all, r)
	}
	for i, host := range c.Hosts {
		if g.chance(25) {
			all = append(all, g.earlier(host, fmt.Sprint("csr-earlier-", i)))
		}
	}
	g.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// request is of a host that is about to become a Node, or is one.
func (g *generator) request(host csr.Host, key *ecdsa.PrivateKey, name string, serving bool) model.CertificateRequest {
	t, r := template("system:node:"+name, nil), clientRequest("", nil)
	if serving {
		r = servingRequest("", name, nil)
		t.DNSNames = append([]string{name}, some(g, 1, append(host.Names, name)...)...)
		own := slices.Concat(host.Addresses, host.Allowed)
		for range 1 + g.rand.IntN(3) {
			t.IPAddresses = append(t.IPAddresses, net.IP(one(g, own...).AsSlice()))
		}
		if g.chance(15) {
			t.IPAddresses = append(t.IPAddresses, net.IP(one(g, g.address(), netip.MustParseAddr("10.0.0.88")).AsSlice()))
		}
	}
	if g.chance(25) {
		g.bendTemplate(&t)
	}
	if r.PEM = encode(g.t, key, t); g.chance(5) {
		r.PEM = encode(g.t, one(g, g.odd...), t)
	}
	if g.chance(10) {
		r.PEM = g.hostile(name).encode(g.t, key)
	}
	return r
}

// earlier is a client request that was approved, if it was one and was approved.
func (g *generator) earlier(host csr.Host, name string) model.CertificateRequest {
	key := one(g, g.keys...)
	r := approved(clientRequest(name, encode(g.t, key, template("system:node:"+host.Hostname, nil))))
	if g.chance(40) {
		r.PEM = g.hostile(host.Hostname).encode(g.t, key)
	}
	one(g,
		func() {},
		func() { r.Username = one(g, "system:admin", "system:node:w-1") },
		func() { r.Created, r.ConditionAt = g.around(), g.around() },
		func() { r.Created = g.around() },
		func() { r.ConditionAt = time.Time{} },
		func() { r.Signer = servingSigner },
		func() { r.Approved, r.Denied = false, true },
	)()
	return r
}

// bendTemplate makes what is asked for a little different.
func (g *generator) bendTemplate(t *x509.CertificateRequest) {
	one(g,
		func() { t.Subject.CommonName = "system:node:" + g.name() },
		func() { t.Subject.CommonName = g.name() },
		func() { t.Subject.Organization = append(t.Subject.Organization, "system:masters") },
		func() { t.Subject.Organization = nil },
		func() { t.Subject.OrganizationalUnit = []string{"racks"} },
		func() {
			t.DNSNames = append(t.DNSNames, one(g, "w-0", "w-1", "w-2", "W-1", "m-0", "w-1.", "xn--w-1", " w-1", "w-2%eth0", "*"))
		},
		func() {
			t.DNSNames = append(t.DNSNames, one(g, "w-1.example.com", "W-1.example.com", "w-1.example.com.", "localhost", "api.example.com",
				"w-9", ""))
		},
		func() { t.IPAddresses = append(t.IPAddresses, net.IP(g.address().AsSlice())) },
		func() { t.IPAddresses = append(t.IPAddresses, net.IP(g.address().AsSlice())) },
		func() { t.DNSNames, t.IPAddresses = nil, nil },
		func() { t.EmailAddresses = []string{"a@example.com"} },
		func() { t.URIs = []*url.URL{{Scheme: "spiffe", Host: "w-1"}} },
		func() {
			t.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}}}
		},
	)()
}

// hostile is a request that Go's API does not make.
func (g *generator) hostile(name string) byHand {
	nodes, own := relative(organization, printable, "system:nodes"), relative(commonName, printable, "system:node:"+name)
	other := relative(commonName, utf8Text, "system:node:"+g.name())
	dns := tlv(0x82, []byte(name))
	return one(g,
		byHand{subject: subject(nodes, own)},
		byHand{subject: subject(own, nodes)},
		byHand{subject: subject(nodes, own, other)},
		byHand{subject: subject(nodes, other, own)},
		byHand{subject: subject(other, own)},
		byHand{subject: subject(nodes, nodes, own)},
		byHand{subject: subject(tlv(0x31, pair(organization, printable, "system:nodes"), pair(commonName, printable, "system:node:"+name)))},
		byHand{subject: subject(nodes, relative(commonName, ia5, "system:node:"+name))},
		byHand{subject: subject(nodes, relative(commonName, bmp, wide("system:node:"+name)))},
		byHand{subject: subject(nodes, tlv(0x31, pair(commonName, printable, "system:node:"+name), pair(unit, printable, "racks")))},
		byHand{subject: subject(nodes, relative(commonName, utf8Text, "system:node:\uff57"+name[1:]))},
		byHand{subject: subject(relative(organization, printable, "System:Nodes"), own)},
		byHand{subject: subject(relative(organization, utf8Text, "system:nodes "), own)},
		byHand{subject: subject(nodes, own), version: 2},
		byHand{subject: subject(nodes, own), more: []byte{5, 0}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives(dns))}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives(dns, otherName()))}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives(dns)), asks()}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives(dns), alternatives(dns))}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives())}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives(dns, tlv(0xa2, tlv(0x82, []byte("m-0")))))}},
		byHand{subject: subject(nodes, own), attributes: [][]byte{asks(alternatives(tlv(0x87, append(make([]byte, 10), 0xff, 0xff, 10, 0, 0, byte(10+g.rand.IntN(4))))))}},
	)
}

// bendRequest makes the object around it a little different.
func (g *generator) bendRequest(r *model.CertificateRequest) {
	one(g,
		func() { r.Created = g.around() },
		func() { r.Created = g.around() },
		func() { *r = approved(*r); r.ConditionAt = g.around() },
		func() { *r = approved(*r) },
		func() { r.Denied = true },
		func() { r.Issued = true },
		func() { r.Username = one(g, bootstrapper, "system:admin", "system:node:w-1", "system:node:w-2", "") },
		func() { r.Groups = one(g, bootstrapperGroups(), []string{"system:nodes", "system:authenticated"}, nil) },
		func() { r.Groups = append(slices.Clone(r.Groups), "system:masters") },
		func() { r.Groups = r.Groups[:max(0, len(r.Groups)-1)] },
		func() { r.Usages = append(slices.Clone(r.Usages), "key encipherment") },
		func() {
			r.Usages = append(slices.Clone(r.Usages), one(g, "client auth", "server auth", "cert sign", "digital signature"))
		},
		func() { r.Usages = r.Usages[:1] },
		func() { r.Signer = one(g, clientSigner, servingSigner, "kubernetes.io/kube-apiserver-client") },
		func() { r.PEM = append(slices.Clone(r.PEM), one(g, "\n", "x", string(r.PEM))...) },
		func() {
			der := decode(r.PEM)
			der[len(der)-1-g.rand.IntN(8)] ^= 1
			r.PEM = armour(der)
		},
	)()
}

// oldest reports whether no other request that fits is older, has the same name and so, as
// none with another key is there, the same key.
func oldest(all []paper, at int, cluster csr.Cluster) bool {
	own := all[at]
	return !slices.ContainsFunc(all, func(other paper) bool {
		older := cmp.Or(other.Created.Compare(own.Created), cmp.Compare(other.Name, own.Name)) < 0
		if !older || other.Signer != own.Signer || len(other.commonNames) != 1 || other.commonNames[0] != own.commonNames[0] {
			return false
		}
		return proves(all, slices.IndexFunc(all, func(p paper) bool { return p.Name == other.Name }), cluster) == nil
	})
}
