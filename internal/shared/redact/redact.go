// Package redact takes out of texts that people will read what looks like a
// secret: a service repeats in its answers what it was sent, and more.
package redact

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// shape is one in which a secret may turn up.
type shape struct {
	// hints are in every text that has a secret of this kind, and are searched for first, for speed.
	hints []string
	of    *regexp.Regexp
	by    string // what is put in its place
}

// shapes are query parameters of presigned URLs, tokens in paths of image URLs, JSON
// web tokens and OpenShift's, authorisation headers, auths of pull secrets, and users
// of URLs.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{
			[]string{"="},
			regexp.MustCompile(`(?i)\b(api_key|(?:image_|access_|refresh_)?token|client_secret|secret|password|signature|` +
				`x-amz-(?:signature|credential|security-token))=[^&\s"'\\]+`),
			"$1=[redacted]",
		},
		{[]string{"/by"}, regexp.MustCompile(`/(bytoken|byapikey)/[^/\s"'\\]+`), "/$1/[redacted]"},
		{[]string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){0,2}`), "[redacted]"},
		{[]string{"sha256~"}, regexp.MustCompile(`sha256~[A-Za-z0-9_-]+`), "[redacted]"},
		{[]string{"earer ", "EARER ", "asic ", "ASIC "}, regexp.MustCompile(`(?i)\b(bearer|basic) [A-Za-z0-9+/=._~-]{8,}`), "$1 [redacted]"},
		{[]string{`auth"`, `auth\"`}, regexp.MustCompile(`(auth\\?"\s*:\s*\\?")[^"\\]+`), "${1}[redacted]"},
		{[]string{"@"}, regexp.MustCompile(`://[^/\s"'\\]+@`), "://[redacted]@"},
	}
})

// Text is a text without what looks like a secret.
func Text(text string) string {
	for _, s := range shapes() {
		if slices.ContainsFunc(s.hints, func(hint string) bool { return strings.Contains(text, hint) }) {
			text = s.of.ReplaceAllString(text, s.by)
		}
	}
	return text
}

// shortest is the least length of a secret: replacing every "a" would hide the text.
const shortest = 6

// NewReplacer takes secrets out of texts: as they are, and as URLs and JSON have them.
func NewReplacer(secrets ...string) func(text string) string {
	var pairs []string
	for _, secret := range secrets {
		if len(secret) < shortest {
			continue
		}
		inJSON, _ := json.Marshal(secret) // a text: cannot fail
		slashed := strings.ReplaceAll(secret, "/", `\/`)
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(inJSON[1 : len(inJSON)-1]), slashed} {
			pairs = append(pairs, form, "[redacted]")
		}
	}
	if len(pairs) == 0 {
		return func(text string) string { return text }
	}
	return strings.NewReplacer(pairs...).Replace
}

// Error is what an error of a call says, without method, URL and secrets.
func Error(err error) string {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err
	}
	return Text(err.Error())
}

// URL is a URL for people: no user, no token.
func URL(u *url.URL) string {
	clean := *u
	clean.User = nil
	return Text(clean.String())
}
