package service

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// wireManifest is how a manifest is listed.
type wireManifest struct {
	FileName string `json:"file_name"`
	Folder   string `json:"folder"`
	Source   string `json:"manifest_source"`
}

// manifestShape is what a manifest's file may be called.
var manifestShape = regexp.MustCompile(`^[^/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$`)

const manifestPattern = `^[^\/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$`

// maxManifest is how large a manifest may be.
const maxManifest = 1 << 20

func printManifest(key string, m model.Manifest) wireManifest {
	folder, name := path.Split(key)
	source := "user"
	if m.System {
		source = "system"
	}
	return wireManifest{FileName: name, Folder: strings.TrimSuffix(folder, "/"), Source: source}
}

func (s *Service) listManifests(c *wire.Call) (wire.Reply, error) {
	cl, err := s.storedCluster(c.PathValue("cluster_id"), "Object Not Found")
	if err != nil {
		return wire.Reply{}, err
	}
	all := c.URL.Query().Get("include_system_generated") == "true"
	list := []wireManifest{}
	for _, key := range slices.Sorted(maps.Keys(cl.Manifests)) {
		if m := cl.Manifests[key]; all || !m.System {
			list = append(list, printManifest(key, m))
		}
	}
	return wire.OK(list)
}

func checkManifestName(field, name string) error {
	if !manifestShape.MatchString(name) {
		return wire.Malformed("%s in body should match '%s'", field, manifestPattern)
	}
	return nil
}

func (s *Service) createManifest(c *wire.Call) (wire.Reply, error) {
	cl, err := s.storedCluster(c.PathValue("cluster_id"), "Object Not Found")
	if err != nil {
		return wire.Reply{}, err
	}
	p := wire.Taken[models.CreateManifestParams](c)
	if err := checkManifestName("file_name", *p.FileName); err != nil {
		return wire.Reply{}, err
	}
	folder := model.Value(p.Folder)
	if folder == "" {
		folder = "manifests"
	}
	content, err := manifestContent(cl, folder, *p.FileName, *p.Content)
	if err != nil {
		return wire.Reply{}, err
	}
	key := folder + "/" + *p.FileName
	cl.Manifests[key] = model.Manifest{Content: content}
	cl.RecordUse(true, "Custom manifest", nil)
	return wire.Created(printManifest(key, cl.Manifests[key]))
}

// manifestContent decodes and checks a manifest.
func manifestContent(c *model.Cluster, folder, name, encoded string) ([]byte, error) {
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

// checkPatch wants a list of JSON patch operations.
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

func (s *Service) updateManifest(c *wire.Call) (wire.Reply, error) {
	cl, err := s.storedCluster(c.PathValue("cluster_id"), "Object Not Found")
	if err != nil {
		return wire.Reply{}, err
	}
	p := wire.Taken[models.UpdateManifestParams](c)
	key := p.Folder + "/" + p.FileName
	m, found := cl.Manifests[key]
	if !found {
		return wire.Reply{}, wire.NotFound("object %s/manifests/%s was not found", cl.ID, key)
	}
	folder, name := p.Folder, p.FileName
	if p.UpdatedFolder != nil {
		folder = *p.UpdatedFolder
	}
	if p.UpdatedFileName != nil {
		name = *p.UpdatedFileName
		if err := checkManifestName("updated_file_name", name); err != nil {
			return wire.Reply{}, err
		}
	}
	content := m.Content
	if p.UpdatedContent != nil {
		if content, err = manifestContent(cl, folder, name, *p.UpdatedContent); err != nil {
			return wire.Reply{}, err
		}
	}
	delete(cl.Manifests, key)
	key = folder + "/" + name
	cl.Manifests[key] = model.Manifest{Content: content}
	return wire.OK(printManifest(key, cl.Manifests[key]))
}

func (s *Service) deleteManifest(c *wire.Call) (wire.Reply, error) {
	cl, key, err := s.manifestOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	delete(cl.Manifests, key)
	own := slices.ContainsFunc(slices.Collect(maps.Values(cl.Manifests)), func(m model.Manifest) bool { return !m.System })
	cl.RecordUse(own, "Custom manifest", nil)
	return wire.Reply{Status: http.StatusOK}, nil
}

func (s *Service) readManifest(c *wire.Call) (wire.Reply, error) {
	cl, key, err := s.manifestOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	m, found := cl.Manifests[key]
	if !found {
		return wire.Reply{}, wire.NotFound("object %s/manifests/%s was not found", cl.ID, key)
	}
	return wire.File(path.Base(key), m.Content)
}

// manifestOf reads which manifest the query names.
func (s *Service) manifestOf(c *wire.Call) (*model.Cluster, string, error) {
	cl, err := s.storedCluster(c.PathValue("cluster_id"), "Object Not Found")
	if err != nil {
		return nil, "", err
	}
	q := c.URL.Query()
	folder, name := q.Get("folder"), q.Get("file_name")
	if folder == "" {
		folder = "manifests"
	}
	return cl, folder + "/" + name, nil
}
