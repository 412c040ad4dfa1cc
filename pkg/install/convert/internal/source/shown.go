package source

import (
	"encoding/json"
	"regexp"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
)

// HoldsSecret says whether something at or below n may not be shown.
func HoldsSecret(n *Node) bool {
	found := false
	n.walk(func(n *Node) {
		found = found || isSecretKey(n) && len(n.Children) == 0 || n.Kind == TextNode && privateText.MatchString(n.Text)
	})
	return found
}

// secretKey matches keys whose values are not shown. References to secrets have
// other endings. Keys that are public end as private ones do, so that those are
// named by what stands before: apiKey, tls.key, client-key-data.
var secretKey = regexp.MustCompile(`(?i)(pass|password|passwd|pwd|passphrase|password[_-]?hash|token|secret|credential|kubeconfig|dockerconfigjson|dockercfg|auth|secretgenerator|` +
	`(?:private|secret|api|access|client|encryption|tls)[._-]?key(?:[._-]?data)?)s?$`)

// Shown is a value for a report: secrets are left out of it.
func Shown(n *Node) any {
	for at := n; at != nil; at = at.Parent {
		inData := at.Parent != nil && at.Parent.Parent == nil && isSecretObject(at.Parent) && (at.Key == "data" || at.Key == "stringData")
		if isSecretKey(at) || inData {
			return loss.Redacted
		}
	}
	return shownBelow(n)
}

func shownBelow(n *Node) any {
	switch {
	case isSecretKey(n):
		return loss.Redacted
	case n.Kind == MapNode:
		m := make(map[string]any, len(n.Children))
		for _, c := range n.Children {
			m[c.Key] = shownBelow(c)
			if isSecretObject(n) && (c.Key == "data" || c.Key == "stringData") {
				m[c.Key] = hiddenValues(c)
			}
		}
		return m
	case n.Kind == ListNode:
		l := make([]any, len(n.Children))
		for i, c := range n.Children {
			l[i] = shownBelow(c)
		}
		return l
	case n.Kind == TextNode:
		return shownText(n.Text)
	}
	if n.Kind == NumberNode && json.Valid([]byte(n.Text)) {
		return json.Number(n.Text) // 4.20 is a version, and not 4.2
	}
	return n.Plain()
}

func hiddenValues(n *Node) any {
	if n.Kind != MapNode {
		return loss.Redacted
	}
	m := make(map[string]any, len(n.Children))
	for _, c := range n.Children {
		m[c.Key] = loss.Redacted
	}
	return m
}

// isSecretKey says whether the value is one by its key. A map below such a key
// is shown by its own keys, for it may be a reference.
func isSecretKey(n *Node) bool {
	if n.Kind == BoolNode || n.Kind == NullNode || n.Key == "" {
		return false
	}
	return secretKey.MatchString(n.Key) && n.Kind != MapNode
}

func isSecretObject(n *Node) bool { return n.Child("kind").Peek() == "Secret" }

// privateText matches texts that hold a secret whatever their key.
var privateText = regexp.MustCompile(`PRIVATE KEY|"auths?"\s*:|(?i)passw|://[^/\s]*:[^/\s]*@`)

func shownText(text string) string {
	if privateText.MatchString(text) {
		return loss.Redacted
	}
	return text
}
