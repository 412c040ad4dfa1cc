package catalogue

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/advice"
)

// explained is an entry of any kind.
type explained interface{ explanation() Entry }

func (e Entry) explanation() Entry { return e }

// entry reads what all kinds of entries have in common.
func (f *fields) entry(kind Kind, ref Ref) Entry {
	f.require("title", "meaning")
	return Entry{
		Kind: kind, Subject: ref.Subject, Name: ref.ID,
		Title: f.text("title"), Meaning: f.text("meaning"), Cause: f.text("cause"), Check: advice.Text(f.text("check")),
		Remedy: advice.Text(f.text("remedy")), Field: f.text("field"),
	}
}

func (f *fields) validation(ref Ref) explained {
	f.require("cause", "check", "remedy", "category", "blocking", "ignorable", "cure")
	v := ValidationEntry{
		Entry:    f.entry(KindValidation, ref),
		Category: f.text("category"),
		Blocking: f.flag("blocking"), Ignorable: f.flag("ignorable"),
		Cure:     Cure(f.oneOf("cure", string(CureFile), string(CureMachine), string(CureWait))),
		Debounce: f.count("debounce"),
	}
	for _, name := range f.list("consequenceOf") {
		subject, id, _ := strings.Cut(name, "/")
		v.ConsequenceOf = append(v.ConsequenceOf, Ref{Subject(subject), id})
	}
	return v
}

func (f *fields) state(ref Ref) explained {
	f.require("neutral")
	return StateEntry{
		Entry:   f.entry(KindState, ref),
		Neutral: f.text("neutral"), Terminal: f.flag("terminal"), NeedsUser: f.flag("needsUser"),
	}
}

// stage reads a stage and finds its places: in its file, and on the paths.
func (f *fields) stage(ref Ref, byPath func() (map[Path][]string, error)) explained {
	s := StageEntry{
		Entry: f.entry(KindStage, ref), Order: f.part.place,
		Budget: f.duration("budget"), Hard: f.duration("hard"), SingleNodeBudget: f.duration("singleNodeBudget"),
		Usual: f.duration("usual"),
	}
	if ref.ID == "Failed" { // which may follow any other
		s.Order = 0
	}
	stages, err := byPath()
	if err != nil {
		f.wrong = append(f.wrong, err)
	}
	for _, path := range paths() {
		if ref.Subject == SubjectHost && slices.Contains(stages[path], ref.ID) {
			s.Paths = append(s.Paths, path)
		}
	}
	return s
}

func (f *fields) event(ref Ref) explained {
	f.require("severity", "watch")
	return EventEntry{
		Entry: f.entry(KindEvent, ref),
		Severity: Severity(f.oneOf("severity",
			string(SeverityInfo), string(SeverityWarning), string(SeverityError), string(SeverityCritical))),
		Watch: advice.Text(f.text("watch")),
	}
}
