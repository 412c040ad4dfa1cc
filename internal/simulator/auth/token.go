package auth

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
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
	// InfraEnvID or ClusterID is the one object that a URLAuth, ImageAuth or
	// ImageURLAuth token opens, and an agent's under Local.
	InfraEnvID, ClusterID string
	// Lifetime is how long it is good for. Zero is 15 minutes for a user's
	// access token under RHSSO, and for ever otherwise.
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

// PublicKeyPEM is the half of the key pair that others check tokens with
// (EC_PUBLIC_KEY_PEM, before its base64).
func (s *Service) PublicKeyPEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&s.config.PrivateKey.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("encoding the public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// SigningKey is the service's ES256 key, for links that it signs itself.
func (s *Service) SigningKey() jwt.Key { return s.local }
