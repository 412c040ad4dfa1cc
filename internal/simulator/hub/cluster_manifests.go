package hub

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
)

// manifestFolder is where the manifests of ConfigMaps go.
const manifestFolder = "openshift"

const manifestRetry = time.Minute

func (h *hub) sendManifests(ctx context.Context, m *clusterMemory, p *pair) error {
	files, err := h.readManifests(ctx, p)
	if err != nil {
		if assisted.IsInput(err) {
			h.later(p.key, manifestRetry)
		}
		return err
	}
	print := fingerprint(files)
	if print == m.manifests || m.manifests == "" && len(files) == 0 {
		return nil
	}
	base := "/v2/clusters/" + m.id + "/manifests"
	var have []struct {
		Folder string `json:"folder"`
		Name   string `json:"file_name"`
	}
	if err := h.backend.Do(ctx, "GET", base, nil, &have); err != nil {
		return err
	}
	for _, old := range have {
		if _, wanted := files[old.Name]; !wanted && old.Folder == manifestFolder {
			query := url.Values{"folder": {old.Folder}, "file_name": {old.Name}}
			if err := h.backend.Do(ctx, "DELETE", base+"?"+query.Encode(), nil, nil); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		body := map[string]any{"folder": manifestFolder, "file_name": name, "content": base64.StdEncoding.EncodeToString([]byte(files[name]))}
		if err := h.backend.Do(ctx, "POST", base, body, nil); err != nil {
			return err
		}
	}
	m.manifests = print
	return nil
}

// readManifests reads the files of all ConfigMaps, in which no name may come twice.
func (h *hub) readManifests(ctx context.Context, p *pair) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range p.install.Manifests() {
		data, err := h.configMap(ctx, p.key.space, name, "")
		if err != nil {
			return nil, err
		}
		for name, content := range data {
			if _, twice := files[name]; twice {
				return nil, assisted.InputFault("Conflict in manifest names: %s is not unique", name)
			}
			files[name] = content
		}
	}
	return files, nil
}

func fingerprint(files map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum.Write([]byte(name + "\x00" + files[name] + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
