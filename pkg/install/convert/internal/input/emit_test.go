package input_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestEmitEmptyObject has an object that is said without any of its fields: an empty
// value behind its key would say nothing.
func TestEmitEmptyObject(t *testing.T) {
	c := &spec.Cluster{}
	c.Spec.Import = &spec.Import{}
	c.Spec.Hosts = []spec.Host{{Name: "a", Fencing: &spec.Fencing{}}}
	const want = "spec:\n  hosts:\n  - name: a\n    fencing: {}\n  import: {}\n"
	check.Equal(t, string(input.Emit(c, nil, nil)), want)
}
