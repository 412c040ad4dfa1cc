package catalogue

import (
	"slices"
	"strings"
	"sync"
)

// indexes are those of what is embedded, each made when it is first asked for. What is
// wrong with a file is a mistake in the program: the tests read every entry.
var indexes = sync.OnceValue(func() map[Kind]func() *index {
	made := map[Kind]func() *index{}
	for _, kind := range Kinds() {
		made[kind] = sync.OnceValue(func() *index {
			x, err := newIndex(texts, kind)
			if err != nil {
				panic("catalogue: " + err.Error())
			}
			return x
		})
	}
	return made
})

// of is the index of a kind, an empty one for what is no kind.
func of(kind Kind) *index {
	if made, known := indexes()[kind]; known {
		return made()
	}
	return &index{}
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
	for _, r := range of(kind).byName[plain(rest)] {
		if !qualified || r.ref.Subject == Subject(strings.ToLower(subject)) {
			found = append(found, r.entry().explanation())
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
func All(kind Kind) []Entry {
	var all []Entry
	for _, r := range of(kind).all {
		all = append(all, r.entry().explanation())
	}
	return all
}

// NamesOf are the names of a kind's entries, each once.
func NamesOf(kind Kind) []string {
	var names []string
	for _, r := range of(kind).all {
		names = append(names, r.ref.ID)
	}
	return slices.Compact(names)
}

// exactly is the entry of a kind with exactly this subject and name.
func exactly[E explained](kind Kind, ref Ref) (E, bool) {
	r, ok := of(kind).byRef[ref]
	if !ok {
		var none E
		return none, false
	}
	e, ok := r.entry().(E)
	return e, ok
}

// Validation explains the validation of a host or a cluster with exactly this
// id.
func Validation(subject Subject, id string) (ValidationEntry, bool) {
	v, ok := exactly[ValidationEntry](KindValidation, Ref{subject, id})
	v.ConsequenceOf = slices.Clone(v.ConsequenceOf)
	return v, ok
}

// ClusterState explains a cluster's status, as in the field status.
func ClusterState(status string) (StateEntry, bool) {
	return exactly[StateEntry](KindState, Ref{SubjectCluster, status})
}

// HostState explains a host's status, as in the field status.
func HostState(status string) (StateEntry, bool) {
	return exactly[StateEntry](KindState, Ref{SubjectHost, status})
}

// Stage explains a stage of a host's installation, as in
// progress.current_stage.
func Stage(name string) (StageEntry, bool) { return stage(SubjectHost, name) }

// FinalizingStage explains a stage of a cluster's finalizing, as in
// progress.finalizing_stage.
func FinalizingStage(name string) (StageEntry, bool) { return stage(SubjectCluster, name) }

func stage(subject Subject, name string) (StageEntry, bool) {
	s, ok := exactly[StageEntry](KindStage, Ref{subject, name})
	s.Paths = slices.Clone(s.Paths)
	return s, ok
}

// Event explains an event by its name.
func Event(name string) (EventEntry, bool) {
	for _, subject := range []Subject{SubjectCluster, SubjectHost, SubjectInfraEnv} {
		if e, ok := exactly[EventEntry](KindEvent, Ref{subject, name}); ok {
			return e, true
		}
	}
	return EventEntry{}, false
}
