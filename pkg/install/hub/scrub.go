package hub

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// secretParts are query parameters and paths by which the service's URLs carry
// tokens, tokens by themselves and behind the name of their scheme, credentials
// of registries, and users of URLs: what a webhook or the schema refuses, such
// as a proxy with its password, it repeats.
var secretParts = regexp.MustCompile(`(?i)((?:api_key|(?:image_|access_|refresh_)?token|password|secret|x-amz-(?:signature|credential|security-token))=)[^&\s"']+` +
	`|(bytoken/|byapikey/)[^/\s"']+` +
	`|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?` +
	`|(\b(?:bearer|basic) )[A-Za-z0-9+/=._~-]{8,}` +
	`|(\\?"auth\\?"\s*:\s*\\?")[^"\\]+` +
	`|(://)[^/\s@"']+(@)`)

// scrub takes secrets out of a text.
func scrub(text string) string {
	return secretParts.ReplaceAllString(text, "${1}${2}${3}${4}${5}[redacted]${6}")
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
