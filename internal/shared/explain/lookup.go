// Package explain explains, offline, what an assisted-service says: every
// validation of hosts and clusters, every status, install stage, finalizing
// stage and event that it is known to send; and every state that oaictl shows.
//
// The names are the service's own (its REST API, as of August 2026), except for the states that oaictl shows. The texts are
// written for the person who has to do something about it. They stand in the YAML files of this folder, which README.md
// describes, and are embedded. The files are indexed at the first look-up, and an entry is read when it is asked for.
package explain

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/spelling"
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

// Find returns the entries of that kind and name, the host's before the cluster's: some ids, statuses and stages belong
// to both. The name may be qualified ("cluster/insufficient"), and is found in any case, with its words joined by
// blanks, dashes or underscores. Those with exactly that name come first.
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
	// Installed is a state of oaictl, and installed a status of the service.
	slices.SortStableFunc(found, func(a, b Entry) int { return cmp.Compare(differs(a, rest), differs(b, rest)) })
	return found
}

// differs is 0 for an entry with exactly that name.
func differs(e Entry, name string) int {
	if e.Name == name {
		return 0
	}
	return 1
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

// ImageState explains the state of a discovery image, as oaictl shows it.
func ImageState(state string) (StateEntry, bool) {
	return exactly[StateEntry](KindState, Ref{SubjectInfraEnv, state})
}

// StatusesOf are the statuses of the service that oaictl shows as a state.
func StatusesOf(state StateEntry) []string {
	var statuses []string
	for _, r := range of(KindState).all {
		s, is := r.entry().(StateEntry)
		if is && r.ref.Subject == state.Subject && s.Neutral == state.Name && !s.Own() {
			statuses = append(statuses, s.Name)
		}
	}
	return statuses
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

// suggestions is the most that Suggest returns.
const suggestions = 5

// Suggest returns the names of that kind that an unknown name may have been
// meant to be, the likeliest first: names within a few letters of it, then
// names that contain it. At most five, none for the empty name.
func Suggest(kind Kind, name string) []string {
	if _, rest, qualified := strings.Cut(name, "/"); qualified {
		name = rest
	}
	wanted := plain(name)
	if wanted == "" {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var candidates []candidate
	limit := max(2, len(wanted)/3)
	for _, r := range of(kind).all {
		distance := spelling.Distance(wanted, plain(r.ref.ID))
		if distance > limit {
			if len(wanted) < 3 || !strings.Contains(plain(r.ref.ID), wanted) {
				continue
			}
			distance += limit // a part of a name is a worse guess than a slip of the finger
		}
		if len(candidates) > 0 && candidates[len(candidates)-1].name == r.ref.ID {
			continue // of host and cluster
		}
		candidates = append(candidates, candidate{r.ref.ID, distance})
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		near := func(c candidate) int { return spelling.Distance(name, c.name) } // by its letter case, too
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(near(a), near(b)), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range candidates[:min(len(candidates), suggestions)] {
		names = append(names, c.name)
	}
	return names
}

// Path is a way through an installation: the stages that a host goes through
// depend on its part in it.
type Path string

// The paths of hosts; paths.yaml has their stages. The bootstrap host is the
// control plane host that the others start from.
const (
	PathBootstrap    Path = "bootstrap"
	PathControlPlane Path = "control-plane" // and arbiters
	PathWorker       Path = "worker"
	PathSingleNode   Path = "single-node"
	PathAdded        Path = "added" // to a running cluster, as far as the REST service follows it
)

// paths are all paths.
func paths() []Path {
	return []Path{PathBootstrap, PathControlPlane, PathWorker, PathSingleNode, PathAdded}
}

// readPaths reads the stages of each path.
func (x *index) readPaths(files fs.FS) (map[Path][]string, error) {
	const file = "paths.yaml"
	parts, err := partsOf(files, file)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1 {
		return nil, fmt.Errorf("%s: has %d keys where one, paths, should stand", file, len(parts))
	}
	f, err := parts[0].fields()
	if err != nil {
		return nil, err
	}
	found := map[Path][]string{}
	for _, path := range paths() {
		f.require(string(path))
		found[path] = f.list(string(path))
		for _, name := range found[path] {
			if x.byRef[Ref{SubjectHost, name}] == nil {
				f.wrong = append(f.wrong, fmt.Errorf("%s: %s names the stage %q, which there is not", file, path, name))
			}
		}
	}
	return found, f.done()
}

// operatorChecks are the two checks of each operator.
func operatorChecks(files fs.FS) ([]part, error) {
	operators, err := partsOf(files, "operators/operators.yaml")
	if err != nil {
		return nil, err
	}
	checks, err := partsOf(files, "operators/checks.yaml")
	if err != nil {
		return nil, err
	}
	var all []part
	for _, operator := range operators {
		words := sync.OnceValues(func() (*strings.Replacer, error) { return wordsOf(operator) })
		for _, check := range checks {
			check.key = strings.ReplaceAll(check.key, "<name>", operator.key)
			check.words = words
			all = append(all, check)
		}
	}
	return all, nil
}

// wordsOf are what an operator fills the texts of its two checks with.
func wordsOf(operator part) (*strings.Replacer, error) {
	f, err := operator.fields()
	if err != nil {
		return nil, err
	}
	f.require("product", "host", "cluster", "remedy", "cure")
	listed := f.text("listed")
	if listed == "" {
		listed = operator.key
	}
	words := []string{"<name>", operator.key, "<listed>", listed}
	for _, key := range []string{"product", "host", "cluster", "remedy", "cure"} {
		words = append(words, "<"+key+">", f.text(key))
	}
	return strings.NewReplacer(words...), f.done()
}
