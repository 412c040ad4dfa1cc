package service

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// FuzzReason reads what a service, or what stands before it, answers to a refused request.
func FuzzReason(f *testing.F) {
	for _, body := range []string{`{"code":"409","reason":"busy"}`, `{"code":1,"message":"busy"}`, "<html>", "\x1b[31m", token} {
		f.Add([]byte(body))
	}
	c := &Client{clean: redact.NewReplacer(token)}
	f.Fuzz(func(t *testing.T, body []byte) {
		reason := c.reasonOf(body)
		if escape.Needed(reason) || !utf8.ValidString(reason) || strings.Contains(reason, token) {
			t.Errorf("%q", reason)
		}
	})
}
