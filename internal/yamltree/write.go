package yamltree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// quoteScalar writes text so that every YAML reader takes it for text.
func quoteScalar(text string) string {
	plain, unescaped := plainText(text)
	switch {
	case plain && !otherThanText(text):
		return text
	case unescaped:
		return `"` + text + `"`
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(text)
	return strings.TrimSpace(quoted.String())
}

// plainText says whether text is of such letters that it may stand without quotes, in
// YAML 1.1 and 1.2, or at least between quotes as it is.
func plainText(text string) (plain, unescaped bool) {
	plain = text != ""
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '/':
		case c >= '0' && c <= '9', c == '.', c == '-':
			plain = plain && i > 0
		case c < ' ' || c > '~' || c == '"' || c == '\\':
			return false, false
		default:
			plain = false
		}
	}
	return plain, true
}

// otherThanText says whether some YAML reader takes a word for something else than text.
func otherThanText(word string) bool {
	const longest = len("false")
	if len(word) > longest {
		return false
	}
	switch strings.ToLower(word) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
		return true
	}
	return false
}

// YAML is the tree as YAML, with its keys in their order.
func (n *Node) YAML() string {
	var out strings.Builder
	emit(&out, n, 0, false)
	return out.String()
}

// emit writes n at an indent. inline says that the cursor stands behind "- ",
// where the first line needs no indent.
func emit(out *strings.Builder, n *Node, indent int, inline bool) {
	pad := strings.Repeat(" ", indent)
	switch {
	case n.Kind == Map && len(n.Entries) > 0:
		for i, e := range n.Entries {
			if i > 0 || !inline {
				out.WriteString(pad)
			}
			out.WriteString(quoteScalar(e.Key) + ":")
			emitValue(out, e.Value, indent)
		}
	case n.Kind == List && len(n.Items) > 0:
		for i, item := range n.Items {
			if i > 0 || !inline {
				out.WriteString(pad)
			}
			out.WriteString("- ")
			emit(out, item, indent+2, true)
		}
	default:
		if !inline {
			out.WriteString(pad)
		}
		out.WriteString(scalarText(n) + "\n")
	}
}

func emitValue(out *strings.Builder, n *Node, indent int) {
	switch {
	case n.Kind == Map && len(n.Entries) > 0:
		out.WriteString("\n")
		emit(out, n, indent+2, false)
	case n.Kind == List && len(n.Items) > 0:
		out.WriteString("\n")
		emit(out, n, indent, false)
	default:
		out.WriteString(" " + scalarText(n) + "\n")
	}
}

func scalarText(n *Node) string {
	switch n.Kind {
	case Map:
		return "{}"
	case List:
		return "[]"
	case Null, Broken:
		return "null"
	case Text:
		return quoteScalar(n.Text)
	}
	switch value := n.Value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return floatText(value)
	default:
		return fmt.Sprint(value)
	}
}

// floatText writes a whole number without a fraction: encoding/json knows no other
// numbers.
func floatText(value float64) string {
	switch {
	case math.IsNaN(value):
		return ".nan"
	case math.IsInf(value, 1):
		return ".inf"
	case math.IsInf(value, -1):
		return "-.inf"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
