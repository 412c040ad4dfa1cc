package model

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
)

// InString encodes v as the JSON that the API carries inside strings.
func InString(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// StringList reads a JSON list of strings out of a string.
func StringList(text string) []string {
	var list []string
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil
	}
	return slices.Clip(list)
}

// Names are the different names in lists that commas separate, in the order in which they come.
func Names(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Millis is a time as the API's date-time fields print it: milliseconds, and year 1 for "never".
type Millis = strfmt.DateTime

// Micros is a time as database fields print it: microseconds, without trailing zeros.
type Micros time.Time

// MarshalJSON implements json.Marshaler.
func (t Micros) MarshalJSON() ([]byte, error) {
	at := time.Time(t).UTC().Truncate(time.Microsecond)
	return at.AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}
