package inmedia

import (
	"context"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// noToken sends none, and says where a medium has one.
type noToken struct{}

// NoToken sends no token, which is for services that want none.
func NoToken() rest.TokenSource { return noToken{} }

func (noToken) Header(context.Context) (name, value string, err error) { return "", "", nil }

func (noToken) Refused(string) bool { return false }

func (noToken) Next() string { return rawToken{}.Next() }

// rawToken is sent as it is, whatever kind of token it looks like.
type rawToken struct{ secret spec.Secret }

// RawToken sends a token in the Authorization header without a word in front of
// it, as the units of agent-based media have it in USER_AUTH_TOKEN.
func RawToken(secret spec.Secret) rest.TokenSource { return rawToken{secret} }

func (t rawToken) Header(context.Context) (name, value string, err error) {
	return "Authorization", strings.TrimSpace(t.secret.Reveal()), nil
}

func (rawToken) Refused(string) bool { return false }
func (rawToken) Next() string {
	return "set USER_AUTH_TOKEN to the token that the medium was made with"
}
