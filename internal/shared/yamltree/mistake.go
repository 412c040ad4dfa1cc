package yamltree

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

func notText(data string) (Problem, bool) {
	if utf8.ValidString(data) && strings.IndexByte(data, 0) < 0 {
		return Problem{}, false
	}
	for n, line := range strings.Split(data, "\n") {
		valid := strings.ToValidUTF8(line, "\x00")
		column := strings.IndexByte(valid, 0)
		if column < 0 {
			continue
		}
		remedy := "save it as UTF-8"
		if strings.HasPrefix(data, "\xff\xfe") || strings.HasPrefix(data, "\xfe\xff") {
			remedy = "it is UTF-16: " + remedy
		}
		return Problem{At: Position{n + 1, utf8.RuneCountInString(valid[:column]) + 1}, Message: "is no text in UTF-8", Remedy: remedy}, true
	}
	return Problem{}, false
}

// mistaken is a document that the YAML library did not take, and where and why. What the library meets last is often
// lines below the mistake, so the error says what the user has probably done. No more of the text than a field's name
// is repeated: values may be secret.
type mistaken struct {
	lines []string
	at    Position
	said  string
}

func (m mistaken) problem() Problem {
	const field = `^\s*(?:- +)*(?P<name>[A-Za-z_][\w./-]*): +`
	for _, find := range []func(mistaken) (Problem, bool){
		slip{
			lines: mistaken.all, match: `^(?P<at>)(<<<<<<< |>>>>>>> )`,
			message: "a conflict of a merge has been left here",
			remedy:  "decide which side is right, and take the lines with <<<<<<<, ======= and >>>>>>> out",
		}.find,
		mistaken.blank,
		slip{said: []string{"found character '\t'"}, message: "a tab is not allowed here", remedy: "write blanks instead"}.find,
		slip{
			lines: mistaken.around, match: `^\s*([^#\s].*?)??(?P<at>{{|{%)`,
			message: "this looks like a template that has not been filled in",
			remedy:  "render it first, or put a value that begins with $at in quotes",
		}.find,
		slip{lines: mistaken.around, match: `^[^:：﹕]*(?P<at>[：﹕])`, message: "this colon is not the one of YAML",
			remedy: "write : and a blank"}.find,
		slip{said: []string{"end token '}'", "could not find flow map"}, message: "what { opens here is never closed",
			remedy: "close it with }"}.find,
		slip{said: []string{"end token ']'"}, message: "what [ opens here is never closed", remedy: "close it with ]"}.find,
		mistaken.unclosed,
		mistaken.reserved,
		slip{lines: mistaken.around, match: field + `(?P<at>[&*!%])`, message: "a value that begins with $at means something else to YAML",
			remedy: "put it in quotes"}.find,
		slip{
			said:    []string{"escape character", "escape sequence"},
			message: `in "…" a backslash begins an escape, and there is none of this letter`,
			remedy:  `write \\ for a backslash, or put the value in '…'`,
		}.find,
		slip{said: []string{"invalid header option"}, message: "text is on the line of | or >",
			remedy: "begin it on the next line, indented, or put it in quotes"}.find,
		mistaken.block,
		slip{lines: mistaken.around, match: `^ *(?P<at>-)[A-Za-z].*:`, message: "a blank is missing behind the dash",
			remedy: "write - and a blank before each entry of a list"}.find,
		slip{ // A URL touches the colon, too, and so does a MAC address.
			lines: mistaken.around, match: `^\s*(?:- +)*(?P<name>[A-Za-z_][\w.-]{2,})(?P<at>:)[^\s:/][^:]*$`,
			message: "a blank is missing behind the colon of $name", remedy: "write $name: and then the value",
		}.find,
		mistaken.indented,
		mistaken.filled,
		slip{
			said: []string{"mapping value is not allowed"}, lines: func(m mistaken) []int { return []int{m.at.Line} },
			match:   field + `.*?(?P<at>: )`,
			message: "a second colon is in the value of $name", remedy: "put the value in quotes",
		}.find,
		mistaken.noColon,
	} {
		if p, found := find(m); found {
			p.Message = "is not valid YAML: " + p.Message
			return p
		}
	}
	return Problem{At: m.at, Message: "is not valid YAML: " + m.said}
}

// slip is known by what the library says of it, or by a line that matches.
type slip struct {
	said    []string             // one of these; any if there are none
	lines   func(mistaken) []int // that may match; nil if what the library says is enough
	match   string               // the problem is at its group at
	message string               // may name groups of match
	remedy  string
}

func (s slip) find(m mistaken) (Problem, bool) {
	if len(s.said) > 0 && !m.says(s.said...) {
		return Problem{}, false
	}
	if s.lines == nil {
		return Problem{At: m.at, Message: s.message, Remedy: s.remedy}, true
	}
	match := regexp.MustCompile(s.match)
	for _, n := range s.lines(m) {
		line := m.line(n)
		found := match.FindStringSubmatchIndex(line)
		if found == nil {
			continue
		}
		expand := func(text string) string { return string(match.ExpandString(nil, text, line, found)) }
		return Problem{At: positionIn(n, line, found[2*match.SubexpIndex("at")]), Message: expand(s.message), Remedy: expand(s.remedy)}, true
	}
	return Problem{}, false
}

func (m mistaken) all() []int {
	all := make([]int, len(m.lines))
	for i := range all {
		all[i] = i + 1
	}
	return all
}

func (m mistaken) line(number int) string {
	if number < 1 || number > len(m.lines) {
		return ""
	}
	return strings.TrimSuffix(m.lines[number-1], "\r")
}

// around are the line that the library names, and the last above it with content, where
// such mistakes are often made.
func (m mistaken) around() []int {
	for n := m.at.Line - 1; n > 0; n-- {
		if meant(m.line(n)) {
			return []int{m.at.Line, n}
		}
	}
	return []int{m.at.Line}
}

func meant(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

func (m mistaken) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(m.said, text) })
}

// blank finds characters in the indentation that look like blanks and are not.
func (m mistaken) blank() (Problem, bool) {
	for _, n := range m.around() {
		at := indentOf(m.line(n))
		r, size := utf8.DecodeRuneInString(m.line(n)[at:])
		p := Problem{At: Position{n, at + 1}, Message: "a tab is in the indentation", Remedy: "write blanks instead"}
		if r != '\t' {
			p.Message = fmt.Sprintf("the character U+%04X is in the indentation, which looks like a space and is none", r)
		}
		if size > 0 && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)) {
			return p, true
		}
	}
	return Problem{}, false
}

// unclosed finds a bracket or a quotation mark that is not closed.
func (m mistaken) unclosed() (Problem, bool) {
	switch {
	case m.says("'}' must be specified"):
		return m.opened("{", "}")
	case m.says("']' must be specified"):
		return m.opened("[", "]")
	case !m.says("end character of", "map key-value is pre-defined", "value is not allowed"):
		return Problem{}, false
	}
	for n := 1; n <= m.at.Line; n++ {
		line := m.line(n)
		found := fields().FindStringSubmatchIndex(line)
		if found == nil || !meant(line) {
			continue
		}
		value := line[found[1]:]
		if value == "" || value[0] != '"' && value[0] != '\'' {
			continue
		}
		quote := value[:1]
		if strings.Count(strings.ReplaceAll(value, `\"`, ""), quote)%2 == 1 {
			return Problem{At: positionIn(n, line, found[1]), Message: "what " + quote + " opens here is not closed on this line",
				Remedy: "close it with " + quote}, true
		}
	}
	return Problem{}, false
}

// opened finds the last line above that opens more brackets than it closes.
func (m mistaken) opened(bracket, closing string) (Problem, bool) {
	for n := m.at.Line; n > 0; n-- {
		line := m.line(n)
		if meant(line) && strings.Count(line, bracket) > strings.Count(line, closing) {
			return Problem{
				At:      positionIn(n, line, strings.LastIndex(line, bracket)),
				Message: "what " + bracket + " opens here is not closed before the next field",
				Remedy:  "close it with " + closing + ", or put a comma behind each of its values",
			}, true
		}
	}
	return Problem{}, false
}

// fields finds where the value of a field begins, and its name.
var fields = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:- +)*([A-Za-z_][\w./-]*): +`)
})

func (m mistaken) reserved() (Problem, bool) {
	if !m.says("is a reserved character") {
		return Problem{}, false
	}
	line := []rune(m.line(m.at.Line) + " ")
	return Problem{At: m.at, Message: "a value must not begin with " + string(line[min(m.at.Column, len(line))-1]),
		Remedy: "put it in quotes"}, true
}

// block finds text that belongs to | or > and does not stand below it.
func (m mistaken) block() (Problem, bool) {
	around := m.around()
	above := m.line(around[len(around)-1])
	if len(around) < 2 || !blocks().MatchString(above) || indentOf(m.line(m.at.Line)) > indentOf(above) {
		return Problem{}, false
	}
	return Problem{At: Position{m.at.Line, indentOf(m.line(m.at.Line)) + 1}, Message: "the text of the | or > above has to be indented",
		Remedy: "indent it by more than the line above"}, true
}

var blocks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: +[|>][+-]?\d*\s*$`) })

// indented finds a line that begins where nothing above it does.
func (m mistaken) indented() (Problem, bool) {
	line := m.line(m.at.Line)
	if !m.says("not allowed in this context", "unexpected key", "non-map value") || m.at.Column > indentOf(line)+2 {
		return Problem{}, false
	}
	var open []int // where what the line may belong to begins
	for n := m.at.Line - 1; n > 0; n-- {
		above := m.line(n)
		if !meant(above) {
			continue
		}
		for _, begin := range begins(above) {
			if len(open) == 0 || begin < open[len(open)-1] {
				open = append(open, begin)
			}
		}
	}
	here := indentOf(line)
	if len(open) == 0 || slices.Contains(open, here) || here > open[0] {
		return Problem{}, false
	}
	slices.Sort(open)
	after, _ := slices.BinarySearch(open, here)
	near := fmt.Sprint(open[after])
	if after > 0 {
		near = fmt.Sprintf("%d or %d", open[after-1], open[after])
	}
	return Problem{
		At: Position{m.at.Line, here + 1}, Message: fmt.Sprintf("this line is indented by %d, and nothing above it is", here),
		Remedy: "indent it by " + near + ", like what it belongs with",
	}, true
}

// begins are the columns, from 0, where a line begins something: behind dashes, too.
// The innermost comes first.
func begins(line string) []int {
	at := indentOf(line)
	out := []int{at}
	for strings.HasPrefix(line[at:], "- ") {
		at += 2
		for at < len(line) && line[at] == ' ' {
			at++
		}
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// filled finds a field that has both a value and fields below it.
func (m mistaken) filled() (Problem, bool) {
	line := m.line(m.at.Line)
	found := fields().FindStringSubmatchIndex(line)
	if found == nil || !m.says("mapping value is not allowed") {
		return Problem{}, false
	}
	for n := m.at.Line + 1; n <= len(m.lines); n++ {
		below := m.line(n)
		if !meant(below) {
			continue
		}
		if indentOf(below) <= indentOf(line) || !strings.Contains(below, ":") {
			return Problem{}, false
		}
		name := line[found[2]:found[3]]
		return Problem{
			At: Position{n, indentOf(below) + 1}, Message: name + " has a value already, and this line stands below it as if it had fields",
			Remedy: "indent the line like " + name + ", or take the value of " + name + " away",
		}, true
	}
	return Problem{}, false
}

// noColon finds a field without its colon. What stands alone, or among no other fields,
// is not named: it may be a password.
func (m mistaken) noColon() (Problem, bool) {
	if !m.says("non-map value is specified", "unexpected key name", "could not find expected ':'") {
		return Problem{}, false
	}
	for _, n := range m.around() {
		found := names().FindStringSubmatchIndex(m.line(n))
		if found == nil || strings.Contains(m.line(n), ":") {
			continue
		}
		what := "this word"
		if found[3] < len(strings.TrimRight(m.line(n), " ")) && slices.ContainsFunc(m.lines, fields().MatchString) {
			what = m.line(n)[found[2]:found[3]]
		}
		return Problem{At: positionIn(n, m.line(n), found[3]), Message: "a colon is missing behind " + what,
			Remedy: "write the field's name, a colon and a blank, and then the value"}, true
	}
	return Problem{}, false
}

var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:- +)*([A-Za-z]+)(?:\s.*)?$`) })

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func positionIn(number int, line string, at int) Position {
	return Position{number, utf8.RuneCountInString(line[:at]) + 1}
}
