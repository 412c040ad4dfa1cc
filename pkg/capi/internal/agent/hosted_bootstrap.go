package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/oaictl/oaictl/pkg/capi/internal/ignitionurl"
)

// bootstrapData is what the bootstrap data of a machine of a hosted cluster says: where its Ignition
// is fetched from, and what is shown there.
type bootstrapData struct {
	pool    string // the last part of the URL's path, by which a machine config pool is asked for
	token   string
	headers map[string]string // without the token
}

const (
	headerAuthorization = "Authorization"
	bearer              = "Bearer "
)

// readBootstrap reads an Ignition config that does nothing but take another one's place: it has exactly one
// config to merge. The service fetches that one for the machine, and can fetch no more.
func readBootstrap(data []byte) (bootstrapData, error) {
	var config struct {
		Ignition struct {
			Version string `json:"version"`
			Config  struct {
				Merge []struct {
					Source  string `json:"source"`
					Headers []struct {
						Name  string `json:"name"`
						Value string `json:"value"`
					} `json:"httpHeaders"`
				} `json:"merge"`
			} `json:"config"`
		} `json:"ignition"`
	}
	out := bootstrapData{headers: map[string]string{}}
	if err := json.Unmarshal(data, &config); err != nil {
		return out, errors.New("the bootstrap data is not an Ignition config: it is not a JSON object")
	}
	if !strings.HasPrefix(config.Ignition.Version, "3.") {
		return out, fmt.Errorf("the bootstrap data is not an Ignition config of version 3, but of version %q", config.Ignition.Version)
	}
	merge := config.Ignition.Config.Merge
	if len(merge) != 1 {
		return out, fmt.Errorf("the bootstrap data has %d configs to merge (ignition.config.merge), and the service fetches exactly one for a "+
			"machine of a hosted cluster", len(merge))
	}
	source, err := ignitionurl.Parse(merge[0].Source)
	if err != nil {
		return out, fmt.Errorf("the source of the config that the bootstrap data merges %w", err)
	}
	if out.pool = path.Base(source.Path); out.pool == "." || out.pool == "/" {
		out.pool = ""
	}
	for _, h := range merge[0].Headers {
		token, isToken := strings.CutPrefix(h.Value, bearer)
		if strings.EqualFold(h.Name, headerAuthorization) && isToken {
			out.token = token
			continue
		}
		out.headers[h.Name] = h.Value
	}
	return out, nil
}
