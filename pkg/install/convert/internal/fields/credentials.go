package fields

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BMCOf carries a BMC over as install-config.yaml and agent-config.yaml write it.
func (r *Reader) BMCOf(i int, n *input.Node) {
	if n == nil || !r.BMC(i, n, n.Get("address"), n.Get("disableCertificateVerification")) {
		return
	}
	h := r.Host(i)
	if h.BMC.Credentials.IsZero() {
		h.BMC.Credentials = r.Login(HostField(i, "bmc.credentials"), r.BMCFile(i), n.Get("username"), n.Get("password"))
		return
	}
	r.Rest(n, "the host has credentials already")
}

// BMCFile is the file for the password of a host's BMC.
func (r *Reader) BMCFile(i int) string {
	name := r.Host(i).Name
	if name == "" {
		name = fmt.Sprintf("host-%d", i)
	}
	return "bmc/" + input.FileName(name)
}

// Fencing carries over how two control plane machines power each other off.
func (r *Reader) Fencing(n *input.Node) {
	for _, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		name, mac := input.First(item, "hostName", "hostname"), input.First(item, "macAddress", "macaddress")
		i := r.HostNamed(name.Peek())
		if i < 0 {
			i = r.HostWithMAC(mac.Peek())
		}
		if i < 0 {
			r.Lose(item, "none of the hosts is the one that it is for")
			continue
		}
		r.Text(name)
		r.Text(mac)
		field := HostField(i, "fencing")
		r.From(field, item)
		f := &spec.Fencing{}
		r.SetIn(field+".address", &f.Address, item.Get("address"))
		f.Credentials = r.Login(field+".credentials", "fencing/"+input.FileName(r.Host(i).Name), item.Get("username"), item.Get("password"))
		if verify := item.Get("certificateVerification"); verify != nil {
			insecure := r.Text(verify) == "Disabled"
			if !insecure && verify.Text != "Enabled" {
				r.Wrong(verify, fmt.Sprintf("%q is not known here", verify.Text), "write Enabled or Disabled")
			}
			f.Insecure = &insecure
		}
		r.Host(i).Fencing = f
	}
}

// redfishURL matches addresses with a scheme that oaictl speaks.
var redfishURL = regexp.MustCompile(`(?i)^(?:(?:redfish(?:-virtualmedia)?|(?:idrac|ilo4|ilo5)-virtualmedia)(?:\+https?)?|https?)://`)

// BMC carries a BMC's address and flag over; false for one that oaictl cannot speak to.
func (r *Reader) BMC(i int, whole, address, insecure *input.Node) bool {
	if address == nil || address.Peek() == "" {
		if address != nil {
			address.Taken = true
		}
		return false
	}
	field := HostField(i, "bmc")
	// metal3 takes a bare address for IPMI.
	bare := r.BareRedfish && !strings.Contains(address.Peek(), "://")
	if !bare && !redfishURL.MatchString(address.Peek()) {
		r.Lose(whole, "oaictl speaks Redfish with virtual media only: write the BMC's Redfish address in "+field+", or boot the machine by hand")
		return false
	}
	h := r.Host(i)
	if h.BMC == nil {
		h.BMC = &spec.BMC{}
	}
	r.From(field, address)
	r.Set(field+".address", address)
	if flag := r.Boolean(insecure); flag != nil {
		h.BMC.Insecure = *flag
	}
	return true
}

// PullSecret carries a pull secret over that stands in the input.
func (r *Reader) PullSecret(n *input.Node) {
	if n == nil {
		return
	}
	text := strings.TrimSpace(r.Text(n))
	if text == "" {
		return
	}
	name := r.File("pull-secret.json", []byte(text+"\n"))
	r.PullSecretFrom(spec.Source{File: name}, n)
}

// PullSecretFrom carries over where the pull secret stands.
func (r *Reader) PullSecretFrom(source spec.Source, n *input.Node) {
	if have := r.Cluster.Spec.PullSecret; !have.IsZero() {
		if !reflect.DeepEqual(have, source) {
			n.Taken = false
			r.Second("spec.pullSecret", n)
		}
		return
	}
	r.Cluster.Spec.PullSecret = source
	r.From("spec.pullSecret", n)
}

func (r *Reader) password(name string, n *input.Node) *spec.Source {
	text := r.Scalar(n)
	if text == "" {
		return nil
	}
	return &spec.Source{File: r.File(name, []byte(text+"\n"))}
}

// Login carries user and password over.
func (r *Reader) Login(field, file string, user, password *input.Node) (c spec.Credentials) {
	if user != nil {
		c.Username = strings.TrimRight(r.Text(user), "\r\n") // which echo leaves in a Secret, and metal3 does not mind
		r.From(field+".username", user)
	}
	if password != nil {
		c.Password = r.password(file, password)
		r.From(field+".password", password)
	}
	return c
}

// ProxyURL carries the address of a proxy over, without a password in it.
func (r *Reader) ProxyURL(field string, to *spec.ProxyURL, n *input.Node) {
	if n == nil || n.Kind != input.TextNode {
		r.Text(n)
		return
	}
	address := n.Text
	parsed, err := url.Parse(address)
	if err != nil && strings.Contains(address, "@") {
		r.Wrong(n, "is not a URL", "write it as http://HOST:PORT")
		return
	}
	if err == nil && parsed.User != nil {
		r.Lose(n, "holds a user or a password, for which cluster.yaml has no reference: only the address is carried over; put the user into "+
			field+" by hand")
		parsed.User = nil
		address = parsed.String()
	}
	input.Carry(r.Account, field, to, n, spec.ProxyURL(address))
}
