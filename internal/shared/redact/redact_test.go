package redact

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"GET https://h/x?api_key=abc&cluster_id=1":              "GET https://h/x?api_key=[redacted]&cluster_id=1",
		"GET https://x?X-Amz-Signature=abc&a=b":                 "GET https://x?X-Amz-Signature=[redacted]&a=b",
		"https://u:p@proxy.example.com:3128/":                   "https://[redacted]@proxy.example.com:3128/",
		"https://i/bytoken/eyJhbGci.eyJzdWIi.abc/4.20/full.iso": "https://i/bytoken/[redacted]/4.20/full.iso",
		"http://x/byapikey/abc.def/4.20/full.iso":               "http://x/byapikey/[redacted]/4.20/full.iso",
		"http://x/images/1/pxe-initrd?image_token=abc":          "http://x/images/1/pxe-initrd?image_token=[redacted]",
		`Invalid value: "http://me:hunter2@proxy:3128"`:         `Invalid value: "http://[redacted]@proxy:3128"`,
		"Authorization: Bearer abcdefgh.ijk":                    "Authorization: Bearer [redacted]",
		"eyJhbGciOiJIUzI1.eyJzdWIi.c2ln is expired":             "[redacted] is expired",
		`{"auths":{"quay.io":{"auth":"dTpw"}}}`:                 `{"auths":{"quay.io":{"auth":"[redacted]"}}}`,
		`{\"auths\":{\"q\":{\"auth\":\"c2VjcmV0\"}}}`:           `{\"auths\":{\"q\":{\"auth\":\"[redacted]\"}}}`,
		`{"url":"http://x?token=abc\"","n":1}`:                  `{"url":"http://x?token=[redacted]\"","n":1}`,
		"http://tang:p@ss:w@tang.example.com:7500":              "http://[redacted]@tang.example.com:7500",
		"token sha256~AbC_d-9 is not known":                     "token [redacted] is not known",
		"the host name localhost is forbidden":                  "the host name localhost is forbidden",
		"basic setup":                                           "basic setup",
	} {
		check.Equal(t, Text(text), want)
	}
}

func TestThese(t *testing.T) {
	hide := NewReplacer(`op/q+e"1=`, "short", "")
	for text, want := range map[string]string{
		`token op/q+e"1= is unknown`:          "token [redacted] is unknown",
		`/?t=op%2Fq%2Be%221%3D`:               "/?t=[redacted]",
		`{"message":"op/q+e\"1= is unknown"}`: `{"message":"[redacted] is unknown"}`,
		"in short":                            "in short",
	} {
		check.Equal(t, hide(text), want)
	}
	check.Equal(t, NewReplacer()("as it is"), "as it is")
}

func TestError(t *testing.T) {
	for want, err := range map[string]error{
		"connection refused":                   &url.Error{Op: "Get", URL: "https://h/x?token=abc", Err: errors.New("connection refused")},
		"stopped: connection refused":          errors.New("stopped: connection refused"),
		"proxy https://[redacted]@proxy:3128/": fmt.Errorf("get image: %w", &url.Error{Op: "Get", URL: "https://h/x", Err: errors.New("proxy https://u:p@proxy:3128/")}),
	} {
		check.Equal(t, Error(err), want)
	}
}

func TestURL(t *testing.T) {
	u, _ := url.Parse("https://user:word@h/x?token=abc#part")
	if got := URL(u); !strings.HasPrefix(got, "https://h/x?token=[redacted]") || strings.Contains(got, "word") {
		t.Errorf("got %s", got)
	}
	if u.User == nil {
		t.Error("the URL itself was changed")
	}
}
