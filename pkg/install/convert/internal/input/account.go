package input

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Account makes a cluster of what it reads, and keeps account: where each field
// came from, what is wrong, and what is left behind.
type Account struct {
	Env      spec.Env
	data     []byte // the input's text where it was read already
	Cluster  *spec.Cluster
	Nodes    *spec.Nodes // what is made of an input that only adds machines: those of Cluster
	Docs     []*Document
	size     int
	Problems []spec.Problem
	losses   []lost
	idle     []lost
	Files    map[string][]byte
	Origins  map[string]*Node         // by the field of cluster.yaml
	Present  map[string]bool          // fields that are written although empty
	Written  map[*spec.Document]*Node // the documents' keys in their order
	Nowhere  string                   // why what no field takes is left behind
	Notes    []string                 // what has to be known of the document
	Foreign  bool                     // whether a file has words of another format than cluster.yaml
}

type lost struct {
	at   *Node
	file string
	loss losses.Loss
}

// New is an account of what env reads. data is the input's text where it was read already.
func New(env spec.Env, data []byte) *Account {
	return &Account{
		Env:     env,
		data:    data,
		Cluster: &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind},
		Files:   map[string][]byte{},
		Origins: map[string]*Node{},
		Present: map[string]bool{},
		Written: map[*spec.Document]*Node{},
	}
}

// Problem notes what is wrong at a place.
func (r *Account) Problem(file string, line, col int, field, message, remedy string) {
	r.Problems = append(r.Problems, spec.Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
}

// Err is every problem so far as a *spec.Problems in the order of the files, or nil.
func (r *Account) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.Problems, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &spec.Problems{List: slices.CompactFunc(r.Problems, func(a, b spec.Problem) bool { return a.String() == b.String() })}
}

// Wrong notes that a value cannot be what it is.
func (r *Account) Wrong(n *Node, message, remedy string) {
	line, col := n.Position()
	n.Take()
	r.Problem(n.In.File, line, col, strings.TrimPrefix(n.Path(), n.In.Label), message, remedy)
}

// Lose tells that a value is left behind.
func (r *Account) Lose(n *Node, why string) {
	if n == nil || n.Taken {
		return
	}
	n.Take()
	r.LoseAs(n, Shown(n), why)
}

// LoseAs tells of a value that is left behind in other words than its own.
func (r *Account) LoseAs(n *Node, value any, why string) {
	r.losses = append(r.losses, lost{at: n, loss: losses.Loss{Path: n.Path(), Value: value, Why: why}})
}

// LoseFile tells that a file is not read at all.
func (r *Account) LoseFile(in *Input, name, why string) {
	r.losses = append(r.losses, lost{file: JoinPath(in.Root, name), loss: losses.Loss{Path: name, Why: why}})
}

// Losses are what is left behind, in the order of the input.
func (r *Account) Losses(in *Input) []losses.Loss { return sorted(r.losses, in.Files) }

// Idle are the values with which nothing is lost, in the order of the input.
func (r *Account) Idle(in *Input) []losses.Loss { return sorted(r.idle, in.Files) }

func sorted(list []lost, files []string) []losses.Loss {
	rank := func(l lost) (int, int, int) {
		if l.at == nil {
			return slices.Index(files, l.file), 0, 0
		}
		line, col := l.at.Position()
		return slices.Index(files, l.at.In.File), line, col
	}
	slices.SortStableFunc(list, func(a, b lost) int {
		af, al, ac := rank(a)
		bf, bl, bc := rank(b)
		return cmp.Or(cmp.Compare(af, bf), cmp.Compare(al, bl), cmp.Compare(ac, bc), cmp.Compare(a.loss.Path, b.loss.Path))
	})
	out := make([]losses.Loss, len(list))
	for i, l := range list {
		out[i] = l.loss
	}
	return out
}

// Rest tells that what is not taken yet at n and below it is left behind.
func (r *Account) Rest(n *Node, why string) { rest(n, func(n *Node) { r.Lose(n, why) }) }

// MeansRest takes what is not taken yet at n and below it: nothing is lost with it.
func (r *Account) MeansRest(n *Node, why string) { rest(n, func(n *Node) { r.Means(n, why) }) }

func rest(n *Node, tell func(*Node)) {
	if n == nil || n.Taken && len(n.Children) == 0 {
		return
	}
	if Untouched(n) {
		tell(n)
		return
	}
	for _, c := range n.Children {
		rest(c, tell)
	}
}

// Untouched says that nothing at or below n was taken.
func Untouched(n *Node) bool {
	if n.Taken {
		return false
	}
	for _, c := range n.Children {
		if !Untouched(c) {
			return false
		}
	}
	return true
}

// Means takes a value that says nothing of the cluster: nothing is lost with it.
func (r *Account) Means(n *Node, why string) {
	if n == nil || n.Taken {
		return
	}
	n.Take()
	r.idle = append(r.idle, lost{at: n, loss: losses.Loss{Path: n.Path(), Value: Shown(n), Why: why}})
}

// MeansIf is Means for some values; another one is left for the reader that comes next.
func (r *Account) MeansIf(n *Node, why string, values ...string) {
	if n != nil && len(n.Children) == 0 && slices.Contains(values, n.Text) {
		r.Means(n, why)
	}
}

// MeansEmpty is Means for an empty map or list.
func (r *Account) MeansEmpty(n *Node, why string) {
	if isEmpty(n) {
		r.Means(n, why)
	}
}

func isEmpty(n *Node) bool {
	return n != nil && (n.Kind == MapNode || n.Kind == ListNode) && len(n.Children) == 0
}

// Keys accounts for what becomes no field of cluster.yaml, as keys.yaml says of a document.
func (r *Account) Keys(n *Node, document string) {
	of := losses.KeysOf(document)
	for _, key := range of.Idle {
		switch at := n.Get(key.Steps...); {
		case key.Values == nil:
			r.MeansRest(at, key.Why)
		case isEmpty(at):
			if slices.Contains(key.Values, losses.Empty) {
				r.Means(at, key.Why)
			}
		default:
			r.MeansIf(at, key.Why, key.Values...)
		}
	}
	for _, key := range of.Lost {
		r.Rest(n.Get(key.Steps...), key.Why)
	}
}

// File keeps a file that the document refers to, under a name that nothing else has.
func (r *Account) File(name string, content []byte) string {
	ending := path.Ext(name)
	stem := strings.TrimSuffix(name, ending)
	for i := 2; ; i++ {
		if have, taken := r.Files[name]; !taken || string(have) == string(content) {
			r.Files[name] = content
			return name
		}
		name = fmt.Sprintf("%s-%d%s", stem, i, ending)
	}
}

// Document carries a structured text over in its own words.
func (r *Account) Document(field string, n *Node) *spec.Document {
	if n = r.MapOf(n); n == nil || len(n.Children) == 0 {
		return nil
	}
	inline, _ := n.Plain().(map[string]any)
	document := &spec.Document{Inline: inline}
	r.Written[document] = n
	r.From(field, n)
	n.Take()
	return document
}

// SameDocument says whether n says what d does.
func (r *Account) SameDocument(d *spec.Document, n *Node) bool {
	return d.Inline != nil && reflect.DeepEqual(d.Inline, n.Plain())
}

// SameValue says whether two nodes say the same.
func SameValue(a, b *Node) bool { return reflect.DeepEqual(a.Plain(), b.Plain()) }

// TextOf is a document as a file of its own has it; "" for one that is a file already.
func (r *Account) TextOf(d *spec.Document) string {
	if d.Inline == nil {
		return ""
	}
	return (&emitter{written: r.Written}).document(d).Written(readable())
}

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
var secretKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(pass|password|passwd|pwd|passphrase|password[_-]?hash|token|secret|credential|` +
		`kubeconfig|dockerconfigjson|dockercfg|auth|secretgenerator|` +
		`(?:private|secret|api|access|client|encryption|tls)[._-]?key(?:[._-]?data)?)s?$`)
})

// Shown is a value for a report: secrets are left out of it.
func Shown(n *Node) any {
	for at := n; at != nil; at = at.Parent {
		inData := at.Parent != nil && at.Parent.Parent == nil && isSecretObject(at.Parent) && (at.Key == "data" || at.Key == "stringData")
		if isSecretKey(at) || inData {
			return losses.Redacted
		}
	}
	return shownBelow(n)
}

func shownBelow(n *Node) any {
	switch {
	case isSecretKey(n):
		return losses.Redacted
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
		return losses.Redacted
	}
	m := make(map[string]any, len(n.Children))
	for _, c := range n.Children {
		m[c.Key] = losses.Redacted
	}
	return m
}

// isSecretKey says whether the value is one by its key. A map below such a key
// is shown by its own keys, for it may be a reference.
func isSecretKey(n *Node) bool {
	if n.Kind == BoolNode || n.Kind == NullNode || n.Key == "" {
		return false
	}
	return secretKey().MatchString(n.Key) && n.Kind != MapNode
}

func isSecretObject(n *Node) bool { return n.Child("kind").Peek() == "Secret" }

// privateText matches texts that hold a secret under any key.
var privateText = regexp.MustCompile(`PRIVATE KEY|"auths?"\s*:|(?i)passw|://[^/\s]*:[^/\s]*@`)

func shownText(text string) string {
	if privateText.MatchString(text) {
		return losses.Redacted
	}
	return text
}
