package machinecause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Cause is what keeps a Machine from becoming a node.
type Cause struct {
	Object    Ref
	Condition string // that says it; "" where none does
	Reason    string // CamelCase
	Message   string
	Look      model.Advice // at the object itself
	Remedy    model.Advice // "" where there is none but to solve what Message says
	Passes    bool         // the run waits for it, and it passes by itself

	silent bool // it sums up, without a word of why

	who   who
	waits []who // the objects that it waits for: if one of them says why, this is no cause
}

// Of is the object that says it, for people.
func (c *Cause) Of() string { return c.Object.Kind + " " + c.Object.Name }

// OfControlPlane says that it keeps the whole cluster.
func (c *Cause) OfControlPlane() bool { return c.who == theControlPlane }

// who says what an object is to a Machine.
type who int

// In the order in which they wait for each other, as a rule.
const (
	theCluster who = iota
	theControlPlane
	theConfig
	theInfrastructure
	theMachine
	theHost
)

// object is one of the objects of a Machine; u is nil where it is not there.
type object struct {
	who
	Ref

	namespace string
	u         *unstructured.Unstructured
}

// Causes are what keeps the Machine from becoming a node, first the cause that all others wait for: none for a Machine
// that is Ready. hostSays leaves out causes that only wait for the host, for callers that report what blocks the host.
func (m *Machine) Causes(hostSays bool) []Cause {
	if m.ready {
		return nil
	}
	found := search{hostSays: hostSays}
	for i := range m.objects {
		found.causes = append(found.causes, m.objects[i].causes()...)
	}
	if paused := slices.IndexFunc(found.causes, func(c Cause) bool { return c.who == theCluster && c.Reason == reasonPaused }); paused >= 0 {
		return found.causes[paused : paused+1] // other conditions were true before
	}
	causes := slices.DeleteFunc(slices.Clone(found.causes), func(c Cause) bool { return found.isExplained(c, nil) })
	causes = withoutRepeats(causes)
	if hostSays || slices.ContainsFunc(causes, func(c Cause) bool { return !c.silent }) {
		causes = slices.DeleteFunc(causes, func(c Cause) bool { return c.silent })
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		switch {
		case a.Passes == b.Passes:
			return 0
		case b.Passes:
			return -1
		}
		return 1
	})
	return causes
}

// search is all that objects say, before what only waits is left out.
type search struct {
	causes   []Cause
	hostSays bool
}

// isExplained reports whether one of the objects that a cause waits for says why. Objects that the search came through
// do not count: they wait for this one.
func (s *search) isExplained(c Cause, asking []who) bool {
	asking = append(slices.Clip(asking), c.who)
	return slices.ContainsFunc(c.waits, func(w who) bool { return !slices.Contains(asking, w) && s.explains(w, asking) })
}

// explains reports whether an object says why others wait for it: by something of its own, or since it waits for one that
// does.
func (s *search) explains(w who, asking []who) bool {
	if w == theHost {
		return s.hostSays
	}
	return slices.ContainsFunc(s.causes, func(c Cause) bool {
		return c.who == w && (!slices.ContainsFunc(c.waits, s.speaks) || s.isExplained(c, asking))
	})
}

func (s *search) speaks(w who) bool {
	return w == theHost && s.hostSays || slices.ContainsFunc(s.causes, func(c Cause) bool { return c.who == w })
}

const (
	conditionReady     = "Ready"
	conditionAvailable = "Available"
)

const reasonPaused = "Paused"

const annotationPaused = "cluster.x-k8s.io/paused"

// causes are what one object says.
func (o *object) causes() []Cause {
	if o.u == nil {
		return []Cause{o.cause("NotFound", o.Kind+" "+o.Name+" does not exist")}
	}
	if paused, _, _ := unstructured.NestedBool(o.u.Object, "spec", "paused"); paused && o.who == theCluster {
		c := o.cause(reasonPaused, "the Cluster is paused (spec.paused): nothing is done for any of its Machines")
		c.Remedy = model.Advicef("unless it is being moved: kubectl -n %s patch %s %s --type merge -p '{\"spec\":{\"paused\":false}}'",
			o.namespace, o.resource(), listtext.Quoted(o.Name))
		return []Cause{c}
	}
	if _, paused := o.u.GetAnnotations()[annotationPaused]; paused {
		c := o.cause(reasonPaused, "it is paused (annotation "+annotationPaused+"): nothing is done for it")
		c.Remedy = model.Advicef("unless it is needed: kubectl -n %s annotate %s %s %s-", o.namespace, o.resource(), listtext.Quoted(o.Name),
			annotationPaused)
		return []Cause{c}
	}
	conditions := conditionsOf(o.u)
	if len(conditions) == 0 {
		return []Cause{o.cause("NoConditions", "it has no conditions yet: the controller of its kind does not run, or watches other namespaces")}
	}
	if o.who == theInfrastructure && hubapi.IsTrue(conditions, conditionReady) {
		return nil // its other conditions are not its own causes
	}
	conditions = slices.DeleteFunc(conditions, func(c hubapi.Condition) bool { return !o.hinders(c) })
	if o.who != theControlPlane { // the Available of a control plane is no summary of its other conditions
		conditions = withoutSummaries(conditions)
	}
	var all []Cause
	for _, c := range conditions {
		all = append(all, o.causeOf(c))
	}
	return all
}

// resource is the kind as kubectl takes it: the name alone may be that of another group's, as Machine is OpenShift's.
func (o *object) resource() string { return strings.ToLower(o.Kind) + "." + o.Group }

func (o *object) cause(reason, message string) Cause {
	return Cause{
		Object: o.Ref, Reason: reason, Message: message, who: o.who,
		Look: model.Advicef("kubectl -n %s describe %s %s", o.namespace, o.resource(), listtext.Quoted(o.Name)),
	}
}

func (o *object) causeOf(c hubapi.Condition) Cause {
	message := redact.Text(sentence(c.Message))
	cause := o.cause(c.Reason, cmp.Or(message, fmt.Sprintf("%s is %s", c.Type, c.Status)))
	cause.Condition, cause.silent = c.Type, c.Type == conditionReady && message == ""
	cause.waits = slices.DeleteFunc(o.waitsFor(c), func(w who) bool { return w == o.who })
	installing := c.Reason == "ControlPlaneInstalling" && !strings.Contains(message, " ") // its state, and nothing else
	cause.Passes = installing || c.Reason == "ValidationsPending" || beginsWithWaiting(c.Reason) || beginsWithWaiting(message)
	if c.Reason == "HostNotRegistered" {
		cause.Remedy = "see on its console whether it has booted the discovery image, and reaches the service"
	}
	return cause
}

func beginsWithWaiting(text string) bool {
	return strings.HasPrefix(strings.ToLower(text), "waiting")
}

// hinders reports whether a condition may keep a Machine from becoming a node. Of what many Machines share, few do: the
// others sum up Machines, or follow from these.
func (o *object) hinders(c hubapi.Condition) bool {
	switch c.Type {
	case "Deleting", "Updating", "CertificateRequestPending": // which are True of something that is not done
		return c.Status == metav1.ConditionTrue && o.who > theControlPlane
	case "Paused", "UpToDate":
		return false
	}
	switch o.who {
	case theCluster:
		return c.Status != metav1.ConditionTrue && c.Type == "InfrastructureReady"
	case theControlPlane:
		return c.Status != metav1.ConditionTrue && (c.Type == conditionAvailable || c.Type == "ConfigurationAccepted" ||
			c.Type == "MachinesCreated")
	}
	return c.Status != metav1.ConditionTrue
}

// withoutSummaries leaves out the condition that sums the others of an object up, where it only repeats them. One that
// repeats just one of them says that the others follow from that.
func withoutSummaries(all []hubapi.Condition) []hubapi.Condition {
	isSummary := func(c hubapi.Condition) bool { return c.Type == conditionReady || c.Type == conditionAvailable }
	others := slices.DeleteFunc(slices.Clone(all), isSummary)
	if len(others) == 0 {
		return all[:min(1, len(all))]
	}
	said := ""
	for _, c := range others {
		said += sentence(c.Message) + "\n"
	}
	for _, summary := range all {
		if !isSummary(summary) {
			continue
		}
		lines := linesOf(summary.Message)
		for _, c := range others {
			if text := sentence(c.Message); len(lines) > 0 && (sentence(summary.Message) == text || len(lines) == 1 && lines[0] == c.Type+": "+
				text) {
				return []hubapi.Condition{c}
			}
		}
		if summary.Type == conditionReady && slices.ContainsFunc(lines, func(line string) bool { return !repeats(said, line) }) {
			others = append(others, summary)
		}
	}
	return others
}

// linesOf are the sentences of a condition, which Cluster API lists with bullets.
func linesOf(message string) []string {
	var lines []string
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// isHeading reports whether a line is a condition alone, whose lines follow.
func isHeading(line string) bool { return strings.HasSuffix(line, ":") && !strings.Contains(line, " ") }

// sentence is what a condition says, in one line.
func sentence(message string) string { return strings.Join(linesOf(message), partedBy) }

// partedBy is between the sentences of a condition, once they are in one line.
const partedBy = "; "

// repeats reports whether a line was said before, with the condition in front of it or without. A condition alone is in
// front of lines that follow.
func repeats(said, line string) bool {
	_, rest, _ := strings.Cut(line, ": ")
	return strings.Contains(said, line) || rest != "" && strings.Contains(said, rest) || strings.HasSuffix(line, ":")
}

// withoutRepeats leaves out what an object has said before another, or another condition of it: whole conditions, and the
// sentences of those that say something else, too.
func withoutRepeats(causes []Cause) []Cause {
	var kept []Cause
	said := ""
	for _, c := range causes {
		var own []string
		for _, part := range strings.Split(c.Message, partedBy) {
			if part != "" && !isHeading(part) && !isSaid(said, part) {
				own = append(own, part)
			}
		}
		if len(own) == 0 {
			continue
		}
		said += c.Message + "\n"
		c.Message = strings.Join(own, partedBy)
		kept = append(kept, c)
	}
	return kept
}

// isSaid reports whether a sentence was said before, here perhaps behind the condition that says it.
func isSaid(said, sentence string) bool {
	condition, rest, found := strings.Cut(sentence, ": ")
	return strings.Contains(said, sentence) || found && rest != "" && !strings.Contains(condition, " ") && strings.Contains(said, rest)
}

// waiting is how a condition says that it waits for an object, by its reason and message.
type waiting struct {
	says *regexp.Regexp
	on   []who
}

var waitings = sync.OnceValue(func() []waiting {
	return []waiting{
		{regexp.MustCompile(`(?i)^WaitingForClusterInfrastructure|^waiting for the infrastructure of Cluster|` +
			`^Waiting for Cluster status\.initialization\.infrastructureProvisioned`), []who{theCluster}},
		{regexp.MustCompile(`(?i)^WaitingForBootstrap|^waiting for the bootstrap data`), []who{theConfig}},
		{regexp.MustCompile(`(?i)^WaitingFor(AssistedInstaller|InstallComplete)|^Waiting.*control ?plane|^the InfraEnv is not made yet`),
			[]who{theControlPlane}},
		{regexp.MustCompile(`^Waiting for a Node with`), []who{theHost, theConfig, theInfrastructure}},
		// Metal3's provider looks for the node as soon as the machine is provisioned.
		{regexp.MustCompile(`(?i)creating a remote client|retrieving node|could not find node`), []who{theHost, theControlPlane, theConfig}},
		{regexp.MustCompile(`^HostNotRegistered|^Waiting for .* to report spec\.providerID`), []who{theInfrastructure}},
	}
})

// waitsFor are the objects that a condition waits for, or that it repeats.
func (o *object) waitsFor(c hubapi.Condition) []who {
	var repeated []who
	switch {
	case o.who == theMachine && c.Type == "BootstrapConfigReady":
		repeated = []who{theConfig}
	case o.who == theMachine && c.Type == "InfrastructureReady":
		repeated = []who{theInfrastructure}
	case slices.Contains([]string{"AgentSpecSynced", "AgentValidated", "AgentRequirementsMet", "Installed"}, c.Type) &&
		o.Kind == kindAgentMachine:
		return []who{theHost}
	}
	for _, text := range []string{c.Reason, c.Message} {
		for _, w := range waitings() {
			if w.says.MatchString(text) {
				return append(repeated, w.on...)
			}
		}
	}
	if c.Type == "HostValidated" && c.Reason != "HostLeftOut" && c.Reason != "InstallationFailed" {
		return []who{theHost}
	}
	return repeated
}
