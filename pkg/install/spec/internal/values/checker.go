// Package values says what single values may be: names, addresses, keys,
// certificates, references. What goes together in a cluster is not its business.
package values

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
)

// Checker tells what single values cannot be.
type Checker struct {
	Failed map[string]bool                     // fields whose value could not be taken
	Tell   func(field, message, remedy string) // notes a problem
}

// Report notes a problem with a field, unless the field could not even be read.
func (k *Checker) Report(field, message, remedy string) {
	if !k.IsFailed(field) {
		k.Tell(field, message, remedy)
	}
}

// IsFailed says whether the field, or one around or below it, has a value of
// the wrong type: what else would be said about it is a consequence.
func (k *Checker) IsFailed(field string) bool {
	if k.Failed[field] {
		return true
	}
	for failed := range k.Failed {
		if within(field, failed) || within(failed, field) {
			return true
		}
	}
	return false
}

func within(inner, outer string) bool {
	return len(inner) > len(outer) && strings.HasPrefix(inner, outer) && (inner[len(outer)] == '.' || inner[len(outer)] == '[')
}

// Required reports a field that is empty. It says whether the field is there.
func (k *Checker) Required(field, value, remedy string) bool {
	if value != "" {
		return true
	}
	k.Report(field, "is missing", remedy)
	return false
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// IsLabel says whether text is one part of a DNS name, in lower case.
func IsLabel(text string) bool { return dnsLabel.MatchString(text) }

// IsDomain says whether text is DNS labels joined by dots, in lower case.
func IsDomain(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if !IsLabel(label) {
			return false
		}
	}
	return true
}

// LowerRemedy says what to do about a name that is only wrong in its case.
func LowerRemedy(text string, valid func(string) bool) string {
	if lower := strings.ToLower(text); lower != text && valid(lower) {
		return fmt.Sprintf("write %q", lower)
	}
	return "use lower-case letters, digits and dashes"
}

var repository = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*$`)

// Repository checks a place in a registry.
func (k *Checker) Repository(field, text string) {
	if repository.MatchString(text) {
		return
	}
	remedy := "write registry/repository, without a scheme, a tag and a digest"
	if _, rest, ok := strings.Cut(text, "://"); ok && repository.MatchString(rest) {
		remedy = fmt.Sprintf("write %q", rest)
	}
	k.Report(field, fmt.Sprintf("%q is not a place in a registry", text), remedy)
}

var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// Ignored checks ids of validations, and that the service lets them be ignored.
func (k *Checker) Ignored(field string, ids, never []string) {
	for i, id := range ids {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case !plainName.MatchString(id):
			k.Report(at, fmt.Sprintf("%q cannot be the id of a validation", id), "")
		case slices.Contains(never, id):
			k.Report(at, fmt.Sprintf("the service does not let %s be ignored", id), "")
		}
	}
}

// Listed checks a name that stands in a list once.
func (k *Checker) Listed(field, what, name string, before []string) {
	switch {
	case !plainName.MatchString(name):
		k.Report(field, fmt.Sprintf("%q cannot be the name of %s", name, what), "use lower-case letters, digits and dashes")
	case slices.Contains(before, name):
		k.Report(field, fmt.Sprintf("%s stands here twice", name), "")
	}
}

var labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// IsLabelName says whether text can be the name, or the value, of a Kubernetes label.
func IsLabelName(text string) bool { return labelName.MatchString(text) }

// Labels checks the syntax of Kubernetes labels.
func (k *Checker) Labels(field string, labels map[string]string) {
	for key, value := range labels {
		prefix, name, found := strings.Cut(key, "/")
		if !found {
			prefix, name = "", key
		}
		if !IsLabelName(name) || found && !IsDomain(prefix) {
			k.Report(decode.Join(field, key), fmt.Sprintf("%q cannot be the key of a label", key), "use letters, digits, dashes, dots and underscores, with a DNS domain and a slash before them if wanted")
		}
		if value != "" && !IsLabelName(value) {
			k.Report(decode.Join(field, key), fmt.Sprintf("%q cannot be the value of a label", value), "use at most 63 letters, digits, dashes, dots and underscores")
		}
	}
}

// ownDomain is the domain of the labels that oaictl finds its objects by.
const ownDomain = "oaictl.io/"

// AgentLabels checks labels of objects, among which oaictl has some of its own.
func (k *Checker) AgentLabels(field string, labels map[string]string) {
	k.Labels(field, labels)
	for key := range labels {
		if strings.HasPrefix(key, ownDomain) {
			k.Report(decode.Join(field, key), "is a label by which oaictl finds its objects", "use another key")
		}
	}
}
