// Package ignition checks and merges Ignition configs of specification 3, and
// finds the secrets in them. Parsing, the rules and the merge are those of
// github.com/coreos/ignition/v2; what a machine would only find when it boots, such
// as content that is not what its hash says, is checked here.
package ignition

import (
	"bytes"
	"crypto/sha256"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/coreos/go-semver/semver"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/json"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// maxNested bounds how deep configs within configs are checked.
const maxNested = 4

// mostValues bounds how many JSON values a config may have; most have some hundred. To report that one is wrong takes some
// forty kilobytes of memory.
const mostValues = 10_000

// Validate checks a config of specification 3.0 to Newest. The report holds all that
// was found, with its place; the error is an *Invalid where any of it is an Error.
// A config with more than 10,000 JSON values is not looked into, and is an Error.
// name is for texts only.
func Validate(name string, data []byte) (Report, error) {
	return validate(name, data, 0)
}

func validate(name string, data []byte, depth int) (Report, error) {
	r := Report{Name: name}
	if values(data) > mostValues {
		r.Entries = []Entry{{Severity: Error, Message: fmt.Sprintf("the config has more than %d values", mostValues)}}
		return r, &Invalid{Report: r}
	}
	found, err := r.check(data, depth)
	r.take(found, data)
	if err != nil && !r.Fatal() {
		r.refused(err, data)
	}
	if r.Fatal() {
		return r, &Invalid{Report: r}
	}
	return r, nil
}

// values is how many values a JSON document has, about.
func values(data []byte) (count int) {
	inText, escaped := false, false
	for _, b := range data {
		switch {
		case escaped:
			escaped = false
		case inText && b == '\\':
			escaped = true
		case b == '"':
			inText = !inText
		case !inText && (b == '{' || b == '[' || b == ','):
			count++
		}
	}
	return count
}

func (r *Report) check(data []byte, depth int) (report.Report, error) {
	version, found, err := versionOf(data)
	if err != nil {
		return found, err
	}
	r.Version = version.String()
	s, err := specificationOf(version)
	if err != nil {
		return found, err
	}
	if s.judge(data, true) > clean {
		if found, err = s.check(data); err != nil {
			return found, err
		}
	}
	found.Merge(checks(data, depth))
	return found, nil
}

func (r *Report) refused(err error, data []byte) {
	e := Entry{Severity: Error, Message: err.Error()}
	at := path.New("json", "ignition", "version")
	switch {
	case errors.Is(err, ignitionerrors.ErrEmpty):
		e.Message = "the config is empty"
	case errors.Is(err, ignitionerrors.ErrInvalidVersion):
		e.Path, e.Message = spell(at), "the config does not say which specification it follows"
	case errors.Is(err, ignitionerrors.ErrUnknownVersion):
		e.Path, e.Message = spell(at), fmt.Sprintf("specification %s is not understood, only 3.0.0 to %s", r.Version, Newest)
	}
	place := report.Report{Entries: []report.Entry{{Context: at}}}
	correlate(&place, data)
	if start := place.Entries[0].Marker.StartP; start != nil {
		e.Line, e.Column = position(data, start.Index)
	}
	r.Entries = append(r.Entries, e)
}

// checks finds what the rules of the specification leave to the booting machine.
// It reads the document as it stands, since translating it to a newer
// specification changes modes; all specifications are subsets of the newest.
func checks(data []byte, depth int) (found report.Report) {
	var config types.Config
	if err := stdjson.Unmarshal(data, &config); err != nil {
		found.AddOnError(path.New("json"), err)
		return found
	}
	checkModes(config, &found)
	checkResources(config, depth, &found)
	if len(found.Entries) > 0 {
		correlate(&found, data)
	}
	return found
}

// correlate finds the places of entries in a document, as far as it can be read.
func correlate(found *report.Report, data []byte) {
	if document, err := json.UnmarshalToContext(data); err == nil {
		found.Correlate(document)
	}
}

// checkModes warns about modes that were meant as octal numbers. JSON has only
// decimal ones: 644 is 01204, and 0644 is written 420.
func checkModes(config types.Config, found *report.Report) {
	check := func(mode *int, in string, i int) {
		if mode == nil || sensible(*mode) {
			return
		}
		meant, err := strconv.ParseInt(strconv.Itoa(*mode), 8, 32)
		if err != nil || !sensible(int(meant)) {
			return
		}
		found.AddOnWarn(path.New("json", "storage", in, i, "mode"),
			fmt.Errorf("mode %d is octal %#o; if %#o is meant, write %d: JSON numbers are decimal", *mode, *mode, meant, meant))
	}
	for i, f := range config.Storage.Files {
		check(f.Mode, "files", i)
	}
	for i, d := range config.Storage.Directories {
		check(d.Mode, "directories", i)
	}
}

// sensible reports whether such a mode makes sense: the owner may read, those who may not read may neither write nor
// execute, group has no more rights than the owner, and others no more than the group.
func sensible(mode int) bool {
	owner, group, others := mode>>6&7, mode>>3&7, mode&7
	for _, who := range []int{owner, group, others} {
		if who != 0 && who&4 == 0 {
			return false
		}
	}
	return owner != 0 && group&^owner == 0 && others&^group == 0
}

// maxRemembered bounds what a Checker keeps: more than there are pools of machines.
const maxRemembered = 64

// Checker validates configs and remembers what it found by their content, for many
// machines with few configs. The zero value is ready; several goroutines may use it.
type Checker struct {
	mu    sync.Mutex
	found map[[sha256.Size]byte]Report
}

// Validate is the package's Validate, at the price of a digest where the same
// content was validated before.
func (c *Checker) Validate(name string, data []byte) (Report, error) {
	r, known := c.recall(data)
	if !known {
		r, _ = Validate(name, data) // the error is made of the report below
		c.remember(data, r)
	}
	r.Name, r.Entries = name, slices.Clone(r.Entries)
	if r.Fatal() {
		return r, &Invalid{Report: r}
	}
	return r, nil
}

// Merge is the package's Merge, for which configs that were validated before need
// not be again. What it makes of them is.
func (c *Checker) Merge(configs ...[]byte) ([]byte, error) {
	return merge(func(name string, data []byte) (semver.Version, error) {
		r, known := c.recall(data)
		if !known || r.Fatal() {
			return valid(name, data)
		}
		r.Name = name
		return r.version()
	}, configs)
}

func (c *Checker) recall(data []byte) (Report, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, known := c.found[sha256.Sum256(data)]
	return r, known
}

func (c *Checker) remember(data []byte, r Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil || len(c.found) >= maxRemembered {
		c.found = map[[sha256.Size]byte]Report{}
	}
	c.found[sha256.Sum256(data)] = r
}

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
	// Path is the place in the document, as in storage.files[2].mode, if it is known.
	Path string
	// Line and Column count from 1, in bytes, and are 0 where no place is known.
	Line, Column int
}

// Report is all that was found in one config.
type Report struct {
	// Name is the caller's name of the config, likely a file.
	Name string
	// Version is the specification that the config says it follows.
	Version string
	// Entries are in the order in which they were found.
	Entries []Entry
}

// Fatal reports whether any entry is an Error.
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

func (r Report) version() (semver.Version, error) {
	version, err := semver.NewVersion(r.Version)
	if err != nil {
		return semver.Version{}, fmt.Errorf("%s: read its version: %w", r.Name, err)
	}
	return *version, nil
}

// text is an entry in the form NAME:LINE:COLUMN: PATH: MESSAGE.
func (r Report) text(e Entry) string {
	text := r.Name
	if e.Line > 0 {
		text += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	if e.Path != "" {
		text += ": " + e.Path
	}
	return text + ": " + e.Message
}

// Invalid is the error of a config with Errors in its report.
type Invalid struct{ Report Report }

// mostLines is how many Errors the text of an Invalid has.
const mostLines = 100

// Error has a line for every Error of the report, up to 100. It holds no content of files.
func (e *Invalid) Error() string {
	lines := e.Report.of(Error)
	if more := len(lines) - mostLines; more > 1 {
		lines = append(lines[:mostLines], fmt.Sprintf("%s: %d more problems are not shown", e.Report.Name, more))
	}
	return strings.Join(lines, "\n")
}

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
	text := ""
	for _, element := range p.Path {
		if i, is := element.(int); is {
			text += fmt.Sprintf("[%d]", i)
		} else {
			text += fmt.Sprintf(".%v", element)
		}
	}
	return strings.TrimPrefix(text, ".")
}

func position(data []byte, index int64) (line, column int) {
	before := data[:max(0, min(index, int64(len(data))))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
