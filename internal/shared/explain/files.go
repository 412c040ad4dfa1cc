package explain

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// texts are the files that README.md describes.
//
//go:embed validations states stages events operators paths.yaml
var texts embed.FS

// part is one key of a file with the content below it, which is read on demand.
type part struct {
	file  string
	line  int // where it begins, from 1
	order int // among those of its file, from 1
	key   string
	read  func() (*yamltree.Node, error) // what stands below the key
	// words stand for the placeholders of its texts, nil where it has none.
	words func() (*strings.Replacer, error)
}

// partsOf cuts a file at its keys, which begin in the first column. Reading a whole
// file as YAML takes milliseconds, and most look-ups want one entry of it.
func partsOf(files fs.FS, file string) ([]part, error) {
	data, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, err
	}
	text := string(data)
	var parts []part
	var starts []int
	number, offset := 0, 0
	for line := range strings.Lines(text) {
		number++
		if !strings.ContainsRune(" #\r\n", rune(line[0])) {
			key, colon := strings.CutSuffix(strings.TrimSpace(line), ":")
			if !colon {
				return nil, fmt.Errorf("%s:%d: expected a key and a colon, and nothing after them", file, number)
			}
			parts = append(parts, part{file: file, line: number, order: len(parts) + 1, key: key})
			starts = append(starts, offset)
		}
		offset += len(line)
	}
	starts = append(starts, offset)
	for i, p := range parts {
		parts[i].read = sync.OnceValues(func() (*yamltree.Node, error) { return p.parse(text[starts[i]:starts[i+1]]) })
	}
	return parts, nil
}

// parse reads the YAML of a part, which is one key with fields below it.
func (p part) parse(text string) (*yamltree.Node, error) {
	docs, problems := yamltree.Parse([]byte(text))
	var wrong []error
	for _, problem := range problems {
		wrong = append(wrong, p.wrong(problem.At, problem.Message))
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if len(docs) != 1 || len(docs[0].Entries) != 1 || docs[0].Entries[0].Value.Kind != yamltree.Map {
		return nil, p.wrong(yamltree.Position{Line: 1}, p.key+" has no fields")
	}
	return docs[0].Entries[0].Value, nil
}

// wrong is what is wrong at a place of a part.
func (p part) wrong(at yamltree.Position, message string) error {
	return fmt.Errorf("%s:%d: %s", p.file, p.line+at.Line-1, message)
}

// partsIn cuts all files of a folder.
func partsIn(files fs.FS, folder string) ([]part, error) {
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []part
	for _, name := range names {
		parts, err := partsOf(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

// record is an entry that is read on demand.
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
