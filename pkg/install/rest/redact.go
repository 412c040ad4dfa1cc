package rest

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// secretShape is a shape in which a secret may turn up in a text, and what is
// put in its place.
type secretShape struct {
	shape *regexp.Regexp
	by    string
}

// secretShapes are query parameters of presigned URLs, tokens in the paths of
// image URLs, JSON web tokens anywhere, authorisation headers and registry
// credentials. They are compiled when first needed.
var secretShapes = sync.OnceValue(func() []secretShape {
	return []secretShape{
		{regexp.MustCompile(`(?i)\b(api_key|image_token|token|access_token|refresh_token|client_secret|password|x-amz-signature|x-amz-credential|x-amz-security-token|signature)=[^&\s"']+`), "$1=[redacted]"},
		{regexp.MustCompile(`/(bytoken|byapikey)/[^/\s"']+`), "/$1/[redacted]"},
		{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){0,2}`), "[redacted]"},
		{regexp.MustCompile(`(?i)\b(bearer|basic) [A-Za-z0-9+/=._~-]{8,}`), "$1 [redacted]"},
		{regexp.MustCompile(`(?i)(\\?"auth\\?"\s*:\s*\\?")[^"\\]+`), "${1}[redacted]"},
		{regexp.MustCompile(`://[^/\s@"']+@`), "://[redacted]@"},
	}
})

// scrub takes what looks like a secret out of a text that people will read.
func scrub(text string) string {
	for _, s := range secretShapes() {
		text = s.shape.ReplaceAllString(text, s.by)
	}
	return text
}

// scrubURL is a URL for people: no password, no token.
func scrubURL(u *url.URL) string {
	clean := *u
	clean.User = nil
	return scrub(clean.String())
}

// short keeps a text of the service to a length that fits a message.
func short(text string) string {
	const longest = 2000
	text = strings.TrimSpace(text)
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
