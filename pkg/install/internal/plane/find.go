package plane

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
)

// Only is the one of several things that a person may mean by a text, or the fault that
// there is not exactly one: none is its error where there is none.
func Only[T any](kind, text string, none error, found []T, name func(T) string) (T, error) {
	var nothing T
	switch len(found) {
	case 0:
		return nothing, none
	case 1:
		return found[0], nil
	}
	names := make([]string, 0, len(found))
	for _, f := range found {
		names = append(names, name(f))
	}
	return nothing, &install.Fault{
		Code: install.CodeNotFound, Op: "find " + kind, On: text, Permanent: true,
		Err: fmt.Errorf("there are several: %s", strings.Join(names, ", ")), Next: "use the id",
	}
}
