package validate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"sigs.k8s.io/yaml"
)

// TestRules reads rules.yaml strictly: every name in it is known, every name that is known
// is in it, and every validation always has an outcome.
func TestRules(t *testing.T) {
	if err := yaml.UnmarshalStrict(rulesText, &ruleTable{}); err != nil {
		t.Fatal(err)
	}
	checkRules(t, slices.Concat(rules().Cluster, operatorRules(t, rules().ClusterOperators)), clusterSubject())
	checkRules(t, slices.Concat(rules().Host, operatorRules(t, rules().HostOperators)), hostSubject())
}

func operatorRules(t *testing.T, needs map[string]need) (list []rule) {
	t.Helper()
	for name, n := range needs {
		if !slices.Contains(versions.Operators(), name) {
			t.Errorf("no operator %q is known", name)
		}
		list = append(append(list, rule{ID: name, Verdicts: n.Verdicts}), n.Besides...)
	}
	return list
}

func checkRules[E any](t *testing.T, list []rule, s subject[E]) {
	t.Helper()
	statuses := []string{model.Passed, model.Hidden, model.Failed, model.Pending, model.Errored}
	facts, values := map[string]bool{}, map[string]bool{}
	condition := func(id, name string) {
		name = strings.TrimPrefix(name, "not ")
		if s.facts[name] == nil && s.values[name] == nil {
			t.Errorf("%s: no condition %q is known", id, name)
		}
		facts[name], values[name] = true, values[name] || s.facts[name] == nil
	}
	for name := range s.facts {
		if s.values[name] != nil {
			t.Errorf("%q is a condition and a value", name)
		}
	}
	var computed []string
	for _, r := range list {
		for _, name := range r.When {
			condition(r.ID, name)
		}
		for i, v := range r.Verdicts {
			for _, name := range v.When {
				condition(r.ID, name)
			}
			for _, name := range v.With {
				values[name] = true
				if s.values[name] == nil {
					t.Errorf("%s: no value %q is known", r.ID, name)
				}
			}
			if verbs := strings.Count(strings.ReplaceAll(v.Says, "%%", ""), "%"); verbs != len(v.With) {
				t.Errorf("%s: %d values for %q", r.ID, len(v.With), v.Says)
			}
			if !slices.Contains(statuses, v.Is) || len(v.When) == 0 && i < len(r.Verdicts)-1 {
				t.Errorf("%s: verdict %d has an unknown status, or hides those that come after it", r.ID, i)
			}
		}
		if n := len(r.Verdicts); n == 0 || len(r.Verdicts[n-1].When) > 0 {
			computed = append(computed, r.ID)
		}
	}
	slices.Sort(computed)
	if known := slices.Sorted(maps.Keys(s.computed)); !slices.Equal(computed, known) {
		t.Errorf("worked out in Go are %v, and in the rules %v are", known, computed)
	}
	for name := range s.facts {
		if !facts[name] {
			t.Errorf("no rule asks for the condition %q", name)
		}
	}
	for name := range s.values {
		if !values[name] {
			t.Errorf("no rule asks for the value %q", name)
		}
	}
}
