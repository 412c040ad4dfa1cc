// Package auth is how the simulated assisted-service knows its callers: not at
// all, by access tokens from a stand-in for the hosted login server, by tokens
// that name an InfraEnv or a cluster, as behind a hub, or by the key pair that
// agent-based media carry. It refuses in the words and shapes of
// the real service's framework.
package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
	"sigs.k8s.io/yaml"
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
	switch mode := Mode(text); mode {
	case "":
		return None, nil
	case None, RHSSO, AgentInstallerLocal:
		return mode, nil
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
	if config.Mode != Local { // which nobody can call
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
	if s.account == "" {
		s.account = "simulator-service-account"
	}
	if s.secret == "" {
		s.secret = rand.Text()
	}
	if s.offline != "" {
		return nil
	}
	offline, err := jwt.Sign(jwt.HS256([]byte(rand.Text())), keyID, claims{
		Type: "Offline", Subject: defaultUsername, IssuedAt: s.config.Clock.Now().Unix(), Client: offlineClient,
	})
	s.offline = offline
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

// digest makes secrets comparable in constant time, whatever their lengths.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
