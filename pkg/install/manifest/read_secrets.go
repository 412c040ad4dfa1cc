package manifest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// redacted is what is told of a secret.
const redacted = "[redacted]"

// secretKey matches keys whose values are not shown. References to secrets have
// other endings. Keys that are public end as private ones do, so that those are
// named by what stands before: apiKey, tls.key, client-key-data.
var secretKey = regexp.MustCompile(`(?i)(pass|password|passwd|pwd|passphrase|password[_-]?hash|token|secret|credential|kubeconfig|dockerconfigjson|dockercfg|auth|secretgenerator|` +
	`(?:private|secret|api|access|client|encryption|tls)[._-]?key(?:[._-]?data)?)s?$`)

// shown is a value for a report: secrets are left out of it.
func shown(n *node) any {
	for at := n; at != nil; at = at.parent {
		inData := at.parent != nil && at.parent.parent == nil && isSecretObject(at.parent) && (at.key == "data" || at.key == "stringData")
		if isSecretKey(at) || inData {
			return redacted
		}
	}
	return shownBelow(n)
}

func shownBelow(n *node) any {
	switch {
	case isSecretKey(n):
		return redacted
	case n.kind == mapNode:
		m := make(map[string]any, len(n.children))
		for _, c := range n.children {
			m[c.key] = shownBelow(c)
			if isSecretObject(n) && (c.key == "data" || c.key == "stringData") {
				m[c.key] = hiddenValues(c)
			}
		}
		return m
	case n.kind == listNode:
		l := make([]any, len(n.children))
		for i, c := range n.children {
			l[i] = shownBelow(c)
		}
		return l
	case n.kind == textNode:
		return shownText(n.text)
	}
	if n.kind == numberNode && json.Valid([]byte(n.text)) {
		return json.Number(n.text) // 4.20 is a version, and not 4.2
	}
	return n.plain()
}

// hiddenValues are the keys of a Secret without what is behind them.
func hiddenValues(n *node) any {
	if n.kind != mapNode {
		return redacted
	}
	m := make(map[string]any, len(n.children))
	for _, c := range n.children {
		m[c.key] = redacted
	}
	return m
}

// isSecretKey says whether the value is one by its key. A map below such a key
// is shown by its own keys, for it may be a reference.
func isSecretKey(n *node) bool {
	if n.kind == boolNode || n.kind == nullNode || n.key == "" {
		return false
	}
	return secretKey.MatchString(n.key) && n.kind != mapNode
}

// isSecretObject says whether the object is a Secret of Kubernetes.
func isSecretObject(n *node) bool { return n.child("kind").peek() == "Secret" }

// privateText matches texts that hold a secret whatever their key.
var privateText = regexp.MustCompile(`PRIVATE KEY|"auths?"\s*:|(?i)passw|://[^/\s]*:[^/\s]*@`)

func shownText(text string) string {
	if privateText.MatchString(text) {
		return redacted
	}
	return text
}

// file keeps a file that the document refers to; the name is made one that
// nothing else has.
func (r *reader) file(name string, content []byte) string {
	if have, taken := r.files[name]; taken && string(have) != string(content) {
		ending := ""
		if dot := strings.LastIndexByte(name, '.'); dot > strings.LastIndexByte(name, '/') {
			name, ending = name[:dot], name[dot:]
		}
		for i := 2; ; i++ {
			other := fmt.Sprintf("%s-%d%s", name, i, ending)
			if have, taken := r.files[other]; !taken || string(have) == string(content) {
				name = other
				break
			}
		}
		r.files[name] = content
		return name
	}
	r.files[name] = content
	return name
}

// pullSecret carries a pull secret over that stands in the input.
func (r *reader) pullSecret(n *node) {
	if n == nil {
		return
	}
	text := strings.TrimSpace(r.text(n))
	if text == "" {
		return
	}
	name := r.file("pull-secret.json", []byte(text+"\n"))
	r.pullSecretFrom(spec.Source{File: name}, n)
}

func (r *reader) pullSecretFrom(source spec.Source, n *node) {
	if have := r.cluster.Spec.PullSecret; !have.IsZero() {
		if !reflect.DeepEqual(have, source) {
			n.taken = false
			r.second("spec.pullSecret", n)
		}
		return
	}
	r.cluster.Spec.PullSecret = source
	r.from("spec.pullSecret", n)
}

// password keeps a password in a file of its own.
func (r *reader) password(name string, n *node) *spec.Source {
	text := r.scalar(n)
	if text == "" {
		return nil
	}
	return &spec.Source{File: r.file(name, []byte(text+"\n"))}
}

// login carries user and password over.
func (r *reader) login(field, file string, user, password *node) (c spec.Credentials) {
	if user != nil {
		c.Username = strings.TrimRight(r.text(user), "\r\n") // which echo leaves in a Secret, and metal3 does not mind
		r.from(field+".username", user)
	}
	if password != nil {
		c.Password = r.password(file, password)
		r.from(field+".password", password)
	}
	return c
}

// proxyURL carries the address of a proxy over, without a password in it.
func (r *reader) proxyURL(field string, to *spec.ProxyURL, n *node) {
	if n == nil || n.kind != textNode {
		r.text(n)
		return
	}
	address := n.text
	parsed, err := url.Parse(address)
	if err != nil && strings.Contains(address, "@") {
		r.wrong(n, "is not a URL", "write it as http://HOST:PORT")
		return
	}
	if err == nil && parsed.User != nil {
		r.lose(n, "holds a user or a password, for which cluster.yaml has no reference: only the address is carried over; put the user into "+field+" by hand")
		parsed.User = nil
		address = parsed.String()
	}
	if *to != "" && string(*to) != address {
		r.second(field, n)
		return
	}
	n.taken = true
	*to = spec.ProxyURL(address)
	r.from(field, n)
}
