package diagnose

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/internal/catalogue"
)

// sort orders a report: what only the file cures first, since nothing else
// will help, then the cluster before its hosts, then by category and name.
func (r *Report) sort() {
	for _, causes := range [][]Cause{r.Causes, r.Waits, r.Warnings} {
		slices.SortFunc(causes, func(a, b Cause) int {
			return cmp.Or(
				cmp.Compare(passRank(a.Pass), passRank(b.Pass)),
				cmp.Compare(cureRank(a.Cure), cureRank(b.Cure)),
				cmp.Compare(a.Subject, b.Subject), // the cluster's before the host's
				cmp.Compare(categoryRank(a.Category), categoryRank(b.Category)),
				cmp.Compare(a.ID, b.ID),
				slices.Compare(a.Hosts, b.Hosts), // of hosts where it has just begun, and of the others
			)
		})
	}
}

func passRank(p Pass) int {
	return slices.Index([]Pass{"", PassHosts, PassService, PassTransient, PassPending}, p)
}

func cureRank(c catalogue.Cure) int {
	return slices.Index([]catalogue.Cure{catalogue.CureFile, catalogue.CureMachine, catalogue.CureWait, ""}, c)
}

// categoryRank follows the way of an installation: what was asked for, the
// network, the machines, what comes on top. Nothing helps before a hub's objects
// are taken; unknown categories come before even that.
func categoryRank(category string) int {
	return slices.Index([]string{catalogue.CategoryKubeAPI, "configuration", "network", "hardware", "hosts-data", "operators"}, category)
}

func byRef(a, b catalogue.Ref) int {
	return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.ID, b.ID))
}

// byHosts puts the message of most hosts first.
func byHosts(a, b Message) int {
	return cmp.Or(-cmp.Compare(len(a.Hosts), len(b.Hosts)), slices.Compare(a.Hosts, b.Hosts), cmp.Compare(a.Text, b.Text))
}

// sorted orders host names as people count: worker-2 before worker-10.
func sorted(names []string) []string {
	slices.SortFunc(names, natural)
	return slices.Compact(names)
}

// natural compares texts, with runs of digits as the numbers that they are.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var left, right string
			left, x = digits(x)
			right, y = digits(y)
			if c := cmp.Or(cmp.Compare(len(left), len(right)), cmp.Compare(left, right)); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits cuts the number, without leading zeros, off the beginning of a text.
func digits(s string) (number, rest string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	start := 0
	for start < end-1 && s[start] == '0' {
		start++
	}
	return s[start:end], s[end:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
