package rest

import (
	"net/http"

	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// Exchange is one request and its answer, for a debug log: Method, URL, Status (0:
// there was no answer), Duration, Attempt (1 for the first) and Error. It holds no
// secret: no body, no header, and the URL without tokens.
type Exchange = transport.Exchange

// TokenSource gives requests their authorisation. Header is the header that
// authorises a request, Refused is told that the service answered 401 to it, and Next
// is what a person can do about a refusal.
type TokenSource = transport.TokenSource

// Credentials are what a user has to identify with: at most one of Token,
// OfflineToken, and ClientID with ClientSecret. SSOURL is where tokens are exchanged;
// Red Hat's if empty.
type Credentials = transport.Credentials

// Exchanger is what exchanging tokens needs: a Client that verifies certificates, a
// Clock, and the CAFile that Client was told to trust, for errors.
type Exchanger = transport.Exchanger

// Authorise makes a token source of what the user gave. The clock and the
// client of exchange are used where tokens have to be exchanged.
func Authorise(c Credentials, exchange Exchanger) (TokenSource, error) {
	return transport.Authorise(c, exchange)
}

// HTTPClient is a client that trusts the system's certificates and those of
// caFile (PEM, "" for none), or every certificate if insecure. It follows redirects
// to wherever content may lie, but for those from https to http. A file that cannot
// be read or holds no certificate is an error with CodeUsage.
func HTTPClient(caFile string, insecure bool) (*http.Client, error) {
	return transport.HTTPClient(caFile, insecure)
}
