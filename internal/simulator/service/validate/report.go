// Package validate judges clusters and hosts as the service does: its
// validations, and what they rest on, which are the needs of roles, the networks
// of hosts, and who reaches whom. It looks at the model and writes no event.
package validate

import (
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// The categories of validations.
const (
	catConfiguration = "configuration"
	catHardware      = "hardware"
	catHostsData     = "hosts-data"
	catNetwork       = "network"
	catOperators     = "operators"
)

type report struct {
	list []model.Check
}

// adder takes a validation's id and then its outcome, as judgements return it.
type adder func(id string) func(status, message string)

func (r *report) in(category string) adder {
	return func(id string) func(status, message string) {
		return func(status, message string) { r.add(category, id, status, message) }
	}
}

func (r *report) add(category, id, status, message string) {
	r.list = append(r.list, model.Check{Category: category, ID: id, Status: status, Message: message})
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
