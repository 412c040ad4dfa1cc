//go:build e2e

package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

// ids are the names of things by their ids.
type ids struct {
	mu    sync.Mutex
	names map[string]string
}

// learn reads the ids and names in an answer of the service.
func (i *ids) learn(body []byte) {
	var content any
	if json.Unmarshal(body, &content) == nil {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.learnFrom(content)
	}
}

func (i *ids) learnFrom(content any) {
	switch c := content.(type) {
	case []any:
		for _, e := range c {
			i.learnFrom(e)
		}
	case map[string]any:
		id, _ := c["id"].(string)
		for _, key := range []string{"requested_hostname", "name"} {
			if name, _ := c[key].(string); id != "" && name != "" {
				if i.names == nil {
					i.names = map[string]string{}
				}
				i.names[id] = strings.ToLower(fmt.Sprint(c["kind"])) + ":" + name
			}
		}
		for _, key := range slices.Sorted(maps.Keys(c)) {
			i.learnFrom(c[key])
		}
	}
}

// patterns are what differs between two runs, and what stands in its place.
var patterns = []struct {
	find *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b`), "<duration>"},
	{regexp.MustCompile(`\b(127\.0\.0\.1|localhost):\d+\b`), "<address>"},
	{regexp.MustCompile(`\bcsr-[a-z0-9]{5}\b`), "csr-<x>"},
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]*`), "<token>"},
	{regexp.MustCompile(`(/tmp|/var/tmp)/[\w./-]*`), "<path>"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-<x>"}, // of a MachineSet and its Machine
	{regexp.MustCompile(`\b(lab|lab-workers|lab-md-0|lab-control-plane)-[bcdfghjklmnpqrstvwxz2456789a-z0-9]{5}\b`), "$1-<x>"},
}

var uuid = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// tidy puts names in place of ids, and takes out times, addresses and random parts of names.
func (i *ids) tidy(text string) string {
	i.mu.Lock()
	text = uuid.ReplaceAllStringFunc(text, func(id string) string {
		if name := i.names[id]; name != "" {
			return "<" + name + ">"
		}
		return "<id>"
	})
	i.mu.Unlock()
	for _, p := range patterns {
		text = p.find.ReplaceAllString(text, p.by)
	}
	return text
}

// longest is how long a text may be that is recorded as it is. Of longer ones, which may be secrets, there is a digest.
const longest = 120

// body is what a request carries, in one line: JSON with its keys in order, and without what the API server adds.
func (i *ids) body(data []byte, digests bool) string {
	if len(data) == 0 {
		return ""
	}
	var content any
	if json.Unmarshal(data, &content) != nil {
		return i.short(string(data), digests)
	}
	return inLine(i.plain(content, digests))
}

// inLine is a value as JSON in one line, with its keys in order.
func inLine(content any) string {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(content); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text.String())
}

// secret are fields that hold one.
var secret = regexp.MustCompile(`(?i)^(pull_?secret|.*password|.*token|.*kubeconfig)$`)

// secrets is a value without what it is.
func secrets(content any) any {
	switch c := content.(type) {
	case string:
		return "<secret>"
	case map[string]any:
		hidden := map[string]any{}
		for key, e := range c {
			hidden[key] = secrets(e)
		}
		return hidden
	}
	return content
}

// ofServer are the fields that an API server gives objects.
var ofServer = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"}

func (i *ids) plain(content any, digests bool) any {
	switch c := content.(type) {
	case []any:
		list := make([]any, len(c))
		for at, e := range c {
			list[at] = i.plain(e, digests)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for key, e := range c {
			switch {
			case slices.Contains(ofServer, key):
			case secret.MatchString(key) && e != nil, c["kind"] == "Secret" && strings.HasSuffix(strings.ToLower(key), "data") && key != "metadata":
				object[key] = secrets(e)
			default:
				object[i.tidy(key)] = i.plain(e, digests)
			}
		}
		return object
	case string:
		return i.short(c, digests)
	}
	return content
}

// short is a text without what differs, and of a long one only a digest, or that it is long.
func (i *ids) short(text string, digests bool) string {
	tidied := i.tidy(text)
	switch {
	case len(tidied) <= longest:
		return tidied
	case digests:
		return fmt.Sprintf("<digest %x>", sha256.Sum256([]byte(tidied)))
	}
	return "<long>"
}

func TestTidy(t *testing.T) {
	var i ids
	i.learn([]byte(`[{"id": "6ae6783f-4fbd-491b-aeb8-8b73a48ed247", "kind": "Cluster", "name": "compact"}, {"hosts": [{"id": "f4f3a844-86bb-466f-ab77-ef122decbc5d", "kind": "Host", "requested_hostname": "cp-0"}]}]`))
	long := strings.Repeat("x", longest+1)
	for given, want := range map[string]string{
		`{"b": "6ae6783f-4fbd-491b-aeb8-8b73a48ed247", "a": 1}`:                                                    `{"a":1,"b":"<cluster:compact>"}`,
		`{"uid": "u", "at": "2026-11-29T14:12:28.904241Z"}`:                                                        `{"at":"<time>"}`,
		`"f4f3a844-86bb-466f-ab77-ef122decbc5d at http://127.0.0.1:37985/x, 00000000-86bb-466f-ab77-ef122decbc5d"`: `"<host:cp-0> at http://<address>/x, <id>"`,
		`"lab-workers-r7tcq-9lxwh"`:                                                                                `"lab-workers-<x>"`,
		`"` + long + `"`:                                                                                           fmt.Sprintf(`"<digest %x>"`, sha256.Sum256([]byte(long))),
		"no JSON":                                                                                                  "no JSON",
	} {
		check.Equal(t, i.body([]byte(given), true), want, given)
	}
}

func TestMerge(t *testing.T) {
	var kept []byte
	for _, run := range []string{"read a\nread b\nwrite c\nwrite d\n", "read a\nread e\nwrite c\n", "read a\nread b\nwrite c\nwrite d\n"} {
		kept = merged(kept, []byte(run))
	}
	if want := "# runs: 3\n= read a\n~ read b\n~ read e\n= write c\n"; string(kept) != want {
		t.Errorf("kept %q", kept)
	}
	if got := differences(kept, []byte("read a\nread b\nwrite c\nwrite x\n")); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := differences(kept, []byte("read b\nread x\nwrite c\n")); fmt.Sprint(got) != "[gone: read a new: read x]" {
		t.Errorf("%q", got)
	}
}
