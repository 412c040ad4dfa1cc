package release

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// logins are the credentials of a pull secret by registry or registry/path.
type logins map[string]authn.AuthConfig

// readLogins reads a .dockerconfigjson. Its errors name entries and never what
// stands in them.
func readLogins(secret spec.Secret) (logins, error) {
	if strings.TrimSpace(secret.Reveal()) == "" {
		return nil, nil
	}
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if err := json.Unmarshal([]byte(secret.Reveal()), &file); err != nil {
		return nil, errors.New("the pull secret is not JSON of the form {\"auths\": {…}}") // the cause could quote it
	}
	all := logins{}
	for at, entry := range file.Auths {
		login := authn.AuthConfig{
			Username: entry.Username, Password: entry.Password, IdentityToken: entry.IdentityToken, RegistryToken: entry.RegistryToken,
		}
		if entry.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(entry.Auth)
			if err != nil {
				return nil, fmt.Errorf("the pull secret's entry for %s is not base64", at)
			}
			user, password, found := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
			if !found {
				return nil, fmt.Errorf("the pull secret's entry for %s is not USER:PASSWORD in base64", at)
			}
			login.Username, login.Password = user, password
		}
		all[registryKey(at)] = login
	}
	return all, nil
}

// registryKey is an entry's name without what older programs put around it:
// "https://index.docker.io/v1/" is index.docker.io.
func registryKey(at string) string {
	at = strings.TrimPrefix(strings.TrimPrefix(at, "https://"), "http://")
	at = strings.TrimSuffix(at, "/")
	for _, version := range []string{"/v1", "/v2"} {
		at = strings.TrimSuffix(at, version)
	}
	return at
}

// Resolve implements authn.Keychain: the entry with the longest path that a
// repository lies under.
func (l logins) Resolve(target authn.Resource) (authn.Authenticator, error) {
	for key := target.String(); ; {
		if login, found := l[key]; found {
			return authn.FromConfig(login), nil
		}
		cut := strings.LastIndex(key, "/")
		if cut < 0 {
			return authn.Anonymous, nil
		}
		key = key[:cut]
	}
}
