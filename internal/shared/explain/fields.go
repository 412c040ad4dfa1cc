package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// explained is an entry of any kind.
type explained interface{ explanation() Entry }

func (e Entry) explanation() Entry { return e }

// entry reads what all kinds of entries have in common.
func (f *fields) entry(kind Kind, ref Ref) Entry {
	f.require("title", "meaning")
	return Entry{
		Kind: kind, Subject: ref.Subject, Name: ref.ID,
		Title: f.text("title"), Meaning: f.text("meaning"), Cause: f.text("cause"), Check: model.Advice(f.text("check")),
		Remedy: model.Advice(f.text("remedy")), Field: f.text("field"),
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
		Entry: f.entry(KindStage, ref), Order: f.part.order,
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
		Watch: model.Advice(f.text("watch")),
	}
}

// fields reads the fields of a part of a file, and collects what is wrong with them.
type fields struct {
	part  part
	node  *yamltree.Node
	words *strings.Replacer // what replaces the placeholders of a text
	read  []string
	wrong []error
}

// fields are those of a part.
func (p part) fields() (*fields, error) {
	f := &fields{part: p, words: strings.NewReplacer()}
	var err error
	if f.node, err = p.read(); err == nil && p.words != nil {
		f.words, err = p.words()
	}
	return f, err
}

func (f *fields) complain(at yamltree.Position, format string, args ...any) {
	f.wrong = append(f.wrong, f.part.wrong(at, fmt.Sprintf(format, args...)))
}

// done reports what is wrong, including fields that were never read.
func (f *fields) done() error {
	for _, e := range f.node.Entries {
		if !slices.Contains(f.read, e.Key) {
			f.complain(e.At, "%s has the unknown field %q", f.part.key, e.Key)
		}
	}
	return errors.Join(f.wrong...)
}

// require complains about fields that are not there.
func (f *fields) require(keys ...string) {
	for _, key := range keys {
		if _, there := f.node.Get(key); !there {
			f.complain(yamltree.Position{Line: 1}, "%s has no %s", f.part.key, key)
		}
	}
}

// value is a field's value, nil where it is not there or of another kind.
func (f *fields) value(key string, kind yamltree.Kind) *yamltree.Node {
	f.read = append(f.read, key)
	value, there := f.node.Get(key)
	if !there {
		return nil
	}
	if value.Kind != kind {
		f.complain(value.At, "%s of %s is %s where it should be %s", key, f.part.key, value.Kind, kind)
		return nil
	}
	return value
}

func (f *fields) text(key string) string {
	value := f.value(key, yamltree.Text)
	if value == nil {
		return ""
	}
	if value.Text == "" || value.Text != strings.TrimSpace(value.Text) {
		f.complain(value.At, "%s of %s is empty, or has blanks or lines around it", key, f.part.key)
	}
	return f.words.Replace(value.Text)
}

// oneOf is a text that is one of some words, or is not there.
func (f *fields) oneOf(key string, words ...string) string {
	text := f.text(key)
	if text != "" && !slices.Contains(words, text) {
		f.complain(f.node.At, "%s of %s is %q and should be one of %s", key, f.part.key, text, strings.Join(words, ", "))
	}
	return text
}

func (f *fields) flag(key string) bool {
	value := f.value(key, yamltree.Bool)
	return value != nil && value.Value == true
}

// count is a number from 1; it is 1 if the key is not there.
func (f *fields) count(key string) int {
	value := f.value(key, yamltree.Int)
	if value == nil {
		return 1
	}
	count, positive := value.Value.(uint64)
	if !positive || count == 0 {
		f.complain(value.At, "%s of %s should be 1 or more", key, f.part.key)
	}
	return int(count)
}

func (f *fields) duration(key string) time.Duration {
	text := f.text(key)
	if text == "" {
		return 0
	}
	long, err := time.ParseDuration(text)
	if err != nil || long <= 0 {
		f.complain(f.node.At, "%s of %s is %q and should be a time such as 90s, 30m or 1h30m", key, f.part.key, text)
	}
	return long
}

func (f *fields) list(key string) []string {
	value := f.value(key, yamltree.List)
	if value == nil {
		return nil
	}
	var texts []string
	for _, item := range value.Items {
		if item.Kind != yamltree.Text {
			f.complain(item.At, "%s of %s has an entry that is %s", key, f.part.key, item.Kind)
		}
		texts = append(texts, f.words.Replace(item.Text))
	}
	return texts
}
