package service

import (
	"encoding/json"
	"slices"
)

// The statuses of a validation. A suppressed one is not printed.
const (
	passed   = "success"
	hidden   = "success-suppress-output"
	failed   = "failure"
	pending  = "pending"
	errored  = "error"
	disabled = "disabled"
)

// The categories of validations.
const (
	catConfiguration = "configuration"
	catHardware      = "hardware"
	catHostsData     = "hosts-data"
	catNetwork       = "network"
	catOperators     = "operators"
)

// check is one validation's outcome.
type check struct {
	category string
	ID       string `json:"id"`
	Status   string `json:"status"`
	Message  string `json:"message"`
}

// checks are the validations of one object, with their printed form: it is made
// anew only when an outcome has changed, because most ticks change nothing.
type checks struct {
	list []check
	text string
}

// failure is a check that fails now, and did not before.
type failure struct {
	check
	succeeded bool // before
}

// how says what became of the check.
func (f failure) how() string {
	if f.succeeded {
		return "that used to succeed is now failing"
	}
	return "failed"
}

// set keeps new outcomes and tells which ids got worse and which recovered.
func (c *checks) set(list []check) (broken []failure, fixed []check) {
	if slices.Equal(c.list, list) {
		return nil, nil
	}
	before := make(map[string]string, len(c.list))
	for _, o := range c.list {
		before[o.ID] = o.Status
	}
	for _, o := range list {
		was, known := before[o.ID]
		switch {
		case !known || was == o.Status:
		case o.Status == failed:
			broken = append(broken, failure{o, was == passed})
		case was == failed && o.Status == passed:
			fixed = append(fixed, o)
		}
	}
	c.list, c.text = list, print(list)
	return broken, fixed
}

// print is validations_info: the categories in alphabetical order, the outcomes
// in the order given.
func print(list []check) string {
	groups := map[string][]check{}
	for _, o := range list {
		if o.Status != hidden {
			groups[o.category] = append(groups[o.category], o)
		}
	}
	data, err := json.Marshal(groups)
	if err != nil {
		return ""
	}
	return string(data)
}

// status is the outcome of one validation; empty if it was not evaluated.
func (c *checks) status(id string) string {
	for i := range c.list {
		if c.list[i].ID == id {
			return c.list[i].Status
		}
	}
	return ""
}

// good tells an outcome that hinders nothing.
func good(status string) bool {
	return status == passed || status == hidden || status == disabled || status == ""
}

// failures lists the messages of what fails, sorted, as a state's info quotes
// them. What could not be judged is no failure there, though it hinders.
func (c *checks) failures() []string {
	var messages []string
	for _, o := range c.list {
		if o.Status == failed {
			messages = append(messages, o.Message)
		}
	}
	slices.Sort(messages)
	return messages
}

// report collects outcomes during an evaluation.
type report struct {
	list []check
}

// adder takes a validation's id and then its outcome, so that a judgement can be
// handed on as it is returned.
type adder func(id string) func(status, message string)

// in adds to one category.
func (r *report) in(category string) adder {
	return func(id string) func(status, message string) {
		return func(status, message string) { r.add(category, id, status, message) }
	}
}

func (r *report) add(category, id, status, message string) {
	r.list = append(r.list, check{category, id, status, message})
}

// operatorCheck pairs a validation's id with the name that its message uses.
type operatorCheck struct{ id, name string }

// operatorChecks lists the operators' validations in printing order.
func operatorChecks() []operatorCheck {
	names := []string{"amd-gpu", "authorino", "cluster-observability", "cnv", "fence-agents-remediation", "kmm",
		"kube-descheduler", "loki", "lso", "lvm", "mce", "metallb", "mtv", "nmstate", "node-feature-discovery",
		"node-healthcheck", "node-maintenance", "numaresources", "nvidia-gpu", "oadp", "odf", "openshift-ai",
		"openshift-logging", "osc", "pipelines", "self-node-remediation", "serverless", "servicemesh"}
	list := make([]operatorCheck, 0, len(names))
	for _, n := range names {
		id := n
		if n == "numaresources" {
			id = "numa-resources"
		}
		list = append(list, operatorCheck{id + "-requirements-satisfied", n})
	}
	return list
}
