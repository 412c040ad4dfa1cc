package spec

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// redacted is what a secret looks like wherever it is printed.
const redacted = "[redacted]"

// Secret is a text that must not be seen. However it is printed, logged or
// marshalled, it reads "[redacted]"; only Reveal gives it away. The text sits
// behind a pointer, so that even printing a struct that holds a Secret in an
// unexported field shows an address only.
type Secret struct {
	text *string
}

// NewSecret keeps text as a secret.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal is the secret's text; empty for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says whether there is no secret, or an empty one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares two secrets, in a time that does not depend on where they
// differ.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String is "[redacted]".
func (s Secret) String() string { return redacted }

// GoString is "[redacted]", for %#v.
func (s Secret) GoString() string { return redacted }

// Format writes "[redacted]" for every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText is "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON is "[redacted]", quoted.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML is "[redacted]".
func (s Secret) MarshalYAML() (any, error) { return redacted, nil }

// LogValue is "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
