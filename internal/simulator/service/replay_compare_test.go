package service

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// tally counts what was compared, and what agreed.
type tally struct{ all, same int }

func (t *tally) add(o tally) { t.all, t.same = t.all+o.all, t.same+o.same }

// share is the part that agreed, in percent.
func (t *tally) share() float64 {
	if t.all == 0 {
		return 100
	}
	return 100 * float64(t.same) / float64(t.all)
}

// verdict is what the comparison of one answer found.
type verdict struct {
	status, values, events tally
	diffs                  []string
}

// comparison compares one answer with the recorded one.
type comparison struct {
	r      *replay
	values tally
	diffs  []string
}

func (c *comparison) same() { c.values.add(tally{1, 1}) }

func (c *comparison) differs(values int, format string, args ...any) {
	c.values.add(tally{max(values, 1), 0})
	c.diffs = append(c.diffs, fmt.Sprintf(format, args...))
}

// countLeaves counts the values in a JSON value.
func countLeaves(v any) int {
	n := 0
	switch x := v.(type) {
	case map[string]any:
		for _, w := range x {
			n += countLeaves(w)
		}
	case []any:
		for _, w := range x {
			n += countLeaves(w)
		}
	}
	return max(n, 1)
}

// skipped tells the keys whose values depend on time or chance.
func skipped(path string) bool {
	for _, end := range []string{"_at", ".timestamp", ".step_id", ".updated_at", "cvo-overrides.yaml", ".contents.source", ".password", ".proxy_hash"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// compare looks for differences: of shape everywhere, of values where they do not
// depend on ids, times or chance.
func (c *comparison) compare(path string, got, want any) {
	switch w := want.(type) {
	case map[string]any:
		c.compareObjects(path, got, w)
	case []any:
		c.compareLists(path, got, w)
	case string:
		c.compareTexts(path, got, w)
	default:
		if skipped(path) || reflect.DeepEqual(got, want) {
			c.same()
			return
		}
		c.differs(1, "%s: %s, recorded %s", path, brief(got), brief(want))
	}
}

func (c *comparison) compareObjects(path string, got any, w map[string]any) {
	g, ok := got.(map[string]any)
	if !ok {
		c.differs(countLeaves(w), "%s: %s, recorded an object", path, brief(got))
		return
	}
	expected := map[string]bool{}
	for k, v := range w {
		name := ordered(path, c.r.rename(k))
		expected[name] = true
		mine, has := g[name]
		if !has {
			c.differs(countLeaves(v), "%s.%s is missing, recorded %s", path, k, brief(v))
			continue
		}
		c.compare(path+"."+k, mine, v)
	}
	for k, v := range g {
		if !expected[k] {
			c.differs(countLeaves(v), "%s.%s is too much: %s", path, k, brief(v))
		}
	}
}

// ordered brings the words of a key into an order where the service has them by
// chance.
func ordered(path, key string) string {
	if !strings.HasSuffix(path, "Install Config Overrides.data") {
		return key
	}
	words := strings.Fields(key)
	slices.Sort(words[1:])
	return strings.Join(words, " ")
}

// compareLists compares lists in order, and lists of things with ids or of ids
// regardless of it.
func (c *comparison) compareLists(path string, got any, w []any) {
	g, ok := got.([]any)
	if !ok {
		c.differs(countLeaves(w), "%s: %s, recorded a list", path, brief(got))
		return
	}
	if len(g) != len(w) {
		c.differs(countLeaves(w), "%s has %d entries, recorded %d: %s / %s", path, len(g), len(w), brief(got), brief(w))
		return
	}
	mine := c.sorted(g, false)
	for i, v := range c.sorted(w, true) {
		c.compare(fmt.Sprintf("%s[%d]", path, i), mine[i], v)
	}
}

func (c *comparison) sorted(list []any, recorded bool) []any {
	key := func(v any) string {
		id, _ := v.(string)
		if o, ok := v.(map[string]any); ok {
			if cidr, isNetwork := o["cidr"].(string); isNetwork && o["host_ids"] != nil {
				return cidr // the networks of hosts come out of a map
			}
			if name, isOperator := o["subscription_name"].(string); isOperator {
				return name // a database gives operators in any order
			}
			if name, isOperator := o["operator_name"].(string); isOperator {
				return name
			}
			for _, k := range []string{"id", "host_id"} {
				if text, ok := o[k].(string); ok && len(text) == 36 {
					id = text
				}
			}
		}
		if len(id) != 36 || strings.Count(id, "-") != 4 {
			return ""
		}
		if recorded {
			return c.r.rename(id)
		}
		return id
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return out
}

func (c *comparison) compareTexts(path string, got any, w string) {
	g, ok := got.(string)
	if !ok {
		c.differs(1, "%s: %s, recorded %s", path, brief(got), brief(w))
		return
	}
	if strings.HasSuffix(path, ".step_id") {
		c.r.steps[w] = g
	}
	if skipped(path) {
		c.same()
		return
	}
	var a, b any
	if strings.ContainsAny(w[:min(1, len(w))], "{[") && json.Unmarshal([]byte(w), &b) == nil && json.Unmarshal([]byte(g), &a) == nil {
		c.compare(path+"(json)", a, b)
		return
	}
	renamed := c.r.rename(w)
	if g != renamed && masked(g) != masked(renamed) {
		c.differs(1, "%s: %s, recorded %s", path, brief(g), brief(masked(renamed)))
		return
	}
	c.same()
}

var (
	timeLike    = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.]*(Z| \+0000 UTC)?`)
	addressLike = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	stepLike    = regexp.MustCompile(`("step_id": ?"[a-z-]+-)[0-9a-f]{8}"`)
	allowedLike = regexp.MustCompile(`but \[[A-Z,]+\] are`)
	numberLike  = regexp.MustCompile(`\d+(\.\d+)?`)
	idLike      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// masked takes times, the service's own address and the ids of steps out of a text.
func masked(text string) string {
	text = timeLike.ReplaceAllString(text, "TIME")
	text = addressLike.ReplaceAllString(text, "http://SERVICE")
	text = allowedLike.ReplaceAllString(text, "but some are") // their order is chance
	return stepLike.ReplaceAllString(text, `${1}ID"`)
}

// compareEvents counts how many of the recorded events ours are, in any order: several
// hosts do several things in the same moment.
func (c *comparison) compareEvents(got, want []any) tally {
	ours := map[string]int{}
	for _, e := range got {
		ours[eventText(e)]++
	}
	t := tally{all: max(len(got), len(want))}
	for _, e := range want {
		text := eventText(e)
		if ours[text] > 0 {
			ours[text]--
			t.same++
			continue
		}
		c.diffs = append(c.diffs, "no such event: "+text)
	}
	for text, n := range ours {
		if n > 0 && len(got) > len(want) {
			c.diffs = append(c.diffs, fmt.Sprintf("%d events too much: %s", n, text))
		}
	}
	return t
}

// eventText is what of an event does not depend on ids and measured numbers.
func eventText(v any) string {
	e, _ := v.(map[string]any)
	text := idLike.ReplaceAllString(fmt.Sprint(e["message"]), "ID")
	return fmt.Sprintf("%v %v %s", e["name"], e["severity"], numberLike.ReplaceAllString(text, "N"))
}

func brief(v any) string {
	text := model.InString(v)
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}
