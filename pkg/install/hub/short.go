package hub

import "strings"

// short is a text that fits a line of a terminal or two.
func short(text string) string {
	const most = 600
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
