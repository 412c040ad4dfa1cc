package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
)

// claims is the union of what the tokens carry. Times are seconds since 1970.
type claims struct {
	Type       string `json:"typ,omitempty"`
	Subject    string `json:"sub,omitempty"`
	Username   string `json:"preferred_username,omitempty"`
	Client     string `json:"azp,omitempty"`
	Scheme     Scheme `json:"auth_scheme,omitempty"`
	InfraEnvID string `json:"infra_env_id,omitempty"`
	ClusterID  string `json:"cluster_id,omitempty"`
	IssuedAt   int64  `json:"iat,omitempty"`
	Expires    int64  `json:"exp,omitempty"`
	// Generation is the service's count of ExpireAll at the time of issue.
	Generation int64 `json:"gen,omitempty"`
}

// Grant says what a token is to be good for.
type Grant struct {
	Scheme Scheme
	// Username is a user's name (RHSSO); empty is the stand-in user.
	Username string
	// InfraEnvID or ClusterID is the one object that a token of a link opens, and an agent's under Local.
	InfraEnvID, ClusterID string
	// Lifetime zero is 15 minutes for a user's access token under RHSSO, and for ever otherwise.
	Lifetime time.Duration
}

// Mint makes a token. Under RHSSO there is none for agents and watchers: agents
// send a part of the pull secret. Under None no token is ever asked for, and
// Mint fails for the schemes in headers.
func (s *Service) Mint(grant Grant) (string, error) {
	now := s.config.Clock.Now()
	c := claims{
		InfraEnvID: grant.InfraEnvID, ClusterID: grant.ClusterID,
		IssuedAt: now.Unix(), Generation: s.revoked.Load(),
	}
	key, lifetime := s.local, grant.Lifetime
	switch grant.Scheme {
	case UserAuth, AgentAuth, WatcherAuth:
		switch {
		case s.config.Mode == AgentInstallerLocal, s.config.Mode == Local && grant.Scheme == UserAuth:
			c.Scheme = grant.Scheme
		case s.config.Mode == Local && grant.Scheme == AgentAuth && grant.InfraEnvID != "":
		case s.config.Mode == RHSSO && grant.Scheme == UserAuth:
			key = s.access
			c.Type, c.Client, c.Username = "Bearer", offlineClient, defaultUsername
			if grant.Username != "" {
				c.Username = grant.Username
			}
			c.Subject = c.Username
			if lifetime == 0 {
				lifetime = AccessTokenLifetime
			}
		default:
			return "", fmt.Errorf("making a token: mode %s has none for %s", s.config.Mode, grant.Scheme)
		}
	case URLAuth, ImageAuth, ImageURLAuth:
		if (grant.InfraEnvID == "") == (grant.ClusterID == "") {
			return "", fmt.Errorf("making a token: %s is for one infra-env or one cluster", grant.Scheme)
		}
	default:
		return "", fmt.Errorf("making a token: no scheme %q", grant.Scheme)
	}
	if lifetime != 0 {
		c.Expires = now.Add(lifetime).Unix()
	}
	return jwt.Sign(key, keyID, c)
}

// errExpired is a token whose time has passed, or that ExpireAll reached.
var errExpired = errors.New("token is expired")

func (s *Service) read(token string, key jwt.Key) (claims, error) {
	var c claims
	if err := jwt.Verify(token, key, &c); err != nil {
		return claims{}, err
	}
	expired := c.Expires != 0 && s.config.Clock.Now().Unix() >= c.Expires
	if expired || c.Generation < s.revoked.Load() {
		return claims{}, errExpired
	}
	return c, nil
}

// SigningKey is the service's ES256 key, for links that it signs itself.
func (s *Service) SigningKey() jwt.Key { return s.local }

// TokenPath is where the stand-in login server gives access tokens, under --sso-url.
const TokenPath = "/auth/realms/redhat-external/protocol/openid-connect/token"

// offlineClient is the client id that users' tools log in as.
const offlineClient = "cloud-services"

type tokenAnswer struct {
	AccessToken      string `json:"access_token"`
	ExpiresIn        int64  `json:"expires_in"` // seconds
	RefreshExpiresIn int64  `json:"refresh_expires_in"`
	RefreshToken     string `json:"refresh_token,omitempty"`
	TokenType        string `json:"token_type"`
	NotBefore        int64  `json:"not-before-policy"`
	Scope            string `json:"scope"`
}

type tokenError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// Login is the stand-in login server. It answers TokenPath: a refresh token for
// the client cloud-services, or a service account's id and secret, in the form
// or in a Basic header. Outside RHSSO it knows nobody.
func (s *Service) Login() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+TokenPath, s.giveToken)
	return mux
}

func (s *Service) giveToken(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		answerLogin(w, http.StatusBadRequest, tokenError{"invalid_request", "the form cannot be read"})
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	answer := tokenAnswer{ExpiresIn: int64(AccessTokenLifetime.Seconds()), TokenType: "Bearer", Scope: "openid"}
	username := ""
	switch grant := r.PostForm.Get("grant_type"); grant {
	case "refresh_token":
		if id != offlineClient {
			answerLogin(w, http.StatusUnauthorized, tokenError{"invalid_client", "Invalid client or Invalid client credentials"})
			return
		}
		if s.offline == "" || !sameText(r.PostForm.Get("refresh_token"), s.offline) {
			answerLogin(w, http.StatusBadRequest, tokenError{"invalid_grant", "Invalid refresh token"})
			return
		}
		answer.RefreshToken, answer.Scope = s.offline, "openid offline_access"
	case "client_credentials":
		if s.secret == "" || !sameText(id, s.account) || !sameText(secret, s.secret) {
			answerLogin(w, http.StatusUnauthorized, tokenError{"unauthorized_client", "Invalid client or Invalid client credentials"})
			return
		}
		username = "service-account-" + s.account
	default:
		answerLogin(w, http.StatusBadRequest, tokenError{"unsupported_grant_type", "Unsupported grant_type"})
		return
	}
	token, err := s.Mint(Grant{Scheme: UserAuth, Username: username})
	if err != nil {
		answerLogin(w, http.StatusInternalServerError, tokenError{"server_error", "no token could be made"})
		return
	}
	answer.AccessToken = token
	answerLogin(w, http.StatusOK, answer)
}

func answerLogin(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only when the caller is gone
}
