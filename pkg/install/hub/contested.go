package hub

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
)

// contested refuses to write texts into an Agent's spec that somebody else has set to
// something else. An Agent is the service's, so that it is patched and not applied, and
// a patch asks nobody. A role that was left to the service was set by nobody.
func contested(live *unstructured.Unstructured, spec map[string]any) error {
	var theirs []string
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		have, _, _ := unstructured.NestedString(live.Object, "spec", field)
		open := have == "" || field == "role" && have == vocab.RoleWord(vocab.RoleAuto)
		if want, isText := spec[field].(string); !isText || open || have == want {
			continue
		}
		if who := otherOwner(live, "spec", field); who != "" {
			theirs = append(theirs, fmt.Sprintf("spec.%s (%s) is owned by %s", field, have, who))
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	f := &install.Fault{Op: "change Agent", On: id(live.GetNamespace(), live.GetName())}
	ofOthers(f, strings.Join(theirs, ", "))
	return f
}
