package transport

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TokenSource is rest.TokenSource.
type TokenSource interface {
	Header(ctx context.Context) (name, value string, err error)
	Refused(value string) bool
	Next() string
}

// The headers of the service's security schemes.
const (
	userHeader    = "Authorization"         // userAuth
	watcherHeader = "Watcher-Authorization" // watcherAuth: may only look
	agentHeader   = "X-Secret-Key"          // agentAuth
)

// Credentials are rest.Credentials.
type Credentials struct {
	Token        spec.Secret
	OfflineToken spec.Secret
	ClientID     string
	ClientSecret spec.Secret
	SSOURL       string
}

// Authorise makes a token source of what the user gave. The clock and the
// client of exchange are used where tokens have to be exchanged.
func Authorise(c Credentials, exchange Exchanger) (TokenSource, error) {
	given := 0
	for _, is := range []bool{!c.Token.IsZero(), !c.OfflineToken.IsZero(), c.ClientID != "" || !c.ClientSecret.IsZero()} {
		if is {
			given++
		}
	}
	refuse := func(text string) (TokenSource, error) {
		return nil, &model.Fault{Code: model.CodeUsage, Op: "authorise", Permanent: true, Err: errors.New(text)}
	}
	switch {
	case given > 1:
		return refuse("more than one of token, offline token and service account is given")
	case !c.Token.IsZero():
		token := strings.TrimSpace(c.Token.Reveal())
		if kind, claims := tokenKind(token); kind == kindExchange {
			return exchange.offline(c.SSOURL, token, claims.client()), nil
		}
		return StaticToken(c.Token), nil
	case !c.OfflineToken.IsZero():
		token := strings.TrimSpace(c.OfflineToken.Reveal())
		_, claims := tokenKind(token)
		return exchange.offline(c.SSOURL, token, claims.client()), nil
	case c.ClientID != "" && !c.ClientSecret.IsZero():
		return exchange.account(c.SSOURL, c.ClientID, strings.TrimSpace(c.ClientSecret.Reveal())), nil
	case given == 1:
		return refuse("a service account has both a client id and a client secret")
	}
	return noAuth{}, nil
}

type kind int

const (
	kindBearer   kind = iota // Authorization: Bearer …
	kindRaw                  // Authorization: …
	kindWatcher              // Watcher-Authorization: …
	kindAgent                // X-Secret-Key: …
	kindExchange             // offline or refresh token
)

type claims struct {
	Typ        string `json:"typ"`
	AuthScheme string `json:"auth_scheme"`
	AZP        string `json:"azp"`
	InfraEnv   string `json:"infra_env_id"`
	Cluster    string `json:"cluster_id"`
}

func (c claims) client() string {
	if c.AZP != "" {
		return c.AZP
	}
	return ssoClient
}

// tokenKind decides by the payload of a JSON web token; its signature is the service's business. Any other token is an
// opaque bearer token. Tokens of agent-based media carry auth_scheme and go without "Bearer"; those of a service beside
// a hub name the one object that they are good for and are taken as an agent's.
func tokenKind(token string) (kind, claims) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return kindBearer, c
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return kindBearer, claims{}
	}
	switch {
	case c.AuthScheme == "watcherAuth":
		return kindWatcher, c
	case c.AuthScheme == "agentAuth":
		return kindAgent, c
	case c.AuthScheme != "":
		return kindRaw, c
	case strings.EqualFold(c.Typ, "Offline"), strings.EqualFold(c.Typ, "Refresh"):
		return kindExchange, c
	case c.InfraEnv != "" || c.Cluster != "":
		return kindAgent, c
	}
	return kindBearer, c
}

type noAuth struct{}

func (noAuth) Header(context.Context) (string, string, error) { return "", "", nil }
func (noAuth) Refused(string) bool                            { return false }
func (noAuth) Next() string {
	return "the service wants a token: give --offline-token-file or --token-file"
}

type staticToken struct{ name, value string }

// StaticToken sends one token, in the way that its kind asks for: a token of
// agent-based installation media as it is, any other as a bearer token. A token
// that already begins with a scheme ("Bearer …") is sent as it is.
func StaticToken(secret spec.Secret) TokenSource {
	token := strings.TrimSpace(secret.Reveal())
	if strings.Contains(token, " ") {
		return &staticToken{userHeader, token}
	}
	switch k, _ := tokenKind(token); k {
	case kindRaw:
		return &staticToken{userHeader, token}
	case kindWatcher:
		return &staticToken{watcherHeader, token}
	case kindAgent:
		return &staticToken{agentHeader, token}
	}
	return &staticToken{userHeader, "Bearer " + token}
}

func (t *staticToken) Header(context.Context) (string, string, error) { return t.name, t.value, nil }
func (t *staticToken) Refused(string) bool                            { return false }
func (t *staticToken) Next() string                                   { return "get a new token and give it with --token-file" }

// String keeps the token out of logs.
func (t *staticToken) String() string { return "[redacted]" }

// GoString keeps the token out of logs, for %#v.
func (t *staticToken) GoString() string { return "[redacted]" }
