package service

import (
	"cmp"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type wireManifest struct {
	FileName string `json:"file_name"`
	Folder   string `json:"folder"`
	Source   string `json:"manifest_source"`
}

func printManifest(key string, m model.Manifest) wireManifest {
	folder, name := path.Split(key)
	source := "user"
	if m.System {
		source = "system"
	}
	return wireManifest{FileName: name, Folder: strings.TrimSuffix(folder, "/"), Source: source}
}

func (s *Service) listManifests(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	all := c.URL.Query().Get("include_system_generated") == "true"
	list := []wireManifest{}
	for _, key := range slices.Sorted(maps.Keys(cl.Manifests)) {
		if m := cl.Manifests[key]; all || !m.System {
			list = append(list, printManifest(key, m))
		}
	}
	return wire.OK(list)
}

func (s *Service) createManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.Taken[models.CreateManifestParams](c)
	if err := request.CheckManifestName("file_name", *p.FileName); err != nil {
		return wire.Reply{}, err
	}
	folder := cmp.Or(model.Value(p.Folder), "manifests")
	content, err := request.ManifestContent(cl, folder, *p.FileName, *p.Content)
	if err != nil {
		return wire.Reply{}, err
	}
	key := folder + "/" + *p.FileName
	cl.Manifests[key] = model.Manifest{Content: content}
	cl.RecordUse(true, "Custom manifest", nil)
	return wire.Created(printManifest(key, cl.Manifests[key]))
}

func (s *Service) updateManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.Taken[models.UpdateManifestParams](c)
	key := p.Folder + "/" + p.FileName
	m, found := cl.Manifests[key]
	if !found {
		return wire.Reply{}, wire.NotFound("object %s/manifests/%s was not found", cl.ID, key)
	}
	folder, name := *cmp.Or(p.UpdatedFolder, &p.Folder), *cmp.Or(p.UpdatedFileName, &p.FileName)
	if p.UpdatedFileName != nil {
		if err := request.CheckManifestName("updated_file_name", name); err != nil {
			return wire.Reply{}, err
		}
	}
	content := m.Content
	if p.UpdatedContent != nil {
		var err error
		if content, err = request.ManifestContent(cl, folder, name, *p.UpdatedContent); err != nil {
			return wire.Reply{}, err
		}
	}
	delete(cl.Manifests, key)
	key = folder + "/" + name
	cl.Manifests[key] = model.Manifest{Content: content}
	return wire.OK(printManifest(key, cl.Manifests[key]))
}

func (s *Service) deleteManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	delete(cl.Manifests, manifestKey(c))
	own := slices.ContainsFunc(slices.Collect(maps.Values(cl.Manifests)), func(m model.Manifest) bool { return !m.System })
	cl.RecordUse(own, "Custom manifest", nil)
	return wire.Reply{Status: http.StatusOK}, nil
}

func (s *Service) readManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	key := manifestKey(c)
	m, found := cl.Manifests[key]
	if !found {
		return wire.Reply{}, wire.NotFound("object %s/manifests/%s was not found", cl.ID, key)
	}
	return wire.File(path.Base(key), m.Content)
}

func manifestKey(c *wire.Call) string {
	q := c.URL.Query()
	return cmp.Or(q.Get("folder"), "manifests") + "/" + q.Get("file_name")
}
