package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// index finds entries by name. It is built once and never changed.
type index struct {
	validations map[Ref]ValidationEntry
	states      map[Ref]StateEntry
	stages      map[Ref]StageEntry
	events      map[string]EventEntry
	all         map[Kind][]Entry
	byName      map[Kind]map[string][]Entry
}

// loaded builds the index at the first look-up: a constant, too large to be
// built before somebody asks for it.
var loaded = sync.OnceValue(load)

func load() *index {
	x := &index{
		validations: map[Ref]ValidationEntry{},
		states:      map[Ref]StateEntry{},
		stages:      map[Ref]StageEntry{},
		events:      map[string]EventEntry{},
		all:         map[Kind][]Entry{},
		byName:      map[Kind]map[string][]Entry{},
	}
	for _, v := range validations() {
		x.validations[Ref{v.Subject, v.Name}] = v
		x.all[KindValidation] = append(x.all[KindValidation], v.Entry)
	}
	for _, s := range states() {
		x.states[Ref{s.Subject, s.Name}] = s
		x.all[KindState] = append(x.all[KindState], s.Entry)
	}
	for _, s := range stages() {
		x.stages[Ref{s.Subject, s.Name}] = s
		x.all[KindStage] = append(x.all[KindStage], s.Entry)
	}
	for _, e := range events() {
		x.events[e.Name] = e
		x.all[KindEvent] = append(x.all[KindEvent], e.Entry)
	}
	for kind, entries := range x.all {
		slices.SortFunc(entries, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), -cmp.Compare(a.Subject, b.Subject))
		})
		x.byName[kind] = map[string][]Entry{}
		for _, e := range entries {
			x.byName[kind][plain(e.Name)] = append(x.byName[kind][plain(e.Name)], e)
		}
	}
	return x
}

// plain is a name without what people vary: case, blanks, dashes, underscores.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', ' ':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Find returns the entries of that kind and name, the host's before the
// cluster's: some ids, statuses and stages belong to both. The name may be
// qualified ("cluster/insufficient"), and is found whatever its case and
// whether its words are joined by blanks, dashes or underscores.
func Find(kind Kind, name string) []Entry {
	subject, rest, qualified := strings.Cut(name, "/")
	if !qualified {
		rest = name
	}
	var found []Entry
	for _, e := range loaded().byName[kind][plain(rest)] {
		if !qualified || e.Subject == Subject(strings.ToLower(subject)) {
			found = append(found, e)
		}
	}
	return found
}

// Lookup returns the first of the entries that Find finds.
func Lookup(kind Kind, name string) (Entry, bool) {
	found := Find(kind, name)
	if len(found) == 0 {
		return Entry{}, false
	}
	return found[0], true
}

// All returns the entries of a kind, by name, the host's before the cluster's.
func All(kind Kind) []Entry { return slices.Clone(loaded().all[kind]) }

// Validation explains the validation of a host or a cluster with exactly this
// id.
func Validation(subject Subject, id string) (ValidationEntry, bool) {
	v, ok := loaded().validations[Ref{subject, id}]
	v.ConsequenceOf = slices.Clone(v.ConsequenceOf)
	return v, ok
}

// ClusterState explains a cluster's status, as in the field status.
func ClusterState(status string) (StateEntry, bool) {
	s, ok := loaded().states[Ref{SubjectCluster, status}]
	return s, ok
}

// HostState explains a host's status, as in the field status.
func HostState(status string) (StateEntry, bool) {
	s, ok := loaded().states[Ref{SubjectHost, status}]
	return s, ok
}

// Stage explains a stage of a host's installation, as in
// progress.current_stage.
func Stage(name string) (StageEntry, bool) { return stage(SubjectHost, name) }

// FinalizingStage explains a stage of a cluster's finalizing, as in
// progress.finalizing_stage.
func FinalizingStage(name string) (StageEntry, bool) { return stage(SubjectCluster, name) }

func stage(subject Subject, name string) (StageEntry, bool) {
	s, ok := loaded().stages[Ref{subject, name}]
	s.Paths = slices.Clone(s.Paths)
	return s, ok
}

// Event explains an event by its name.
func Event(name string) (EventEntry, bool) {
	e, ok := loaded().events[name]
	return e, ok
}
