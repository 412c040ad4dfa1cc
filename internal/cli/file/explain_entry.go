package file

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/catalogue"
	"github.com/oaictl/oaictl/internal/cli/printer"
)

// fact is a line of an explanation: its name and its value.
type fact = [2]string

// detailOf is all that the catalogue knows of an entry beside its explanation:
// as data, and in words.
func detailOf(entry catalogue.Entry) (detail any, facts []fact) {
	switch entry.Kind {
	case catalogue.KindValidation:
		if v, ok := catalogue.Validation(entry.Subject, entry.Name); ok {
			return v, validationFacts(v)
		}
	case catalogue.KindState:
		find := catalogue.HostState
		if entry.Subject == catalogue.SubjectCluster {
			find = catalogue.ClusterState
		}
		if s, ok := find(entry.Name); ok {
			return s, stateFacts(s)
		}
	case catalogue.KindStage:
		find := catalogue.Stage
		if entry.Subject == catalogue.SubjectCluster {
			find = catalogue.FinalizingStage
		}
		if s, ok := find(entry.Name); ok {
			return s, stageFacts(s)
		}
	case catalogue.KindEvent:
		if e, ok := catalogue.Event(entry.Name); ok {
			return e, []fact{{"SEVERITY", string(e.Severity)}, {"WATCH", e.Watch.String()}}
		}
	}
	return entry, nil
}

func validationFacts(v catalogue.ValidationEntry) []fact {
	blocks := "no, it only warns"
	if v.Blocking {
		blocks = "yes"
	}
	ignore := "no"
	if v.Ignorable {
		ignore = "yes, with spec.ignoreValidations"
	}
	cure := map[catalogue.Cure]string{
		catalogue.CureFile:    "a changed cluster.yaml",
		catalogue.CureMachine: "work at the machine, its network or the services around it",
		catalogue.CureWait:    "time: it passes by itself",
	}[v.Cure]
	var after []string
	for _, ref := range v.ConsequenceOf {
		if name := ref.String(); !slices.Contains(after, name) && ref.ID != catalogue.AnyBlocking {
			after = append(after, name)
		}
	}
	return []fact{
		{"CATEGORY", v.Category}, {"BLOCKS", blocks}, {"CAN BE IGNORED", ignore}, {"CURED BY", cure},
		{"FOLLOWS FROM", strings.Join(after, ", ")},
	}
}

func stateFacts(s catalogue.StateEntry) []fact {
	facts := []fact{{"NEUTRAL WORD", s.Neutral}}
	if s.Terminal {
		facts = append(facts, fact{"FINAL", "yes, nothing follows unless asked for"})
	}
	if s.NeedsUser {
		facts = append(facts, fact{"NEEDS YOU", "yes, somebody has to act at a machine"})
	}
	return facts
}

func stageFacts(s catalogue.StageEntry) []fact {
	paths := make([]string, 0, len(s.Paths))
	for _, path := range s.Paths {
		paths = append(paths, string(path))
	}
	facts := []fact{{"PATHS", strings.Join(paths, ", ")}}
	if s.Usual > 0 {
		facts = append(facts, fact{"USUALLY TAKES", printer.Age(s.Usual)})
	}
	if s.Budget > 0 {
		text := printer.Age(s.Budget)
		if s.SingleNodeBudget > 0 {
			text += " (single node: " + printer.Age(s.SingleNodeBudget) + ")"
		}
		facts = append(facts, fact{"TIMES OUT AFTER", text})
	}
	if s.Hard > 0 {
		facts = append(facts, fact{"GIVEN UP AFTER", printer.Age(s.Hard)})
	}
	return facts
}

// entryText is an explanation for a person.
func entryText(entry catalogue.Entry, facts []fact) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s: %s\n", entry.Subject, entry.Kind, entry.Name, entry.Title)
	for _, f := range facts {
		if f[1] != "" {
			fmt.Fprintf(&text, "  %-16s %s\n", f[0]+":", f[1])
		}
	}
	if entry.Field != "" {
		fmt.Fprintf(&text, "  %-16s %s\n", "FIELD:", entry.Field)
	}
	for _, part := range []fact{{"", entry.Meaning}, {"Usual cause", entry.Cause}, {"Check", entry.Check.String()}, {"Do", entry.Remedy.String()}} {
		switch {
		case part[1] == "":
		case part[0] == "":
			text.WriteString("\n" + wrapped(part[1], "  ") + "\n")
		default:
			text.WriteString("\n  " + part[0] + ":\n" + wrapped(part[1], "    ") + "\n")
		}
	}
	return text.String()
}

// wrapped breaks a text into lines of at most 78 characters, each indented.
func wrapped(text, indent string) string {
	const widest = 78
	var lines []string
	line := indent
	for _, word := range strings.Fields(text) {
		switch {
		case line == indent:
			line += word
		case len([]rune(line))+1+len([]rune(word)) > widest:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}
