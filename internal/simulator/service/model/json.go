package model

import "encoding/json"

// InString encodes v as the JSON that the API carries inside strings.
func InString(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
