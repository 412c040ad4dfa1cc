// Package validate has the validations of clusters and hosts, and their inputs: the requirements of roles, the
// networks of hosts, and the connectivity between hosts. It reads the model and writes no event.
package validate

import (
	_ "embed" // rules.yaml
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

//go:embed rules.yaml
var rulesText []byte

// rule is one validation; rules.yaml says how it is read.
type rule struct {
	ID       string    `json:"id"`
	Category string    `json:"category"`
	When     []string  `json:"when"`
	Verdicts []verdict `json:"verdicts"`
}

type verdict struct {
	When []string `json:"when"`
	Is   string   `json:"is"`
	Says string   `json:"says"`
	With []string `json:"with"`
}

// need is what an operator needs; what is judged besides is only where the operator is asked for.
type need struct {
	Verdicts []verdict `json:"verdicts"`
	Besides  []rule    `json:"besides"`
}

type ruleTable struct {
	Cluster          []rule          `json:"cluster"`
	ClusterOperators map[string]need `json:"clusterOperators"`
	Host             []rule          `json:"host"`
	HostOperators    map[string]need `json:"hostOperators"`
}

var rules = sync.OnceValue(func() ruleTable {
	var t ruleTable
	if err := yaml.UnmarshalStrict(rulesText, &t); err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return t
})

// subject is what rules can ask about an object of a kind.
type subject[E any] struct {
	facts map[string]func(E) bool
	// values stand in texts; as a condition one holds that is not empty.
	values map[string]func(E) any
	// computed are the validations that are worked out in Go, by their ids.
	computed map[string]func(E) (status, message string)
}

func (s subject[E]) holds(e E, conditions []string) bool {
	for _, c := range conditions {
		name, negated := strings.CutPrefix(c, "not ")
		holds := false
		if fact := s.facts[name]; fact != nil {
			holds = fact(e)
		} else {
			holds = s.values[name](e) != ""
		}
		if holds == negated {
			return false
		}
	}
	return true
}

func (s subject[E]) judge(e E, list []rule) []model.Check {
	checks := make([]model.Check, 0, len(list))
	for _, r := range list {
		if s.holds(e, r.When) {
			status, message := s.outcome(e, r)
			checks = append(checks, model.Check{Category: r.Category, ID: r.ID, Status: status, Message: message})
		}
	}
	return checks
}

func (s subject[E]) outcome(e E, r rule) (status, message string) {
	i := slices.IndexFunc(r.Verdicts, func(v verdict) bool { return s.holds(e, v.When) })
	if i < 0 {
		return s.computed[r.ID](e)
	}
	v := r.Verdicts[i]
	args := make([]any, 0, len(v.With))
	for _, name := range v.With {
		args = append(args, s.values[name](e))
	}
	if len(args) == 0 {
		return v.Is, v.Says
	}
	return v.Is, fmt.Sprintf(v.Says, args...)
}

// OperatorCheck pairs a validation's id with the name that its message uses.
type OperatorCheck struct{ ID, Name string }

// Operators lists the operators' validations in printing order.
func Operators() []OperatorCheck {
	var list []OperatorCheck
	for _, n := range versions.Operators() {
		id := n
		if n == "numaresources" {
			id = "numa-resources"
		}
		list = append(list, OperatorCheck{id + "-requirements-satisfied", n})
	}
	return list
}
