package settings

import (
	"net/url"
	"reflect"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// PullSecret carries a pull secret over that stands in the input.
func (r *Reader) PullSecret(n *source.Node) {
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

func (r *Reader) PullSecretFrom(source spec.Source, n *source.Node) {
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

// password keeps a password in a file of its own.
func (r *Reader) password(name string, n *source.Node) *spec.Source {
	text := r.Scalar(n)
	if text == "" {
		return nil
	}
	return &spec.Source{File: r.File(name, []byte(text+"\n"))}
}

// Login carries user and password over.
func (r *Reader) Login(field, file string, user, password *source.Node) (c spec.Credentials) {
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
func (r *Reader) ProxyURL(field string, to *spec.ProxyURL, n *source.Node) {
	if n == nil || n.Kind != source.TextNode {
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
		r.Lose(n, "holds a user or a password, for which cluster.yaml has no reference: only the address is carried over; put the user into "+field+" by hand")
		parsed.User = nil
		address = parsed.String()
	}
	if *to != "" && string(*to) != address {
		r.Second(field, n)
		return
	}
	n.Taken = true
	*to = spec.ProxyURL(address)
	r.From(field, n)
}
