package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// reader makes a cluster of what it reads, and keeps account: where each field
// came from, what is wrong, and what is left behind.
type reader struct {
	env      spec.Env
	data     []byte // the input's text where it was read already
	cluster  *spec.Cluster
	docs     []*document
	size     int
	problems []spec.Problem
	losses   []lost
	idle     []lost
	files    map[string][]byte
	origins  map[string]*node         // by the field of cluster.yaml
	present  map[string]bool          // fields that are written although empty
	written  map[*spec.Document]*node // the documents' keys in their order
	nowhere  string                   // why what nobody took is left behind

	archByRole   []roleArch // architectures of machines, by their role
	envs         []bootEnv  // what the InfraEnvs say of their machines
	notes        []string   // what has to be known of the document
	hubNamespace string     // of the ClusterDeployment
	agentBased   bool       // whether it is the agent-based installer's, which has no namespaces
	capiName     string     // of the Cluster of Cluster API
	laterFencing []*node    // fencing credentials, for hosts that are read later
	bareRedfish  bool       // whether a BMC's address without a scheme means Redfish
	foreign      bool       // whether a file has words of another format than cluster.yaml
}

// lost is a Loss with its place, by which it is sorted.
type lost struct {
	at   *node
	file string
	loss Loss
}

func newReader(env spec.Env, data []byte) *reader {
	return &reader{
		env:     env,
		data:    data,
		cluster: &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind},
		files:   map[string][]byte{},
		origins: map[string]*node{},
		present: map[string]bool{},
		written: map[*spec.Document]*node{},
	}
}

func (r *reader) problem(file string, line, col int, field, message, remedy string) {
	r.problems = append(r.problems, spec.Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
}

// err is every problem so far as a *spec.Problems in the order of the files, or
// nil.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &spec.Problems{List: slices.Compact(r.problems)}
}

// wrong notes that a value cannot be what it is.
func (r *reader) wrong(n *node, message, remedy string) {
	line, col := n.place()
	n.take()
	r.problem(n.in.file, line, col, strings.TrimPrefix(n.path(), n.in.label), message, remedy)
}

// lose tells that a value is left behind.
func (r *reader) lose(n *node, why string) {
	if n == nil || n.taken {
		return
	}
	n.take()
	r.losses = append(r.losses, lost{at: n, loss: Loss{Path: n.path(), Value: shown(n), Why: why}})
}

// loseFile tells that a file is not read at all.
func (r *reader) loseFile(in *input, name, why string) {
	r.losses = append(r.losses, lost{file: joinPath(in.path, name), loss: Loss{Path: name, Why: why}})
}

// rest tells that whatever nobody took below n is left behind.
func (r *reader) rest(n *node, why string) {
	if n == nil || n.taken && len(n.children) == 0 {
		return
	}
	if untouched(n) {
		r.lose(n, why)
		return
	}
	for _, c := range n.children {
		r.rest(c, why)
	}
}

// untouched says that nothing at or below n was taken.
func untouched(n *node) bool {
	if n.taken {
		return false
	}
	for _, c := range n.children {
		if !untouched(c) {
			return false
		}
	}
	return true
}

// means takes a value that the format has to have and that says nothing of the
// cluster: nothing is lost with it.
func (r *reader) means(n *node, why string) {
	if n == nil || n.taken {
		return
	}
	n.take()
	r.idle = append(r.idle, lost{at: n, loss: Loss{Path: n.path(), Value: shown(n), Why: why}})
}

// meansIf is means for one of the values that say nothing; another one is left
// for whoever asks next.
func (r *reader) meansIf(n *node, why string, values ...string) {
	if n != nil && len(n.children) == 0 && slices.Contains(values, n.text) {
		r.means(n, why)
	}
}

// meansEmpty is means for an empty map or list.
func (r *reader) meansEmpty(n *node, why string) {
	if n != nil && (n.kind == mapNode || n.kind == listNode) && len(n.children) == 0 {
		r.means(n, why)
	}
}

// text takes a text; empty for none.
func (r *reader) text(n *node) string {
	if n == nil || !r.want(n, textNode) {
		return ""
	}
	n.taken = true
	return n.text
}

// scalar takes any scalar as the text that it is written with.
func (r *reader) scalar(n *node) string {
	switch {
	case n == nil:
		return ""
	case n.kind == mapNode || n.kind == listNode:
		r.want(n, textNode)
		return ""
	}
	n.taken = true
	return n.text
}

// want reports a node of another kind.
func (r *reader) want(n *node, kind nodeKind) bool {
	if n.kind == kind {
		return true
	}
	remedy := ""
	if kind == textNode && (n.kind == numberNode || n.kind == boolNode) {
		remedy = "put it in quotes"
	}
	if !(n.taken && len(n.children) == 0) {
		r.wrong(n, fmt.Sprintf("has to be %s, but is %s", kind, n.kind), remedy)
	}
	return false
}

// mapOf reports what is there and no map; nil then.
func (r *reader) mapOf(n *node) *node { return r.kindOf(n, mapNode) }

// listOf are the entries of a list; anything else is reported.
func (r *reader) listOf(n *node) []*node { return r.kindOf(n, listNode).items() }

func (r *reader) kindOf(n *node, kind nodeKind) *node {
	if n == nil || !r.want(n, kind) {
		return nil
	}
	if len(n.children) == 0 {
		n.taken = true
	}
	return n
}

// texts takes a list of texts; nil for none. An empty entry is left out.
func (r *reader) texts(n *node) []string {
	if n == nil {
		return nil
	}
	list := []string{}
	for _, item := range r.listOf(n) {
		if item.kind == nullNode {
			r.wrong(item, "is an empty list entry", "remove it or fill it in")
			continue
		}
		list = append(list, r.text(item))
	}
	return list
}

// number takes an integer; nil for none.
func (r *reader) number(n *node) *int {
	if n == nil || !r.want(n, numberNode) {
		return nil
	}
	whole, ok := numberOf(n.text).(int64)
	if !ok || whole > 1<<31-1 || whole < -1<<31 {
		r.wrong(n, "is not a number that can be read", "")
		return nil
	}
	n.taken = true
	value := int(whole)
	return &value
}

// boolean takes true or false; nil for neither.
func (r *reader) boolean(n *node) *bool {
	if n == nil {
		return nil
	}
	word := strings.ToLower(n.text)
	if n.kind != boolNode && (n.kind != textNode || !slices.Contains([]string{"yes", "no", "on", "off"}, word)) {
		r.want(n, boolNode)
		return nil
	}
	n.taken = true
	value := truth(word)
	return &value
}

func isTrue(is *bool) bool { return is != nil && *is }

// from notes that a field of cluster.yaml came from n, so that what is wrong with
// the field is told at n.
func (r *reader) from(field string, n *node) {
	if n != nil && r.origins[field] == nil {
		r.origins[field] = n
	}
}

// setText carries a text over. Where the field has a value already, the second
// has to agree or is told.
func setText[T ~string](r *reader, field string, to *T, n *node) {
	if n == nil {
		return
	}
	if n.kind != textNode {
		r.want(n, textNode)
		return
	}
	if *to == "" || string(*to) == n.text {
		*to = T(r.text(n))
		r.from(field, n)
		return
	}
	r.second(field, n)
}

// second tells a value that says something else than the one that was carried
// over.
func (r *reader) second(field string, n *node) {
	why := fmt.Sprintf("%s has another value already", field)
	if first := r.origins[field]; first != nil {
		why = fmt.Sprintf("is another value than that of %s, which became %s: cluster.yaml has one for both", first.path(), field)
	}
	r.lose(n, why)
}

// setTexts carries a list of texts over, as setText does.
func setTexts[T ~[]string](r *reader, field string, to *T, n *node) {
	if n == nil {
		return
	}
	values := make([]string, 0, len(n.items()))
	for _, item := range n.items() {
		values = append(values, item.peek())
	}
	if *to != nil && !slices.Equal([]string(*to), values) {
		r.second(field, n)
		return
	}
	if values := r.texts(n); values != nil {
		*to = T(values)
		r.from(field, n)
		for i, item := range n.items() {
			r.from(fmt.Sprintf("%s[%d]", field, i), item)
		}
	}
}

// setBool carries true or false over, as setText does.
func (r *reader) setBool(field string, to **bool, n *node) {
	if n == nil {
		return
	}
	if *to != nil && **to != truth(n.text) {
		r.second(field, n)
		return
	}
	if value := r.boolean(n); value != nil {
		*to = value
		r.from(field, n)
	}
}

// setNumber carries an integer over, as setText does.
func (r *reader) setNumber(field string, to *int, n *node) {
	if n == nil {
		return
	}
	if value, ok := numberOf(n.text).(int64); ok && *to != 0 && int64(*to) != value {
		r.second(field, n)
		return
	}
	if value := r.number(n); value != nil {
		*to = *value
		r.from(field, n)
	}
}

// sortLosses brings what was left behind into the order of the input.
func sortLosses(list []lost, files []string) []Loss {
	rank := func(l lost) (int, int, int) {
		if l.at == nil {
			return slices.Index(files, l.file), 0, 0
		}
		line, col := l.at.place()
		return slices.Index(files, l.at.in.file), line, col
	}
	slices.SortStableFunc(list, func(a, b lost) int {
		af, al, ac := rank(a)
		bf, bl, bc := rank(b)
		return cmp.Or(cmp.Compare(af, bf), cmp.Compare(al, bl), cmp.Compare(ac, bc), cmp.Compare(a.loss.Path, b.loss.Path))
	})
	losses := make([]Loss, len(list))
	for i, l := range list {
		losses[i] = l.loss
	}
	return losses
}
