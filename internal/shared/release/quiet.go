package release

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// finding is what this package has found to be wrong, in its own words. The cause, which may be in those of a registry,
// is wrapped beside it.
type finding string

func (f finding) Error() string { return string(f) }

const (
	errPlain      = finding("it is only reached without TLS, and registries.conf does not say insecure = true for it")
	errPlainRealm = finding("the registry sends for a token to an address without TLS, which is taken only on the host of an insecure " +
		"registry that is itself reached without TLS")
	errSentOn   = finding("the server that gives tokens sends the login on to another host")
	errNoRealm  = finding("the registry wants a token, and does not say from where")
	errNoToken  = finding("the server that gives tokens for the registry gives none")
	errTooLarge = finding("the registry's answer is larger than a release needs")
	errLong     = finding("its version is longer than a version is")
)

// quieted is an error without what a registry has said.
type quieted struct {
	text string
	err  error
}

func (q *quieted) Error() string { return q.text }
func (q *quieted) Unwrap() error { return q.err }

// quiet keeps of an error what does not come from a registry, the HTTP status, and the standard code of its error.
func quiet(err error) error {
	return &quieted{oneLine(quietText(err)), err}
}

func quietText(err error) string {
	if answer, is := errors.AsType[*transport.Error](err); is {
		return statusOf(answer)
	}
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return "its certificate is not trusted for its address"
	}
	if connection, is := errors.AsType[*net.OpError](err); is {
		return connection.Error()
	}
	if resolution, is := errors.AsType[*net.DNSError](err); is {
		return resolution.Error()
	}
	if refusal, is := errors.AsType[*refusedProxy](err); is {
		return refusal.Error()
	}
	if own, is := errors.AsType[finding](err); is {
		return own.Error()
	}
	network, is := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), is && network.Timeout():
		return "it does not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends the connection too soon"
	}
	return "it does not answer as a registry of images does"
}

// refusedProxy is why Options.Proxy has refused a request.
type refusedProxy struct{ error }

func (r *refusedProxy) Unwrap() error { return r.error }

// statusOf is the HTTP status of an answer, and the codes of the registry's errors.
func statusOf(answer *transport.Error) string {
	text := fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	var said []transport.ErrorCode
	for _, detail := range answer.Errors {
		if slices.Contains(errorCodes(), detail.Code) && !slices.Contains(said, detail.Code) {
			said = append(said, detail.Code)
			text += ", " + string(detail.Code)
		}
	}
	return text
}

// errorCodes are those of the distribution specification that an answer to reading may have.
func errorCodes() []transport.ErrorCode {
	return []transport.ErrorCode{
		transport.BlobUnknownErrorCode, transport.DigestInvalidErrorCode, transport.ManifestBlobUnknownErrorCode,
		transport.ManifestInvalidErrorCode,
		transport.ManifestUnknownErrorCode, transport.NameInvalidErrorCode, transport.NameUnknownErrorCode, transport.TagInvalidErrorCode,
		transport.UnauthorizedErrorCode, transport.DeniedErrorCode, transport.UnsupportedErrorCode, transport.TooManyRequestsErrorCode,
		transport.UnknownErrorCode, transport.UnavailableErrorCode,
	}
}
