package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/suggest"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// checker collects everything that is wrong with a cluster.
type checker struct {
	*values.Checker
	cluster  *Cluster
	problems *Problems
	astray   []astray // defaults that do not do for hosts
}

func newChecker(c *Cluster, problems *Problems, failed map[string]bool) *checker {
	tell := func(field, message, remedy string) {
		file, line, col := c.Position(field)
		problems.List = append(problems.List, Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
	}
	return &checker{Checker: &values.Checker{Failed: failed, Tell: tell}, cluster: c, problems: problems}
}

func hostField(i int, name string) string { return fmt.Sprintf("spec.hosts[%d].%s", i, name) }

// all runs every check. Each reports what it finds and lets the others look
// too.
func (k *checker) all() {
	k.words()
	k.identity()
	k.openshift()
	if k.cluster.Imported() {
		k.imported()
		k.networkDefaults()
	} else {
		k.platform()
		k.topology()
		k.networks()
		k.vips()
	}
	k.hosts()
	k.hostNetworks()
	k.defaultsAstray()
	k.contents()
	k.registry()
	k.manifests()
	k.extras()
	k.hub()
	k.discoveryImage()
}

func (k *checker) words() {
	decode.Walk(reflect.ValueOf(k.cluster).Elem(), "", func(v reflect.Value, field string) bool {
		if w, is := v.Interface().(word); is && v.Kind() == reflect.String && v.String() != "" {
			k.word(w, v.String(), field)
		}
		return true
	})
}

func (k *checker) word(w word, text, field string) {
	if _, known := canonical(w, text); known {
		return
	}
	remedy := "it is one of " + strings.Join(w.Values(), ", ")
	spellings := slices.Sorted(maps.Keys(otherSpellings(w)))
	if best := suggest.Nearest(text, append(spellings, w.Values()...)); best != "" {
		best, _ = canonical(w, best)
		remedy = fmt.Sprintf("did you mean %q?", best)
	}
	k.Report(field, fmt.Sprintf("%q is not known here", text), remedy)
}
