package rest

import "strings"

// short keeps a text of the service to a length that fits a message.
func short(text string) string {
	const longest = 2000
	text = strings.TrimSpace(text)
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
