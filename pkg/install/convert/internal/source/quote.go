package source

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// blockText matches texts of several lines that a literal block gives back
// exactly: printable, without blanks at either end of a line's text that a
// reader could take for an indent or drop.
var blockText = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?(\n([ -~]*[!-~])?)*\n?$`)

func isBlock(text string) bool {
	return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") && !strings.HasSuffix(text, "\n\n") && !strings.HasPrefix(text, "#") && blockText.MatchString(text)
}

// plainText matches texts that mean the same with and without quotes, in YAML
// 1.1 and 1.2.
var plainText = regexp.MustCompile(`^([A-Za-z_/][A-Za-z0-9_./-]*|[0-9]+(\.[0-9]+){3}(/[0-9]+)?)$`)

// quoted writes a text so that every YAML reader takes it for that text.
func quoted(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
	default:
		if plainText.MatchString(text) {
			return text
		}
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\r':
			out.WriteString(`\r`)
		case c > 0xffff && !unicode.IsPrint(c):
			fmt.Fprintf(&out, `\U%08X`, c)
		case c != ' ' && !unicode.IsPrint(c):
			fmt.Fprintf(&out, `\u%04X`, c)
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
