package cli

import (
	"os"
	"path/filepath"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// writeTokens writes what a caller needs to be let in: a token for each kind of
// caller that the mode has, and what is exchanged for tokens.
func (o *serveOptions) writeTokens(mode auth.Mode, callers *auth.Service) error {
	if mode == auth.None {
		return nil
	}
	dir, err := folder(o.TokenDir)
	if err != nil {
		return err
	}
	files := map[string]string{}
	schemes := map[string]auth.Scheme{"token": auth.UserAuth}
	if mode == auth.AgentInstallerLocal {
		schemes["agent-token"], schemes["watcher-token"] = auth.AgentAuth, auth.WatcherAuth
	} else {
		files["offline-token"] = callers.OfflineToken()
		files["client-id"], files["client-secret"] = callers.ServiceAccount()
	}
	for name, scheme := range schemes {
		token, err := callers.Mint(auth.Grant{Scheme: scheme})
		if err != nil {
			return err
		}
		files[name] = token
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			return fileFault("write", path, err)
		}
	}
	return nil
}
