// Package auth is how the simulated assisted-service knows its callers: not at
// all, by access tokens from a stand-in for the hosted login server, by tokens
// that name an InfraEnv or a cluster, as behind a hub, or by the key pair that
// agent-based media carry. It refuses in the words and shapes of
// the real service's framework.
package auth

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
)

// Mode is how callers are known (the service's AUTH_TYPE).
type Mode string

const (
	// None asks for nothing.
	None Mode = "none"
	// RHSSO takes access tokens from users and cloud.openshift.com's pull secret from agents, as the hosted service.
	RHSSO Mode = "rhsso"
	// Local takes ES256 tokens that name an InfraEnv or a cluster, from agents and in
	// links, as the service behind a hub. It knows no users. The hub's operator, which
	// there is part of the service, has a token as one (Mint of UserAuth).
	Local Mode = "local"
	// AgentInstallerLocal takes ES256 tokens, raw in their headers, as the service inside agent-based media.
	AgentInstallerLocal Mode = "agent-installer-local"
)

// Modes are the words that ParseMode knows: the modes of a service that people call.
func Modes() []string { return []string{string(None), string(RHSSO), string(AgentInstallerLocal)} }

// ParseMode reads the value of the --auth flag; empty is None.
func ParseMode(text string) (Mode, error) {
	if mode := cmp.Or(text, string(None)); slices.Contains(Modes(), mode) {
		return Mode(mode), nil
	}
	return "", fmt.Errorf("reading authentication mode %q: want one of %v", text, Modes())
}

// Scheme is a security scheme of the service's API description.
type Scheme string

// The schemes, and where their credentials go.
const (
	UserAuth     Scheme = "userAuth"     // header Authorization
	AgentAuth    Scheme = "agentAuth"    // header X-Secret-Key
	WatcherAuth  Scheme = "watcherAuth"  // header Watcher-Authorization
	URLAuth      Scheme = "urlAuth"      // query api_key
	ImageAuth    Scheme = "imageAuth"    // header Image-Token
	ImageURLAuth Scheme = "imageURLAuth" // query image_token
)

// Config is what a Service is made of. Only Clock is required.
type Config struct {
	Mode  Mode
	Clock clock.Clock
	// OfflineToken is the login server's refresh token; empty makes one (Service.OfflineToken).
	OfflineToken string
	// ClientID and ClientSecret are the login server's service account; empty makes them (Service.ServiceAccount).
	ClientID, ClientSecret string
	// PrivateKey signs the tokens of Local and AgentInstallerLocal and the keys in links. Nil makes one.
	PrivateKey *ecdsa.PrivateKey
	// AgentSecret says whether an agent's X-Secret-Key is the cloud.openshift.com
	// entry of a pull secret that the service was given (RHSSO only). Nil takes
	// every well-formed entry.
	AgentSecret func(secret string) bool
	// HasHosts says whether hosts are all of an InfraEnv, for links to their events (Local only). Nil is no.
	HasHosts func(infraEnvID string, hosts []string) bool
}

// Service knows callers. It is safe for concurrent use.
type Service struct {
	config  Config
	account string // service account id
	secret  string // its secret
	offline string
	access  jwt.Key      // signs access tokens (RHSSO)
	local   jwt.Key      // signs everything else
	revoked atomic.Int64 // tokens of a lower generation are expired

	operations []operation
}

// AccessTokenLifetime is how long an access token is good for.
const AccessTokenLifetime = 15 * time.Minute

const (
	keyID           = "oaictl-simulator"
	defaultUsername = "simulator-user"
	adminUsername   = "admin"
)

// New makes a Service, and with it the keys and secrets that config leaves out.
func New(config Config) (*Service, error) {
	var err error
	if config.Mode != Local {
		if config.Mode, err = ParseMode(string(config.Mode)); err != nil {
			return nil, err
		}
	}
	if config.Clock == nil {
		return nil, errors.New("making the authentication service: no clock")
	}
	if config.PrivateKey == nil {
		if config.PrivateKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, fmt.Errorf("making the token key: %w", err)
		}
	}
	s := &Service{config: config, account: config.ClientID, secret: config.ClientSecret, offline: config.OfflineToken}
	if err := yaml.UnmarshalStrict(operations, &s.operations); err != nil {
		return nil, fmt.Errorf("reading the table of operations: %w", err)
	}
	if s.local, err = jwt.ES256(config.PrivateKey); err != nil {
		return nil, err
	}
	if config.Mode != RHSSO {
		return s, nil
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("making the access token key: %w", err)
	}
	s.access = jwt.RS256(private)
	return s, s.fillAccounts()
}

func (s *Service) fillAccounts() error {
	s.account, s.secret = cmp.Or(s.account, "simulator-service-account"), cmp.Or(s.secret, rand.Text())
	offline, err := jwt.Sign(jwt.HS256([]byte(rand.Text())), keyID, claims{
		Type: "Offline", Subject: defaultUsername, IssuedAt: s.config.Clock.Now().Unix(), Client: offlineClient,
	})
	s.offline = cmp.Or(s.offline, offline)
	return err
}

// Mode is how this service knows callers.
func (s *Service) Mode() Mode { return s.config.Mode }

// OfflineToken is what a user trades for access tokens; empty outside RHSSO.
func (s *Service) OfflineToken() string { return s.offline }

// ServiceAccount is what a program trades for access tokens; empty outside RHSSO.
func (s *Service) ServiceAccount() (id, secret string) { return s.account, s.secret }

// ExpireAll makes every token that was handed out so far expired. The offline
// token and the service account stay good: a client can get new ones. Tokens
// that others signed with the service's private key expire for good.
func (s *Service) ExpireAll() { s.revoked.Add(1) }

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
// or in a Basic header. Outside RHSSO it refuses every client.
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
