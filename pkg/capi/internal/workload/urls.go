package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Client reads what stands at URLs that users of a namespace may have written: it calls only addresses that may be called,
// after each redirect too, and of a refusal it passes on the HTTP status alone. The bodies of other answers have no bound.
// All else is as of base, or of a client that trusts the system's certificates where that is nil. It is an error if the
// connections of base cannot be seen, since its transport is of a kind of its own.
func (c Connector) Client(base *http.Client) (*http.Client, error) {
	if base == nil {
		base = &http.Client{}
	}
	transport, is := cmp.Or(base.Transport, http.DefaultTransport).(*http.Transport)
	if !is {
		return nil, errors.New("the addresses that the HTTP client calls cannot be checked: its Transport is no *http.Transport")
	}
	transport = transport.Clone()
	transport.DialContext, transport.DialTLSContext, transport.Proxy = c.Dial, nil, c.Proxy
	guarded := *base
	guarded.Transport = wordless{transport}
	return &guarded, nil
}

// wordless drops what servers say of failures: the text of refusals, of answers that are no HTTP, and of where they redirect to.
type wordless struct{ next http.RoundTripper }

// RoundTrip is of http.RoundTripper.
func (w wordless) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, quietly(err, request)
	}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		err = response.Body.Close()
		response.Body, response.ContentLength = http.NoBody, 0
		response.Status = fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	case response.StatusCode >= http.StatusMultipleChoices:
		if to, wrong := response.Location(); wrong != nil || to.Scheme != "http" && to.Scheme != "https" {
			_ = response.Body.Close() // of an answer that is not read
			return nil, fmt.Errorf("it answers %d %s, without a URL", response.StatusCode, http.StatusText(response.StatusCode))
		}
	default:
		response.Body = &quietBody{response.Body, request}
	}
	return response, err
}

// quietly is an error without what a server has said. The name of a host that a server redirects to is part of that.
func quietly(err error, request *http.Request) error {
	if _, unknown := errors.AsType[*net.DNSError](err); unknown && request.Response != nil {
		return &plainError{"it redirects to a host that is not known", err}
	}
	return quietError(err, "the system", "an HTTP server")
}

// quietBody is a body whose errors do not say what the server has said.
type quietBody struct {
	io.ReadCloser

	request *http.Request
}

// Read is of io.Reader.
func (b *quietBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = quietly(err, b.request)
	}
	return n, err
}
