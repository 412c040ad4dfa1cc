package model

import (
	"encoding/json"
	"slices"
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
