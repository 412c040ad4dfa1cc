package hub

import (
	"net/url"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// openInfraEnv is an address below an InfraEnv, as a link that opens it where the
// service wants to know its callers.
func (h *hub) openInfraEnv(address, id string) string {
	return h.open(address, auth.Grant{Scheme: auth.URLAuth, InfraEnvID: id})
}

func (h *hub) openCluster(address, id string) string {
	return h.open(address, auth.Grant{Scheme: auth.URLAuth, ClusterID: id})
}

func (h *hub) open(address string, grant auth.Grant) string {
	if h.config.Callers == nil || h.config.Callers.Mode() != auth.Local {
		return address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	if h.keys[grant] == "" { // a status does not change by itself
		if h.keys[grant], err = h.config.Callers.Mint(grant); err != nil {
			h.logf("cannot sign %s: %v", parsed.Path, err)
			return address
		}
	}
	query := parsed.Query()
	query.Set("api_key", h.keys[grant])
	parsed.RawQuery = query.Encode()
	return parsed.String()
}
