package request

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

var manifestShape = regexp.MustCompile(`^[^/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$`)

const manifestPattern = `^[^\/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$`

const maxManifest = 1 << 20

// CheckManifestName refuses what a manifest may not be called.
func CheckManifestName(field, name string) error {
	if !manifestShape.MatchString(name) {
		return wire.Malformed("%s in body should match '%s'", field, manifestPattern)
	}
	return nil
}

// ManifestContent decodes and checks a manifest.
func ManifestContent(c *model.Cluster, folder, name, encoded string) ([]byte, error) {
	if strings.ContainsRune(name, ' ') {
		return nil, wire.Refuse(http.StatusUnprocessableEntity, "Cluster manifest %s for cluster %s should not include a space in its name.", name, c.ID)
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, wire.BadRequest("failed to base64-decode cluster manifest content for cluster %s", c.ID)
	}
	if len(content) > maxManifest {
		return nil, wire.BadRequest("Manifest content of file %s/%s for cluster ID %s exceeds the maximum file size of 1MiB", folder, name, c.ID)
	}
	where := folder + "/" + name
	switch {
	case strings.Contains(path.Ext(name), ".patch"):
		return content, checkPatch(c, where, content)
	case path.Ext(name) == ".json":
		if !json.Valid(content) {
			return nil, wire.BadRequest("Manifest content of file %s for cluster ID %s has an illegal JSON format", where, c.ID)
		}
	default:
		if err := yaml.Unmarshal(content, new(any)); err != nil {
			return nil, wire.BadRequest("Manifest content of file %s for cluster ID %s has an invalid YAML format: yaml: %s", where, c.ID, yamlProblem(err))
		}
	}
	return content, nil
}

func checkPatch(c *model.Cluster, where string, content []byte) error {
	var patch any
	if err := yaml.Unmarshal(content, &patch); err != nil {
		return wire.BadRequest("Patch content of file %s for cluster ID %s is invalid: yaml: %s", where, c.ID, yamlProblem(err))
	}
	if list, ok := patch.([]any); !ok || len(list) == 0 {
		return wire.BadRequest("Patch content of file %s for cluster ID %s is invalid: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!map into yamlpatch.Patch", where, c.ID)
	}
	return nil
}

// yamlProblem puts a parser's complaint into the words of the usual YAML library.
func yamlProblem(err error) string {
	if strings.Contains(err.Error(), "map") {
		return "mapping values are not allowed in this context"
	}
	return wire.FirstLine(err.Error())
}
