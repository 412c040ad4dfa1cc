package hub

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// secretParts are query parameters and paths by which the service's URLs carry
// tokens.
var secretParts = regexp.MustCompile(`(?i)((?:api_key|image_token|token|password|secret)=)[^&\s"']+|(bytoken/|byapikey/)[^/\s"']+|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?`)

// scrub takes tokens out of a text.
func scrub(text string) string {
	return secretParts.ReplaceAllString(text, "${1}${2}[redacted]")
}

// cause is an error without the method and URL that net/http puts before it.
func cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// short is a text that fits a line of a terminal or two.
func short(text string) string {
	const most = 600
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
