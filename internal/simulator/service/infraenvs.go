package service

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// infraEnvCreate is what POST infra-envs takes: the known parameters and the
// newer ones.
type infraEnvCreate struct {
	models.InfraEnvCreateParams
	ImageType             string  `json:"image_type,omitempty"`
	NtpSources            *string `json:"ntp_sources,omitempty"`
	NetworkDiscoveryDelay *int64  `json:"network_discovery_delay_seconds,omitempty"`
	RendezvousIP          *string `json:"rendezvous_ip,omitempty"`
}

// infraEnvUpdate is the same for PATCH.
type infraEnvUpdate struct {
	models.InfraEnvUpdateParams
	ImageType             string  `json:"image_type,omitempty"`
	NtpSources            *string `json:"ntp_sources,omitempty"`
	NetworkDiscoveryDelay *int64  `json:"network_discovery_delay_seconds,omitempty"`
	RendezvousIP          *string `json:"rendezvous_ip,omitempty"`
}

func (s *Service) registerInfraEnv(c *wire.Call) (wire.Reply, error) {
	p := wire.Taken[infraEnvCreate](c)
	if err := checkImageType(p.ImageType); err != nil {
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
		useIgnition(cl, levelInfraEnv, p.IgnitionConfigOverride != "")
		cl.RecordUse(e.StaticNetworkConfig != "", "Static Network Config", nil)
		cl.RecordUse(len(p.KernelArguments) > 0, "discovery kernel arguments", nil)
		useArchitecture(cl, e.CPUArchitecture)
	}
	s.noteInfraEnv(e, "infra_env_registered", severityInfo, "Registered infra env")
	s.renewImage(e)
	return wire.Created(e.PrintedInfraEnv)
}

func checkImageType(kind string) error {
	if kind == "" {
		return nil
	}
	return wire.BodyEnum("image_type", kind, discovery.FullISO, discovery.MinimalISO, discovery.DisconnectedISO)
}

func (s *Service) fillInfraEnv(e *model.InfraEnv, p *infraEnvCreate) error {
	if err := checkPullSecret(*p.PullSecret); err != nil {
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
	e.Type = p.ImageType
	if e.Type == "" {
		e.Type = discovery.FullISO
	}
	if err := s.fitsPlatform(e); err != nil {
		return err
	}
	update := infraEnvUpdate{NtpSources: p.NtpSources, RendezvousIP: p.RendezvousIP, NetworkDiscoveryDelay: p.NetworkDiscoveryDelay}
	update.AdditionalNtpSources, update.IgnitionConfigOverride = p.AdditionalNtpSources, p.IgnitionConfigOverride
	update.AdditionalTrustBundle = new(strings.TrimSpace(p.AdditionalTrustBundle))
	update.KernelArguments, update.Proxy, update.SSHAuthorizedKey = p.KernelArguments, p.Proxy, p.SSHAuthorizedKey
	update.StaticNetworkConfig = p.StaticNetworkConfig
	return changeInfraEnv(e, &update)
}

// fitsPlatform refuses an image that the platform of the infra-env's cluster does
// not start from.
func (s *Service) fitsPlatform(e *model.InfraEnv) error {
	cl := s.clusters[e.ClusterID]
	if cl == nil || e.Type != discovery.FullISO || cl.Platform == nil || cl.Platform.External == nil || cl.Platform.External.PlatformName != "oci" {
		return nil
	}
	return wire.BadRequest("cannot use Full ISO because it's not compatible with Oracle Cloud Infrastructure external platform")
}

// bindInfraEnv ties the infra-env to its cluster and settles its architecture.
func (s *Service) bindInfraEnv(e *model.InfraEnv, p *infraEnvCreate) error {
	arch := p.CPUArchitecture
	if arch == "aarch64" {
		arch = "arm64"
	}
	if p.ClusterID != nil {
		cl := s.clusters[p.ClusterID.String()]
		if cl == nil {
			return wire.NotFound("Cluster ID %s not found", p.ClusterID)
		}
		e.ClusterID = cl.ID
		if arch == "" && cl.CPUArchitecture != "multi" {
			arch = cl.CPUArchitecture
		}
		if arch == "" {
			arch = versions.X86
		}
		if cl.CPUArchitecture != "" && cl.CPUArchitecture != "multi" && cl.CPUArchitecture != arch {
			return wire.BadRequest("Specified CPU architecture (%s) doesn't match the cluster (%s)", arch, cl.CPUArchitecture)
		}
	}
	if arch == "" {
		arch = versions.X86
	}
	e.CPUArchitecture = arch
	return nil
}

// changeInfraEnv writes what an update may change, after checking it.
func changeInfraEnv(e *model.InfraEnv, p *infraEnvUpdate) error {
	if model.Value(p.SSHAuthorizedKey) != "" { // once set, it cannot be taken away
		if checkSSHKeys(*p.SSHAuthorizedKey) != nil {
			return wire.BadRequest("SSH key is not valid")
		}
		e.SSHAuthorizedKey = *p.SSHAuthorizedKey
	}
	if p.Proxy != nil {
		if err := changeProxy(e, p.Proxy); err != nil {
			return err
		}
	}
	if model.Value(p.NtpSources) != "" && (model.Value(p.AdditionalNtpSources) != "" || p.AdditionalNtpSources == nil && e.AdditionalNtpSources != "") ||
		model.Value(p.AdditionalNtpSources) != "" && p.NtpSources == nil && e.NtpSources != "" {
		return wire.BadRequest("ntp_sources and additional_ntp_sources are mutually exclusive")
	}
	for list, into := range map[*string]*string{p.AdditionalNtpSources: &e.AdditionalNtpSources, p.NtpSources: &e.NtpSources} {
		if list == nil {
			continue
		}
		if err := checkNtpSources(*list); err != nil {
			return err
		}
		*into = *list
	}
	if p.IgnitionConfigOverride != "" {
		if err := checkIgnition(p.IgnitionConfigOverride); err != nil {
			return err
		}
		e.IgnitionConfigOverride = p.IgnitionConfigOverride
	}
	if err := changeKernelArguments(e, p.KernelArguments); err != nil {
		return err
	}
	if p.AdditionalTrustBundle != nil {
		if text := *p.AdditionalTrustBundle; text != "" {
			if err := checkTrustBundle(text); err != nil {
				return wire.BadRequest("%s", err)
			}
		}
		e.AdditionalTrustBundle = *p.AdditionalTrustBundle
	}
	if p.StaticNetworkConfig != nil {
		if err := changeStatic(e, p.StaticNetworkConfig); err != nil {
			return err
		}
	}
	if p.NetworkDiscoveryDelay != nil {
		if *p.NetworkDiscoveryDelay < 0 {
			return wire.Malformed("network_discovery_delay_seconds in body should be greater than or equal to 0")
		}
		e.NetworkDiscoveryDelay = p.NetworkDiscoveryDelay
	}
	if p.RendezvousIP != nil {
		if e.Type != discovery.DisconnectedISO {
			return wire.BadRequest("RendezvousIP is only supported for disconnected ISO infra-envs")
		}
		e.RendezvousIP = *p.RendezvousIP
	}
	return nil
}

// changeProxy merges a proxy by its fields. A proxy whose fields, joined, are those
// of the last request is taken for the same, and dropped.
func changeProxy(e *model.InfraEnv, p *models.Proxy) error {
	if err := checkProxies(p.HTTPProxy, p.HTTPSProxy, p.NoProxy, ""); err != nil {
		return err
	}
	joined := model.Value(p.HTTPProxy) + model.Value(p.HTTPSProxy) + model.Value(p.NoProxy)
	if e.ProxyAsked != nil && *e.ProxyAsked == joined {
		return nil
	}
	e.ProxyAsked = &joined
	merged := *e.Proxy
	for from, into := range map[*string]**string{p.HTTPProxy: &merged.HTTPProxy, p.HTTPSProxy: &merged.HTTPSProxy, p.NoProxy: &merged.NoProxy} {
		if from != nil {
			*into = from
		}
	}
	e.Proxy = &merged
	return nil
}

func changeKernelArguments(e *model.InfraEnv, args models.KernelArguments) error {
	if args == nil {
		return nil
	}
	for _, a := range args {
		if a.Operation != models.KernelArgumentOperationAppend {
			return wire.BadRequest("Only kernel argument operation append is supported.  Got %s", a.Operation)
		}
	}
	e.KernelArguments = nil
	if len(args) > 0 {
		e.KernelArguments = new(model.InString(args))
	}
	return nil
}

// renewImage gives the infra-env the address of its present image.
func (s *Service) renewImage(e *model.InfraEnv) {
	url, expires := s.cfg.ImageURL(imageOf(e))
	e.DownloadURL, e.ExpiresAt = url, model.Millis(expires)
	details := `Image type is "` + e.Type + `"`
	if e.Proxy != nil && model.Value(e.Proxy.HTTPProxy) != "" {
		details = fmt.Sprintf(`proxy URL is "%s", `, *e.Proxy.HTTPProxy) + details
	}
	if e.SSHAuthorizedKey != "" {
		details += ", SSH public key is set"
	} else {
		details += ", SSH public key is not set"
	}
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

func (s *Service) readInfraEnv(c *wire.Call) (wire.Reply, error) {
	e, err := s.getInfraEnv(c.PathValue("infra_env_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(e.PrintedInfraEnv)
}

func (s *Service) updateInfraEnv(c *wire.Call) (wire.Reply, error) {
	e, err := s.getInfraEnv(c.PathValue("infra_env_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	p := wire.Taken[infraEnvUpdate](c)
	if err := checkImageType(p.ImageType); err != nil {
		return wire.Reply{}, err
	}
	changed := *e
	if p.PullSecret != "" {
		if err := checkPullSecret(p.PullSecret); err != nil {
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
	if p.ImageType != "" {
		changed.Type = p.ImageType
	}
	if err := changeInfraEnv(&changed, &p); err != nil {
		return wire.Reply{}, err
	}
	if p.IgnitionConfigOverride != "" && p.IgnitionConfigOverride != e.IgnitionConfigOverride {
		if err := s.checkEmbedArea(&changed); err != nil {
			return wire.Reply{}, err
		}
	}
	if cl := s.clusters[e.ClusterID]; cl != nil {
		if p.IgnitionConfigOverride != "" && p.IgnitionConfigOverride != e.IgnitionConfigOverride {
			useIgnition(cl, levelInfraEnv, true)
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

func (s *Service) deleteInfraEnv(c *wire.Call) (wire.Reply, error) {
	e, err := s.getInfraEnv(c.PathValue("infra_env_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	if n := len(s.hostsOfInfraEnv(e.ID)); n > 0 {
		err := wire.BadRequest("failed to deregister infraEnv %s, %d hosts are still associated", e.ID, n)
		s.noteInfraEnv(e, "infra_env_deregister_failed", severityError, "Failed to deregister infra env. Error: %s", err)
		return wire.Reply{}, err
	}
	s.noteInfraEnv(e, "infra_env_deregistered", severityInfo, "Deregistered infra env")
	delete(s.infraEnvs, e.ID)
	for i, id := range s.infraEnvOrder {
		if id == e.ID {
			s.infraEnvOrder = append(s.infraEnvOrder[:i:i], s.infraEnvOrder[i+1:]...)
			break
		}
	}
	return wire.NoContent()
}

// imageURL gives a fresh address of the image.
func (s *Service) imageURL(c *wire.Call) (wire.Reply, error) {
	e, err := s.getInfraEnv(c.PathValue("infra_env_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	url, expires := s.cfg.ImageURL(imageOf(e))
	// Keeping it is a change of the record, though not of the image.
	e.DownloadURL, e.ExpiresAt, e.UpdatedAt = url, model.Millis(expires), model.Micros(s.now())
	return wire.OK(presignedURL{ExpiresAt: model.Millis(expires), URL: url})
}

type presignedURL struct {
	ExpiresAt model.Millis `json:"expires_at"`
	URL       string       `json:"url"`
}

// regenerateSigningKey makes the addresses given out so far invalid.
func (s *Service) regenerateSigningKey(c *wire.Call) (wire.Reply, error) {
	e, err := s.getInfraEnv(c.PathValue("infra_env_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	e.SigningKey = s.newSecret()
	return wire.NoContent()
}

// changeStatic replaces the hosts' network configuration.
func changeStatic(e *model.InfraEnv, list []*models.HostStaticNetworkConfig) error {
	hosts := make([]model.StaticHost, 0, len(list))
	for i, l := range list {
		h := model.StaticHost{NetworkYAML: l.NetworkYaml}
		for j, m := range l.MacInterfaceMap {
			if !discovery.MacPattern.MatchString(m.MacAddress) {
				return wire.Malformed("static_network_config.%d.mac_interface_map.%d.mac_address in body should match '%s'", i, j, discovery.MacPattern)
			}
			h.Map = append(h.Map, model.MACName{LogicalNIC: m.LogicalNicName, MAC: m.MacAddress})
		}
		hosts = append(hosts, h)
	}
	if problems := discovery.StaticProblems(hosts); len(problems) > 0 {
		return wire.BadRequest("%s", wire.Problems(problems...))
	}
	for i := range hosts {
		hosts[i].Policy = discovery.NMPolicy(&hosts[i])
	}
	slices.SortStableFunc(hosts, func(a, b model.StaticHost) int { return cmp.Compare(a.NetworkYAML, b.NetworkYAML) })
	e.Static, e.StaticNetworkConfig = hosts, ""
	if len(hosts) > 0 {
		data, err := json.Marshal(hosts)
		if err != nil {
			return err
		}
		e.StaticNetworkConfig = string(data)
	}
	return nil
}

// checkTrustBundle wants certificates and nothing else.
func checkTrustBundle(text string) error {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("invalid block")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("parse failed: %w", err)
		}
		if len(rest) == 0 {
			return nil
		}
	}
}
