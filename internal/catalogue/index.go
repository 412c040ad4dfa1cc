package catalogue

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// record is an entry that is read when somebody asks for it.
type record struct {
	ref  Ref
	read func() (explained, error)
}

// entry is the entry itself.
func (r *record) entry() explained {
	e, err := r.read()
	if err != nil {
		panic("catalogue: " + err.Error())
	}
	return e
}

// index finds the records of a kind.
type index struct {
	kind   Kind
	byRef  map[Ref]*record
	byName map[string][]*record // by the name as plain has it
	all    []*record            // in the order in which they are listed to people
}

// newIndex indexes what files say of a kind.
func newIndex(files fs.FS, kind Kind) (*index, error) {
	x := &index{kind: kind, byRef: map[Ref]*record{}, byName: map[string][]*record{}}
	parts, read, err := x.source(files)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := x.add(p, read); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(x.all, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.ref.ID, b.ref.ID), -cmp.Compare(a.ref.Subject, b.ref.Subject))
	})
	for _, r := range x.all {
		x.byName[plain(r.ref.ID)] = append(x.byName[plain(r.ref.ID)], r)
	}
	return x, nil
}

// source is where the entries of the index's kind stand, and how they are read.
func (x *index) source(files fs.FS) (parts []part, read func(*fields, Ref) explained, err error) {
	switch x.kind {
	case KindValidation:
		if parts, err = partsIn(files, "validations"); err != nil {
			return nil, nil, err
		}
		checks, err := operatorChecks(files)
		return append(parts, checks...), (*fields).validation, err
	case KindState:
		parts, err = partsIn(files, "states")
		return parts, (*fields).state, err
	case KindStage:
		byPath := sync.OnceValues(func() (map[Path][]string, error) { return x.readPaths(files) })
		parts, err = partsIn(files, "stages")
		return parts, func(f *fields, ref Ref) explained { return f.stage(ref, byPath) }, err
	case KindEvent:
		parts, err = partsIn(files, "events")
		return parts, (*fields).event, err
	}
	return nil, nil, nil
}

// add puts the entry of a part into the index.
func (x *index) add(p part, read func(*fields, Ref) explained) error {
	subject, id, _ := strings.Cut(p.key, "/")
	ref := Ref{Subject(subject), id}
	if !slices.Contains([]Subject{SubjectHost, SubjectCluster, SubjectInfraEnv}, ref.Subject) || id == "" {
		return fmt.Errorf("%s:%d: %q should begin with host/, cluster/ or infraenv/", p.file, p.line, p.key)
	}
	if x.byRef[ref] != nil {
		return fmt.Errorf("%s:%d: the %s %s is explained a second time", p.file, p.line, x.kind, ref)
	}
	r := &record{ref, sync.OnceValues(func() (explained, error) {
		f, err := p.fields()
		if err != nil {
			return nil, err
		}
		e := read(f, ref)
		return e, f.done()
	})}
	x.byRef[ref] = r
	x.all = append(x.all, r)
	return nil
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
