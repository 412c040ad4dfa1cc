package workloadclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/watch"
)

const (
	// longestAnswer is how many bytes of an answer are read at most, unpacked. A watch that has brought as much begins anew.
	longestAnswer = 32 << 20
	// mostValues is how many values of JSON an answer has at most: an empty object of two bytes becomes an object of Go with
	// more than a kilobyte. mostItems is how many a list has: the nodes of the largest clusters several times.
	mostValues = 1_000_000
	mostItems  = 20_000
	// longestExponent is how many digits the exponent of a number has at most: to read 1e-1000000000 as a quantity takes a
	// processor for ever. Of numbers with an exponent that is longer than usualExponent there are mostLong at most: each takes
	// up to 50 ms. A digest may look like one, so that some are let pass.
	longestExponent, usualExponent, mostLong = 6, 3, 10
)

// bounded is the body of an answer that may be endless, or small on the wire and large in memory.
type bounded struct {
	io.ReadCloser

	left int
	scan scan
}

// Read is of io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, unreadable(fmt.Sprintf("it answers with more than %d MiB", longestAnswer>>20))
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	if err != nil {
		err = quietError(err, "the kubeconfig", "an API server")
	}
	b.left -= n
	if wrong := b.scan.take(p[:n]); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// wrongStatus is of an answer whose HTTP status says that all went well, and whose body says that the request failed.
const wrongStatus = unreadable("it answers that the request has failed, with the HTTP status of success")

// scan reads JSON as it comes, as far as the bounds need.
type scan struct {
	refused bool // the HTTP status says that the request failed

	depth         int
	inList        bool // at depth 2: of a list's items
	values, items int
	long          int // numbers with a long exponent

	inText, escaped bool
	text            []byte // as much of the text as is compared
	longer          bool   // the text has more
	number          number // that the text is, or that stands outside of texts

	key, last    string // of depth 1: the key whose value follows, and the text that came last
	kind, status string
	afterColon   bool
}

// longestText is how much of a text is kept: more than the longest that is compared.
const longestText = 64

func (s *scan) take(p []byte) error {
	for _, b := range p {
		if s.ends(b) {
			if s.number.exponent() > usualExponent {
				s.long++
			}
			if s.number.exponent() > longestExponent || s.long > mostLong {
				return unreadable("it answers with a number that cannot be read")
			}
			s.number = number{}
		} else {
			s.number.add(b)
		}
		switch {
		case s.inText:
			s.inside(b)
		case b == '"':
			s.inText, s.text, s.longer = true, s.text[:0], false
		case b == '{' || b == '[':
			s.depth++
			s.values++
			if s.depth == 1 {
				s.kind, s.status = "", ""
			}
			if s.depth == 2 {
				s.inList = b == '['
			}
			s.afterColon = false
		case b == '}' || b == ']':
			s.depth--
			if s.depth == 0 && !s.refused && s.kind == "Status" && s.status != "Success" {
				return wrongStatus
			}
		case b == ',':
			s.values++
			s.afterColon = false
			if s.depth == 2 && s.inList {
				s.items++
			}
		case b == ':':
			s.afterColon = true
			if s.depth == 1 {
				s.key = s.last
			}
		}
		if s.values > mostValues || s.items > mostItems {
			return unreadable(fmt.Sprintf("it answers with more than %d values, or with a list of more than %d items", mostValues, mostItems))
		}
	}
	return nil
}

// ends reports whether a text, or what stands outside of texts, ends before a byte.
func (s *scan) ends(b byte) bool {
	if s.inText {
		return b == '"' && !s.escaped
	}
	return b <= ' ' || strings.IndexByte(`"{}[],:`, b) >= 0
}

// inside reads a byte of a text.
func (s *scan) inside(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inText = false
		s.ended()
		return
	}
	if len(s.text) < longestText {
		s.text = append(s.text, b)
	} else {
		s.longer = true
	}
}

// ended looks at a text that has come to its end.
func (s *scan) ended() {
	if s.depth != 1 {
		return
	}
	var text string
	if s.longer || json.Unmarshal(append(append([]byte{'"'}, s.text...), '"'), &text) != nil {
		text = ""
	}
	s.last = text
	if s.afterColon {
		switch s.key {
		case "kind":
			s.kind = text
		case "status":
			s.status = text
		}
	}
}

// number reads a number: digits with a sign and a point, and perhaps e and a whole number with a sign.
type number struct {
	not, inExponent bool
	last            byte
	digits          int // of the part that is read
}

func (n *number) add(b byte) {
	switch {
	case '0' <= b && b <= '9':
		n.digits++
	case b == '.' && !n.inExponent:
	case (b == '+' || b == '-') && (n.last == 0 || n.last == 'e' || n.last == 'E'):
	case (b == 'e' || b == 'E') && !n.inExponent:
		n.inExponent, n.digits = true, 0
	default:
		n.not = true
	}
	n.last = b
}

// exponent is how many digits the exponent has, 0 for what has none.
func (n *number) exponent() int {
	if n.not || !n.inExponent {
		return 0
	}
	return n.digits
}

// events is the body of a watch, without what the server says in those of errors.
type events struct {
	io.Closer

	from *json.Decoder
	next []byte
}

func eventTypes() []watch.EventType {
	return []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error}
}

// Read is of io.Reader.
func (e *events) Read(p []byte) (int, error) {
	if len(e.next) == 0 {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		err := e.from.Decode(&event)
		_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
		_, noJSON := errors.AsType[*json.SyntaxError](err)
		switch {
		case wrongType || noJSON || err == nil && !slices.Contains(eventTypes(), watch.EventType(event.Type)):
			return 0, &notAPI{http.StatusOK}
		case err != nil:
			return 0, err
		case event.Type == string(watch.Error):
			event.Object = quietStatus(event.Object, 0)
		}
		next, err := json.Marshal(event)
		if err != nil {
			return 0, err
		}
		e.next = next
	}
	n := copy(p, e.next)
	e.next = e.next[n:]
	return n, nil
}
