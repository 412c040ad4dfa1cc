package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

func (s *Service) registerInfraEnv(c *wire.Call) (wire.Reply, error) {
	p := wire.Taken[request.InfraEnvCreateParams](c)
	if err := request.CheckImageType(p.ImageType); err != nil {
		return wire.Reply{}, err
	}
	now := s.now()
	e := &model.InfraEnv{}
	e.ID = s.newID()
	e.Kind, e.Href, e.UserName, e.EmailDomain = "InfraEnv", Base+"/v2/infra-envs/"+e.ID, c.Owner(), "Unknown"
	e.CreatedAt, e.UpdatedAt = model.Micros(now), model.Micros(now)
	e.Name, e.Proxy, e.SigningKey = *p.Name, &model.Proxy{}, s.newSecret()
	if err := s.fillInfraEnv(e, &p); err != nil {
		return wire.Reply{}, err
	}
	if p.IgnitionConfigOverride != "" {
		if err := s.checkEmbedArea(e); err != nil {
			return wire.Reply{}, err
		}
	}
	s.infraEnvs[e.ID] = e
	s.infraEnvOrder = append(s.infraEnvOrder, e.ID)
	if cl := s.clusters[e.ClusterID]; cl != nil {
		request.UseIgnition(cl, request.LevelInfraEnv, p.IgnitionConfigOverride != "")
		cl.RecordUse(e.StaticNetworkConfig != "", "Static Network Config", nil)
		cl.RecordUse(len(p.KernelArguments) > 0, "discovery kernel arguments", nil)
		request.UseArchitecture(cl, e.CPUArchitecture)
	}
	s.noteInfraEnv(e, "infra_env_registered", severityInfo, "Registered infra env")
	s.renewImage(e)
	return wire.Created(e.PrintedInfraEnv)
}

func (s *Service) fillInfraEnv(e *model.InfraEnv, p *request.InfraEnvCreateParams) error {
	if err := request.CheckPullSecret(*p.PullSecret); err != nil {
		return wire.BadRequest("pull secret for new infraEnv is invalid: %s", err)
	}
	e.PullSecret, e.PullSecretSet = *p.PullSecret, true
	if err := s.bindInfraEnv(e, p); err != nil {
		return err
	}
	image, err := versions.OSImageFor(p.OpenshiftVersion, e.CPUArchitecture)
	if err != nil {
		return wire.BadRequest("No OS image for Openshift version %s and architecture %s: %s", p.OpenshiftVersion, e.CPUArchitecture, err)
	}
	e.OpenshiftVersion = image.OpenshiftVersion
	e.Type = cmp.Or(p.ImageType, discovery.FullISO)
	if err := s.fitsPlatform(e); err != nil {
		return err
	}
	update := request.InfraEnvUpdateParams{NtpSources: p.NtpSources, RendezvousIP: p.RendezvousIP, NetworkDiscoveryDelay: p.NetworkDiscoveryDelay}
	update.AdditionalNtpSources, update.IgnitionConfigOverride = p.AdditionalNtpSources, p.IgnitionConfigOverride
	update.AdditionalTrustBundle = new(strings.TrimSpace(p.AdditionalTrustBundle))
	update.KernelArguments, update.Proxy, update.SSHAuthorizedKey = p.KernelArguments, p.Proxy, p.SSHAuthorizedKey
	update.StaticNetworkConfig = p.StaticNetworkConfig
	return request.ChangeInfraEnv(e, &update)
}

// fitsPlatform refuses an image that the platform of the infra-env's cluster does not start from.
func (s *Service) fitsPlatform(e *model.InfraEnv) error {
	cl := s.clusters[e.ClusterID]
	if cl == nil || e.Type != discovery.FullISO || !cl.OnOracleCloud() {
		return nil
	}
	return wire.BadRequest("cannot use Full ISO because it's not compatible with Oracle Cloud Infrastructure external platform")
}

func (s *Service) bindInfraEnv(e *model.InfraEnv, p *request.InfraEnvCreateParams) error {
	e.CPUArchitecture = p.CPUArchitecture
	if e.CPUArchitecture == "aarch64" {
		e.CPUArchitecture = "arm64"
	}
	if p.ClusterID == nil {
		e.CPUArchitecture = cmp.Or(e.CPUArchitecture, versions.X86)
		return nil
	}
	cl := s.clusters[p.ClusterID.String()]
	if cl == nil {
		return wire.NotFound("Cluster ID %s not found", p.ClusterID)
	}
	own := cl.CPUArchitecture
	if own == "multi" {
		own = ""
	}
	e.ClusterID, e.CPUArchitecture = cl.ID, cmp.Or(e.CPUArchitecture, own, versions.X86)
	if own != "" && own != e.CPUArchitecture {
		return wire.BadRequest("Specified CPU architecture (%s) doesn't match the cluster (%s)", e.CPUArchitecture, own)
	}
	return nil
}

func (s *Service) renewImage(e *model.InfraEnv) {
	url, expires := s.cfg.ImageURL(imageOf(e))
	e.DownloadURL, e.ExpiresAt = url, model.Millis(expires.UTC())
	details := `Image type is "` + e.Type + `"`
	if e.Proxy != nil && model.Value(e.Proxy.HTTPProxy) != "" {
		details = fmt.Sprintf(`proxy URL is "%s", `, *e.Proxy.HTTPProxy) + details
	}
	key := "set"
	if e.SSHAuthorizedKey == "" {
		key = "not set"
	}
	details += ", SSH public key is " + key
	s.noteInfraEnv(e, "image_info_updated", severityInfo, "Updated image information (%s)", details)
}

func imageOf(e *model.InfraEnv) ImageRequest {
	version := e.OpenshiftVersion
	if image, err := versions.OSImageFor(e.OpenshiftVersion, e.CPUArchitecture); err == nil {
		version = image.OpenshiftVersion
	}
	return ImageRequest{InfraEnvID: e.ID, Version: version, Arch: e.CPUArchitecture, Type: e.Type, SigningKey: e.SigningKey}
}

func (s *Service) listInfraEnvs(c *wire.Call) (wire.Reply, error) {
	q := c.URL.Query()
	list := []model.PrintedInfraEnv{}
	for _, e := range s.infraEnvsInOrder() {
		if id := q.Get("cluster_id"); id != "" && e.ClusterID != id {
			continue
		}
		if owner := q.Get("owner"); !c.Sees(e.UserName) || owner != "" && e.UserName != owner {
			continue
		}
		list = append(list, e.PrintedInfraEnv)
	}
	return wire.OK(list)
}

func (s *Service) readInfraEnv(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	return wire.OK(e.PrintedInfraEnv)
}

func (s *Service) updateInfraEnv(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	p := wire.Taken[request.InfraEnvUpdateParams](c)
	if err := request.CheckImageType(p.ImageType); err != nil {
		return wire.Reply{}, err
	}
	changed := *e
	if p.PullSecret != "" {
		if err := request.CheckPullSecret(p.PullSecret); err != nil {
			return wire.Reply{}, wire.BadRequest("pull secret for new infraEnv is invalid: %s", err)
		}
		changed.PullSecret = p.PullSecret
	}
	if model.Value(p.OpenshiftVersion) != "" {
		image, err := versions.OSImageFor(*p.OpenshiftVersion, e.CPUArchitecture)
		if err != nil {
			return wire.Reply{}, wire.BadRequest("%s", err)
		}
		changed.OpenshiftVersion = image.OpenshiftVersion
	}
	changed.Type = cmp.Or(p.ImageType, e.Type)
	if err := request.ChangeInfraEnv(&changed, &p); err != nil {
		return wire.Reply{}, err
	}
	if p.IgnitionConfigOverride != "" && p.IgnitionConfigOverride != e.IgnitionConfigOverride {
		if err := s.checkEmbedArea(&changed); err != nil {
			return wire.Reply{}, err
		}
	}
	if cl := s.clusters[e.ClusterID]; cl != nil {
		if p.IgnitionConfigOverride != "" && p.IgnitionConfigOverride != e.IgnitionConfigOverride {
			request.UseIgnition(cl, request.LevelInfraEnv, true)
		}
		if changed.StaticNetworkConfig != e.StaticNetworkConfig {
			cl.RecordUse(changed.StaticNetworkConfig != "", "Static Network Config", nil)
		}
		if p.KernelArguments != nil {
			cl.RecordUse(len(p.KernelArguments) > 0, "discovery kernel arguments", nil)
		}
	}
	changed.UpdatedAt = model.Micros(s.now())
	*e = changed
	s.renewImage(e)
	return wire.Created(e.PrintedInfraEnv)
}

func (s *Service) deleteInfraEnv(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	if n := len(s.hostsOfInfraEnv(e.ID)); n > 0 {
		err := wire.BadRequest("failed to deregister infraEnv %s, %d hosts are still associated", e.ID, n)
		s.noteInfraEnv(e, "infra_env_deregister_failed", severityError, "Failed to deregister infra env. Error: %s", err)
		return wire.Reply{}, err
	}
	s.noteInfraEnv(e, "infra_env_deregistered", severityInfo, "Deregistered infra env")
	delete(s.infraEnvs, e.ID)
	s.infraEnvOrder = slices.DeleteFunc(s.infraEnvOrder, func(id string) bool { return id == e.ID })
	return wire.NoContent()
}

func (s *Service) imageURL(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	url, expires := s.cfg.ImageURL(imageOf(e))
	// Keeping it is a change of the record, though not of the image.
	e.DownloadURL, e.ExpiresAt, e.UpdatedAt = url, model.Millis(expires.UTC()), model.Micros(s.now())
	return wire.OK(models.PresignedURL{ExpiresAt: model.Millis(expires.UTC()), URL: &url})
}

func (s *Service) regenerateSigningKey(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	e.SigningKey = s.newSecret()
	return wire.NoContent()
}
