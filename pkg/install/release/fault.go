package release

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/oaictl/oaictl/pkg/install"
)

// unreadable is the error for a release that no place gave. What the places said
// decides on the code: a refusal of credentials tells most, for registries answer
// so for images that they have.
func unreadable(ref string, failures []error) error {
	fault := &install.Fault{Code: install.CodeFailure, Op: "read release image", On: ref}
	texts := make([]string, 0, len(failures))
	missing := len(failures) > 0
	for _, failure := range failures {
		texts = append(texts, plain(failure))
		switch status := statusOf(failure); {
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			fault.Code = install.CodeAuth
			fault.Next = "check that the pull secret has an entry for the registry"
			missing = false
		case status != http.StatusNotFound:
			missing = false
		}
		var certificate *tls.CertificateVerificationError
		if errors.As(failure, &certificate) && fault.Next == "" {
			fault.Next = "check the certificate of the registry, and give the one that signed it with --registry-ca-file"
		}
	}
	if missing {
		fault.Code, fault.Permanent = install.CodeNotFound, true
		fault.Next = "check the release image and its mirrors in registries.conf"
	}
	fault.Err = errors.New(strings.Join(texts, "; "))
	return fault
}

// distrust is the error of the request whose certificate was not believed, if that is
// what went wrong: the library goes on to ask without TLS, which nothing here allows,
// and what comes of that explains nothing.
func distrust(err error) error {
	var certificate *tls.CertificateVerificationError
	var asked *url.Error
	if errors.As(err, &certificate) && errors.As(err, &asked) {
		return asked // the first: with TLS
	}
	return err
}

func statusOf(err error) int {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// plain is a failure in one line, without what follows the path of the address
// that was asked, which may hold a token or a signature, and without a page of text
// for an answer.
func plain(err error) string {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		text := err.Error()
		var asked *url.Error
		if errors.As(err, &asked) {
			address, _, _ := strings.Cut(asked.URL, "?")
			text = strings.ReplaceAll(text, asked.URL, address)
		}
		return oneLine(text)
	}
	where, _, _ := strings.Cut(err.Error(), ": ")
	text := where + ": " + http.StatusText(answer.StatusCode)
	for _, detail := range answer.Errors {
		if detail.Message != "" {
			text += " (" + oneLine(detail.Message) + ")"
		}
	}
	return text
}

func oneLine(text string) string {
	const longest = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
