package simulator

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// tokenFile is a file that lets a caller in.
type tokenFile struct{ name, text, what string }

// writeTokens writes what a caller needs to be let in: a token for each kind of
// caller that the mode has, and what is exchanged for tokens. It says which
// files those are, and how one is used.
func (o *serveOptions) writeTokens(mode auth.Mode, callers *auth.Service, address string) error {
	if mode == auth.None {
		return nil
	}
	dir, err := base.Folder(o.TokenDir)
	if err != nil {
		return err
	}
	files, err := tokenFiles(mode, callers)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(path, []byte(file.text+"\n"), 0o600); err != nil {
			return base.FileFault("write", path, err)
		}
		o.Say("%s: %s", path, file.what)
	}
	o.Say("Next: %s", o.letIn(mode, dir, address))
	return nil
}

// tokenFiles are what is written for a mode. Only the access token of RHSSO
// ends, as there.
func tokenFiles(mode auth.Mode, callers *auth.Service) ([]tokenFile, error) {
	var files []tokenFile
	mint := func(name string, scheme auth.Scheme, what string) error {
		token, err := callers.Mint(auth.Grant{Scheme: scheme})
		files = append(files, tokenFile{name, token, what})
		return err
	}
	if mode == auth.AgentInstallerLocal {
		for _, kind := range []struct {
			name   string
			scheme auth.Scheme
			what   string
		}{
			{"token", auth.UserAuth, "a user's token (--token-file), without end"},
			{"agent-token", auth.AgentAuth, "what machines send (simulator hosts --host-token-file), without end"},
			{"watcher-token", auth.WatcherAuth, "a token that may only look (--token-file), without end"},
		} {
			if err := mint(kind.name, kind.scheme, kind.what); err != nil {
				return nil, err
			}
		}
		return files, nil
	}
	id, secret := callers.ServiceAccount()
	files = append(files,
		tokenFile{"offline-token", callers.OfflineToken(), "the offline token (--offline-token-file), without end"},
		tokenFile{"client-id", id, "the service account's id (--client-id)"},
		tokenFile{"client-secret", secret, "the service account's secret (--client-secret-file)"})
	err := mint("token", auth.UserAuth, "an access token (--token-file), which ends after "+auth.AccessTokenLifetime.String()+" of the service's time")
	return files, err
}

// letIn is a command line that the service lets in.
func (o *serveOptions) letIn(mode auth.Mode, dir, address string) string {
	words := []string{o.Identity.Name, "get", "clusters", "--service-url", address}
	if mode == auth.RHSSO {
		words = append(words, "--offline-token-file", filepath.Join(dir, "offline-token"), "--sso-url", address)
	} else {
		words = append(words, "--token-file", filepath.Join(dir, "token"))
	}
	if o.Cert != "" {
		words = append(words, "--ca-file", o.Cert)
	}
	for i, word := range words[1:] {
		words[i+1] = names.Quoted(word)
	}
	return strings.Join(words, " ")
}
