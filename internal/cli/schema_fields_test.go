package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestSchemasNameEveryField holds the schemas in docs to the types that are printed,
// in both directions: a field that no test happens to print is described, too.
func TestSchemasNameEveryField(t *testing.T) {
	plan := readRule(t, "plan")
	describes(t, "plan", plan, plan.Defs, reflect.TypeFor[output.Plan]())
	why := readRule(t, "why")
	describes(t, "why", why, why.Defs, reflect.TypeFor[output.Why]())
}

// TestPlanIsPrintedWhole: nothing of a plan is known to the library alone, except for when a loop ends with it, for the
// checks that hold nothing up, which why has, and for the questions, which are among the requests.
func TestPlanIsPrintedWhole(t *testing.T) {
	printed := reflect.TypeFor[output.Plan]()
	for field := range reflect.TypeFor[model.Plan]().Fields() {
		if !field.IsExported() || slices.Contains([]string{"Fault", "Deadline", "Checks", "Questions"}, field.Name) {
			continue
		}
		if _, found := printed.FieldByName(field.Name); !found {
			t.Errorf("plan -o json does not have the plan's %s", field.Name)
		}
	}
}

// describes compares an object's properties with a struct's fields, and what is
// required with what is always printed.
func describes(t *testing.T, at string, r rule, defs map[string]rule, of reflect.Type) {
	t.Helper()
	if r.Ref != "" {
		r = defs[strings.TrimPrefix(r.Ref, "#/$defs/")]
	}
	left := map[string]bool{}
	for name := range r.Properties {
		left[name] = true
	}
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property, found := r.Properties[name]
		if !found {
			t.Errorf("%s: %s is not described", at, name)
			continue
		}
		delete(left, name)
		if always := !strings.Contains(options, "omit"); always != slices.Contains(r.Required, name) {
			t.Errorf("%s: always printing %s is %v, and the schema says otherwise", at, name, always)
		}
		inner := field.Type
		if inner.Kind() == reflect.Slice && property.Items != nil {
			inner, property = inner.Elem(), *property.Items
		}
		if inner.Kind() == reflect.Struct {
			describes(t, at+"."+name, property, defs, inner)
		}
	}
	for name := range left {
		t.Errorf("%s: %s is described and never printed", at, name)
	}
}
