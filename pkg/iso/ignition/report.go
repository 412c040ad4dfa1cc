// Package ignition checks and merges Ignition configs of specification 3, and
// finds the secrets in them. Parsing, the rules and the merge are those of
// github.com/coreos/ignition/v2; what a machine would only find when it boots, such
// as content that is not what its hash says, is checked here.
package ignition

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// Severity says what follows from an entry.
type Severity string

const (
	// Error is of a config that a machine does not boot with.
	Error Severity = "error"
	// Warning is of a config that likely does something else than was meant.
	Warning Severity = "warning"
	// Info is worth knowing.
	Info Severity = "info"
)

// Entry is one finding.
type Entry struct {
	Severity Severity
	Message  string
	// Path is the place in the document, as in storage.files[2].mode; empty where
	// the document could not be read that far.
	Path string
	// Line and Column count from 1, and are 0 where no place is known. Columns are
	// bytes.
	Line, Column int
}

// Report is all that was found in one config.
type Report struct {
	// Name is how the config was called by who gave it, likely a file.
	Name string
	// Version is the specification that the config says it follows.
	Version string
	// Entries are in the order in which they were found.
	Entries []Entry
}

// Fatal tells whether any entry is an Error.
func (r Report) Fatal() bool { return len(r.of(Error)) > 0 }

// Warnings are the texts of all entries that are not Errors, each with its place.
func (r Report) Warnings() []string { return append(r.of(Warning), r.of(Info)...) }

func (r Report) of(s Severity) []string {
	var texts []string
	for _, e := range r.Entries {
		if e.Severity == s {
			texts = append(texts, r.text(e))
		}
	}
	return texts
}

// text is an entry in the form NAME:LINE:COLUMN: PATH: MESSAGE.
func (r Report) text(e Entry) string {
	var b strings.Builder
	b.WriteString(r.Name)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Invalid is the error of a config with Errors in its report.
type Invalid struct{ Report Report }

// Error has a line for every Error of the report. It holds no content of files.
func (e *Invalid) Error() string { return strings.Join(e.Report.of(Error), "\n") }

func (r *Report) take(found report.Report, data []byte) {
	for _, e := range found.Entries {
		entry := Entry{Severity: Info, Message: e.Message, Path: spell(e.Context)}
		if entry.Path == "" {
			entry.Path, entry.Message = plain(e.Message)
		}
		switch {
		case e.Kind.IsFatal():
			entry.Severity = Error
		case e.Kind == report.Warn:
			entry.Severity = Warning
		}
		if at := e.Marker.StartP; at != nil {
			index := at.Index
			if e.Context.Len() == 0 && entry.Severity == Error {
				index-- // a JSON decoder counts the byte that it stumbled over as read
			}
			entry.Line, entry.Column = position(data, index)
		}
		r.Entries = append(r.Entries, entry)
	}
}

// ofGo is what the JSON decoder says of a value of another type than belongs there.
var ofGo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^json: cannot unmarshal (\w+) into Go (?:struct field \w+\.([\w.]+)|value) of type [\w.\[\]*]+$`)
})

// plain says in which field a value of the wrong type stands, without the words of Go.
func plain(message string) (field, said string) {
	match := ofGo().FindStringSubmatch(message)
	if match == nil {
		return "", message
	}
	var keys []string
	for key := range strings.SplitSeq(match[2], ".") {
		if key != "" && unicode.IsLower(rune(key[0])) { // the others are types within types
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, "."), fmt.Sprintf("a value of this type (%s) does not belong here", match[1])
}

// spell writes a path as people read it: storage.files[2].mode.
func spell(p path.ContextPath) string {
	var b strings.Builder
	for _, element := range p.Path {
		switch e := element.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", e)
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, e)
		}
	}
	return b.String()
}

func position(data []byte, index int64) (line, column int) {
	before := data[:max(0, min(index, int64(len(data))))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
