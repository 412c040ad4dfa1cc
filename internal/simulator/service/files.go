package service

import (
	"github.com/oaictl/oaictl/internal/simulator/service/installfiles"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (s *Service) ignite(c *model.Cluster) {
	text, err := installfiles.Config(c)
	if err != nil {
		s.filesFailed(c, err.Error())
		return
	}
	creds, err := installfiles.MakeCredentials(s.now(), s.newPassword())
	if err != nil {
		s.filesFailed(c, err.Error())
		return
	}
	c.Credentials = creds
	c.OpenshiftClusterID = s.newID()
	installfiles.Add(c, text)
	c.LastPreparation = model.LastPreparation{Status: preparationDone, Reason: "Installation preparation successful"}
}

// hostIgnition is the pointer ignition of one host, with the user's changes.
func (s *Service) hostIgnition(h *model.Host) (string, error) {
	c := h.Cluster
	if c == nil {
		return "", wire.Conflict("host %s is not bound to a cluster", h.ID)
	}
	if err := downloadable(c); err != nil {
		return "", err
	}
	pool := h.MachineConfigPool
	if pool == "" {
		pool = h.Role
	}
	url := installfiles.ConfigServer(c, pool)
	if h.Kind == model.KindAddedHost {
		url = steps.IgnitionRequest(h).URL
	}
	text := string(installfiles.PointerIgnition(url, h.Name()))
	if h.IgnitionOverrides == "" {
		return text, nil
	}
	return installfiles.MergeJSON(text, h.IgnitionOverrides)
}

func (s *Service) downloadFile(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	name := c.URL.Query().Get("file_name")
	if err := downloadable(cl); err != nil {
		return wire.Reply{}, err
	}
	content, found := cl.Objects[name]
	if !found {
		return wire.Reply{}, wire.Conflict("object %s/%s was not found", cl.ID, name)
	}
	return wire.File(name, content)
}

func clusterFiles() []string {
	return []string{"bootstrap.ign", "master.ign", "metadata.json", "worker.ign", "install-config.yaml",
		"custom_manifests.json", "custom_manifests.yaml", "arbiter.ign"}
}
