package model

import (
	"slices"
)

// The statuses of a validation. A suppressed one is not printed.
const (
	Passed   = "success"
	Hidden   = "success-suppress-output"
	Failed   = "failure"
	Pending  = "pending"
	Errored  = "error"
	disabled = "disabled"
)

// Check is one validation's outcome.
type Check struct {
	Category string `json:"-"`
	ID       string `json:"id"`
	Status   string `json:"status"`
	Message  string `json:"message"`
}

// Checks are one object's validations; they are printed anew only when an outcome has changed.
type Checks struct {
	List []Check
	Text string
}

// Failure is a check that fails now, and did not before.
type Failure struct {
	Check
	succeeded bool // before
}

// How says what became of the check.
func (f Failure) How() string {
	if f.succeeded {
		return "that used to succeed is now failing"
	}
	return "failed"
}

// Set keeps new outcomes and tells which ids got worse and which recovered.
func (c *Checks) Set(list []Check) (broken []Failure, fixed []Check) {
	if slices.Equal(c.List, list) {
		return nil, nil
	}
	before := make(map[string]string, len(c.List))
	for _, o := range c.List {
		before[o.ID] = o.Status
	}
	for _, o := range list {
		was, known := before[o.ID]
		switch {
		case !known || was == o.Status:
		case o.Status == Failed:
			broken = append(broken, Failure{o, was == Passed})
		case was == Failed && o.Status == Passed:
			fixed = append(fixed, o)
		}
	}
	c.List, c.Text = list, print(list)
	return broken, fixed
}

// print is validations_info: the categories in alphabetical order, the outcomes in the order given.
func print(list []Check) string {
	groups := map[string][]Check{}
	for _, o := range list {
		if o.Status != Hidden {
			groups[o.Category] = append(groups[o.Category], o)
		}
	}
	return InString(groups)
}

// Status is the outcome of one validation; empty if it was not evaluated.
func (c *Checks) Status(id string) string {
	for i := range c.List {
		if c.List[i].ID == id {
			return c.List[i].Status
		}
	}
	return ""
}

// Good tells an outcome that hinders nothing.
func Good(status string) bool {
	return status == Passed || status == Hidden || status == disabled || status == ""
}

// Failures lists the messages of what fails, sorted. What could not be judged is none, though it hinders.
func (c *Checks) Failures() []string {
	var messages []string
	for _, o := range c.List {
		if o.Status == Failed {
			messages = append(messages, o.Message)
		}
	}
	slices.Sort(messages)
	return messages
}
