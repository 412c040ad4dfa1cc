package csr_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The rules once more, for TestNothingForeignIsApproved and FuzzJudge: written from what
// they say, with a reader of ASN.1 of its own, and sharing nothing with the package.

// element is a value of ASN.1, and what is in it if it is made of others.
type element struct {
	tag   byte
	body  []byte
	whole []byte
	parts []element
}

// elements reads values one after the other.
func elements(raw []byte, depth int) ([]element, error) {
	var all []element
	for len(raw) > 0 {
		if len(raw) < 2 || raw[0]&0x1f == 0x1f || depth > 12 {
			return nil, errors.New("no value")
		}
		length, head := int(raw[1]), 2
		if length >= 0x80 {
			n := length & 0x7f
			if n == 0 || n > 3 || len(raw) < 2+n {
				return nil, errors.New("no length")
			}
			length, head = 0, 2+n
			for _, b := range raw[2 : 2+n] {
				length = length<<8 | int(b)
			}
		}
		if len(raw) < head+length {
			return nil, errors.New("cut off")
		}
		e := element{tag: raw[0], body: raw[head : head+length], whole: raw[:head+length]}
		if e.tag&0x20 != 0 {
			var err error
			if e.parts, err = elements(e.body, depth+1); err != nil {
				return nil, err
			}
		}
		all, raw = append(all, e), raw[head+length:]
	}
	return all, nil
}

// content is what a request says.
type content struct {
	commonNames, organizations []string
	values, relatives          int // of the subject
	otherText                  bool
	names                      []string
	addresses                  []netip.Addr
	otherNames, extensions     int
	otherExtensions            int
	attributes                 int
	key                        string
	signed, usualKey           bool
}

// contentOf reads as much as can be read, and says what is wrong.
func contentOf(text []byte) (content, error) {
	var c content
	const begin, end = "-----BEGIN CERTIFICATE REQUEST-----\n", "-----END CERTIFICATE REQUEST-----\n"
	before, rest, _ := strings.Cut(string(text), begin)
	middle, behind, ended := strings.Cut(rest, end)
	der, err := base64.StdEncoding.Strict().DecodeString(strings.ReplaceAll(middle, "\n", ""))
	if err != nil || !ended {
		return c, errors.New("no block")
	}
	top, _ := elements(der, 0)
	if len(top) == 0 || len(top[0].parts) == 0 || len(top[0].parts[0].parts) < 3 {
		return c, errors.New("no request")
	}
	signed := top[0].parts[0].parts
	c.key = string(signed[2].whole)
	c.readSubject(signed[1])
	if before+behind != "" || len(text) > 16<<10 || len(top) != 1 || len(signed) < 4 || !bytes.Equal(signed[0].body, []byte{0}) {
		return c, errors.New("form")
	}
	if err := c.readAttributes(signed[3]); err != nil {
		return c, err
	}
	request, err := x509.ParseCertificateRequest(der)
	c.signed = err == nil && request.CheckSignature() == nil
	c.usualKey = err == nil && usualKey(request)
	return c, nil
}

// usualKey reports whether a kubelet makes such keys, and signs so with them.
func usualKey(request *x509.CertificateRequest) bool {
	if key, is := request.PublicKey.(*rsa.PublicKey); is {
		return key.Size() >= 256 && key.E == 65537 && request.SignatureAlgorithm.String() == "SHA256-RSA"
	}
	key, is := request.PublicKey.(*ecdsa.PublicKey)
	return is && key.Curve.Params().Name == "P-256" && request.SignatureAlgorithm.String() == "ECDSA-SHA256"
}

func (c *content) readSubject(subject element) {
	for _, relative := range subject.parts {
		c.relatives++
		for _, value := range relative.parts {
			c.values++
			if len(value.parts) != 2 {
				continue
			}
			c.otherText = c.otherText || value.parts[1].tag != 0x0c && value.parts[1].tag != 0x13
			text := string(value.parts[1].body)
			if value.parts[1].tag == bmp { // two bytes a letter, here of ASCII
				text = strings.ReplaceAll(text, "\x00", "")
			}
			switch string(value.parts[0].body) {
			case "\x55\x04\x03":
				c.commonNames = append(c.commonNames, text)
			case "\x55\x04\x0a":
				c.organizations = append(c.organizations, string(value.parts[1].body))
			}
		}
	}
}

func (c *content) readAttributes(attributes element) error {
	for _, attribute := range attributes.parts {
		c.attributes++
		if len(attribute.parts) != 2 || string(attribute.parts[0].body) != "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e" || len(attribute.parts[1].parts) != 1 {
			c.otherExtensions++
			continue
		}
		for _, extension := range attribute.parts[1].parts[0].parts {
			c.extensions++
			if len(extension.parts) < 2 || string(extension.parts[0].body) != "\x55\x1d\x11" {
				c.otherExtensions++
				continue
			}
			list, err := elements(extension.parts[len(extension.parts)-1].body, 0)
			if err != nil || len(list) != 1 {
				return errors.New("no list of names")
			}
			for _, name := range list[0].parts {
				address, ok := netip.AddrFromSlice(name.body)
				switch {
				case name.tag == 0x82:
					c.names = append(c.names, string(name.body))
				case name.tag == 0x87 && ok:
					c.addresses = append(c.addresses, address)
				default:
					c.otherNames++
				}
			}
		}
	}
	return nil
}

// isNamed reports whether a Node of that name is of a host of that hostname: a kubelet writes the
// hostname in lower case, without space around it.
func isNamed(name, hostname string) bool {
	ascii := !strings.ContainsFunc(hostname, func(r rune) bool { return r >= 0x80 })
	return ascii && name == strings.ToLower(strings.TrimSpace(hostname))
}

// usable reports whether a machine can have an address: in IPv4 from 1.0.0.0 to below the multicast ones, except
// loopback and link-local, in IPv6 none that begins with zeros or holds IPv4.
func usable(a netip.Addr) bool {
	in := func(text string) bool { return netip.MustParsePrefix(text).Contains(a) }
	if a.Is4() {
		return a.Compare(netip.MustParseAddr("1.0.0.0")) >= 0 && a.Compare(netip.MustParseAddr("224.0.0.0")) < 0 && !in("127.0.0.0/8") &&
			!in("169.254.0.0/16")
	}
	return !in("::/64") && !in("64:ff9b::/96") && !in("64:ff9b:1::/48") && !in("100::/64") && !in("fe80::/10") && !in("ff00::/8")
}

// paper is a request beside what it says.
type paper struct {
	model.CertificateRequest
	content
	wrong error // in its form
}

func papers(requests []model.CertificateRequest) []paper {
	var all []paper
	for _, r := range requests {
		c, wrong := contentOf(r.PEM)
		all = append(all, paper{r, c, wrong})
	}
	return all
}

// proves says why a request may not be approved, by the rules; nil if it may. all are those
// of the list, at is the place of the request in it.
func proves(all []paper, at int, cluster csr.Cluster) error {
	r := all[at]
	if r.Approved || r.Denied || r.Issued {
		return errors.New("answered")
	}
	c := r.content
	if r.wrong != nil {
		return r.wrong
	}
	if !c.signed || !c.usualKey || c.otherText || c.relatives != 2 || c.values != 2 || len(c.commonNames) != 1 ||
		!slices.Equal(c.organizations, []string{"system:nodes"}) {
		return fmt.Errorf("subject or signature: %+v", c)
	}
	name, ok := strings.CutPrefix(c.commonNames[0], "system:node:")
	if !ok || name == "" || c.otherExtensions > 0 || c.attributes > 1 || c.extensions > 1 {
		return fmt.Errorf("form: %+v", c)
	}
	if len(name) > 253 || !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`).MatchString(name) {
		return errors.New("name")
	}
	var host *csr.Host
	for i := range cluster.Hosts {
		if isNamed(name, cluster.Hosts[i].Hostname) {
			if host != nil {
				return errors.New("two hosts")
			}
			host = &cluster.Hosts[i]
		}
	}
	if host == nil || !host.Named || host.Unasked || !host.Installed || host.Rebooted.IsZero() {
		return errors.New("no host that is named, installed and dated")
	}
	switch r.Signer {
	case "kubernetes.io/kube-apiserver-client-kubelet":
		return provesClient(all, at, cluster, host, c, name)
	case "kubernetes.io/kubelet-serving":
		return provesServing(all, at, cluster, host, c, name)
	}
	return errors.New("signer")
}

func sameSet(has []string, wanted ...string) bool {
	for _, one := range wanted {
		if !slices.Contains(has, one) {
			return false
		}
	}
	return len(has) == len(wanted)
}

func provesClient(all []paper, at int, cluster csr.Cluster, host *csr.Host, c content, name string) error {
	r := all[at]
	if r.Username != "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper" ||
		!sameSet(r.Groups, "system:authenticated", "system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator") {
		return errors.New("requester")
	}
	if !sameSet(r.Usages, "digital signature", "client auth") && !sameSet(r.Usages, "digital signature", "client auth", "key encipherment") {
		return errors.New("usages")
	}
	if c.extensions > 0 {
		return errors.New("alternative names")
	}
	if host.Rebooted.Sub(r.Created) > time.Minute || host.Joined {
		return errors.New("before the reboot, or approved before")
	}
	for _, node := range cluster.Nodes {
		if node.Name == name {
			return errors.New("node")
		}
	}
	for i, other := range all {
		if i == at || other.Signer != r.Signer || strings.HasPrefix(other.Username, "system:node:") {
			continue
		}
		o := other.content
		if !slices.Contains(o.commonNames, "system:node:"+name) {
			continue
		}
		recent, answered := host.Rebooted.Sub(other.Created) <= time.Minute, host.Rebooted.Sub(other.ConditionAt) <= time.Minute
		switch {
		case other.Approved && (recent || answered):
			return errors.New("approved before")
		case other.Approved || other.Denied || other.Issued || other.Username != r.Username || !recent:
		case o.key != c.key:
			return errors.New("two keys")
		}
	}
	return nil
}

func provesServing(all []paper, at int, cluster csr.Cluster, host *csr.Host, c content, name string) error {
	r := all[at]
	if r.Username != "system:node:"+name || !sameSet(r.Groups, "system:nodes", "system:authenticated") {
		return errors.New("requester")
	}
	if !sameSet(r.Usages, "digital signature", "server auth") && !sameSet(r.Usages, "digital signature", "server auth", "key encipherment") {
		return errors.New("usages")
	}
	if c.otherNames > 0 || len(c.names)+len(c.addresses) == 0 || len(c.names)+len(c.addresses) > 64 {
		return errors.New("names")
	}
	var node *csr.Node
	for i := range cluster.Nodes {
		if cluster.Nodes[i].Name == name {
			node = &cluster.Nodes[i]
		}
	}
	if node == nil {
		return errors.New("no node")
	}
	proven := node.Created.After(host.Rebooted)
	for _, other := range all {
		o := other.content
		if other.Approved && other.Signer == "kubernetes.io/kube-apiserver-client-kubelet" && len(o.commonNames) > 0 &&
			o.commonNames[len(o.commonNames)-1] == "system:node:"+name && slices.Equal(o.organizations, []string{"system:nodes"}) &&
			other.Username == "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper" && host.Rebooted.Sub(other.Created) <= time.Minute {
			proven = true
		}
	}
	if !proven {
		return errors.New("node unproven")
	}
	return errors.Join(provesNames(cluster, host, c, name), provesAddresses(cluster, host, c, name))
}

func provesNames(cluster csr.Cluster, host *csr.Host, c content, name string) error {
	for _, asked := range c.names {
		same := func(own string) bool { return isNamed(asked, own) }
		if asked == name {
			continue
		}
		if !slices.ContainsFunc(host.Names, same) {
			return errors.New("a name that is not the host's")
		}
		for i := range cluster.Hosts {
			if other := &cluster.Hosts[i]; other != host && (same(other.Hostname) || slices.ContainsFunc(other.Names, same)) {
				return errors.New("a name of another host")
			}
		}
		if slices.ContainsFunc(cluster.Nodes, func(n csr.Node) bool { return n.Name == asked && n.Name != name }) {
			return errors.New("a name of another node")
		}
	}
	return nil
}

func provesAddresses(cluster csr.Cluster, host *csr.Host, c content, name string) error {
	for _, asked := range c.addresses {
		same := func(own netip.Addr) bool { return own.Unmap().WithZone("") == asked }
		if !slices.ContainsFunc(host.Addresses, same) && !slices.ContainsFunc(host.Allowed, same) {
			return errors.New("an unknown address")
		}
		if !usable(asked) || slices.ContainsFunc(cluster.VIPs, same) {
			return errors.New("a special or virtual address")
		}
		if slices.ContainsFunc(cluster.Networks, func(p netip.Prefix) bool { return p.Contains(asked) }) {
			return errors.New("an address in a network of the cluster")
		}
		for i := range cluster.Hosts {
			if other := &cluster.Hosts[i]; other != host && (slices.ContainsFunc(other.Addresses, same) || slices.ContainsFunc(other.Allowed, same)) {
				return errors.New("an address of another host")
			}
		}
		for _, node := range cluster.Nodes {
			if node.Name != name && slices.ContainsFunc(node.Addresses, same) {
				return errors.New("an address of another node")
			}
		}
	}
	return nil
}
