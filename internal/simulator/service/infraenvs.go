package service

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
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
	s.addInfraEnvEvent(e, "infra_env_registered", severityInfo, "Registered infra env")
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
	update := request.InfraEnvUpdateParams{
		NtpSources: p.NtpSources, RendezvousIP: p.RendezvousIP, NetworkDiscoveryDelay: p.NetworkDiscoveryDelay,
	}
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
	return request.CheckFeatures(cl, e.CPUArchitecture)
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
	s.addInfraEnvEvent(e, "image_info_updated", severityInfo, "Updated image information (%s)", details)
}

func imageOf(e *model.InfraEnv) ImageRequest {
	version := e.OpenshiftVersion
	if image, err := versions.OSImageFor(e.OpenshiftVersion, e.CPUArchitecture); err == nil {
		version = image.OpenshiftVersion
	}
	return ImageRequest{InfraEnvID: e.ID, Version: version, Arch: e.CPUArchitecture, Type: e.Type, SigningKey: e.SigningKey}
}

func (s *Service) listInfraEnvs(c *wire.Call) (wire.Reply, error) {
	id, owner := c.URL.Query().Get("cluster_id"), c.URL.Query().Get("owner")
	list := []model.PrintedInfraEnv{}
	for _, e := range inOrder(s.infraEnvOrder, s.infraEnvs) {
		if (id == "" || e.ClusterID == id) && (owner == "" || e.UserName == owner) && c.Sees(e.UserName) {
			list = append(list, e.PrintedInfraEnv)
		}
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
		s.addInfraEnvEvent(e, "infra_env_deregister_failed", severityError, "Failed to deregister infra env. Error: %s", err)
		return wire.Reply{}, err
	}
	s.addInfraEnvEvent(e, "infra_env_deregistered", severityInfo, "Deregistered infra env")
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

// infraEnvFile serves what a machine needs to boot from an infra-env, other than the image.
func (s *Service) infraEnvFile(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	q := c.URL.Query()
	isoType := q.Get("discovery_iso_type")
	name := q.Get("file_name")
	if q.Has("ipxe_script_type") && name != "ipxe-script" {
		return wire.Reply{}, wire.BadRequest(`"ipxe_script_type"" can be set only for "ipxe-script"`)
	}
	switch name {
	case "discovery.ign":
		text, err := s.ignitionOf(e, isoType)
		if err != nil {
			return wire.Reply{}, err
		}
		return wire.File(name, []byte(text))
	case "ipxe-script":
		script, err := s.ipxeScript(e, q)
		if err != nil {
			return wire.Reply{}, err
		}
		return wire.File(e.ID+"-"+name, []byte(script))
	}
	if len(e.Static) == 0 {
		return wire.File("", []byte{})
	}
	archive, err := discovery.StaticArchive(e)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.File(e.ID+"-"+name+".tar", archive)
}

// ipxeScript boots over the network; with boot-order-control installed machines go to their disk.
func (s *Service) ipxeScript(e *model.InfraEnv, q url.Values) (string, error) {
	kind, mac := q.Get("ipxe_script_type"), q.Get("mac")
	base := s.cfg.PublicURL()
	if kind == "boot-order-control" && mac == "" {
		return fmt.Sprintf("#!ipxe\nchain %s%s/v2/infra-envs/%s/downloads/files?file_name=ipxe-script&mac=${net0/mac}\n", base, Base, e.ID), nil
	}
	if mac != "" {
		for _, h := range s.hostsOfInfraEnv(e.ID) {
			if h.HasMAC(mac) && model.OneOf(h.State, model.HostInstalled, model.HostInProgress, model.HostAdded, model.HostPendingUser) &&
				model.OneOf(h.Stage(), model.StageRebooting, model.StageConfiguring, model.StageJoined, model.StageDone) {
				return "#!ipxe\nexit\n", nil
			}
		}
	}
	image, err := url.Parse(e.DownloadURL)
	if err != nil {
		return "", fmt.Errorf("reading the image's address: %w", err)
	}
	server := image.Scheme + "://" + image.Host
	query := fmt.Sprintf("arch=%s&version=%s", e.CPUArchitecture, imageOf(e).Version)
	kargs := strings.Join(append([]string{""}, discovery.KernelArguments(e)...), " ")
	return fmt.Sprintf("#!ipxe\ninitrd --name initrd %s/images/%s/pxe-initrd?%s\nkernel %s/boot-artifacts/kernel?%s initrd=initrd coreos.live.rootfs_url=%s/boot-artifacts/rootfs?%s random.trust_cpu=on rd.luks.options=discard ignition.firstboot ignition.platform.id=metal console=tty1 console=ttyS1,115200n8 coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\"%s\nboot\n",
		server, e.ID, query, server, query, server, query, kargs), nil
}

func (s *Service) infraEnvPresigned(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	asked, carried, expires := c.URL.Query(), url.Values{}, time.Time{}
	if asked.Has("ipxe_script_type") && asked.Get("file_name") != "ipxe-script" {
		return wire.Reply{}, wire.BadRequest(`ipxe_script_type can be set only for "ipxe-script"`)
	}
	if s.cfg.FileAccess != nil {
		carried, expires = s.cfg.FileAccess(e.ID)
	}
	carried.Set("file_name", asked.Get("file_name"))
	if kind := asked.Get("ipxe_script_type"); kind != "" {
		carried.Set("ipxe_script_type", kind)
	}
	address := fmt.Sprintf("%s%s/v2/infra-envs/%s/downloads/files?%s", s.cfg.PublicURL(), Base, e.ID, carried.Encode())
	return wire.OK(models.PresignedURL{ExpiresAt: model.Millis(expires.UTC()), URL: &address})
}

// minimalInitrd is what a minimal image is told before it has a network: static network and proxy.
func (s *Service) minimalInitrd(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	packed := discovery.MinimalArchive(e)
	if packed == nil {
		return wire.NoContent()
	}
	return wire.Reply{Status: http.StatusOK, Body: packed, RawType: "application/octet-stream"}, nil
}

// Media is what an infra-env puts into its discovery media.
type Media struct {
	// These are the Ignition configs of a full image, of a minimal one, which has the
	// hosts' networks in StaticNetwork, and of the infra-env's own type.
	Ignition, MinimalIgnition, NetbootIgnition []byte
	// KernelArguments are appended to the kernel's own, in order.
	KernelArguments []string
	// StaticNetwork is the archive of minimal images (/downloads/minimal-initrd), or nil.
	StaticNetwork []byte
	// SigningKey is the infra-env's own secret for the addresses of its media.
	SigningKey []byte
	// Updated is when any of this last changed.
	Updated time.Time
}

// Media tells an image service what to put into an infra-env's media; false if there is no such infra-env.
func (s *Service) Media(infraEnvID string) (Media, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.infraEnvs[infraEnvID]
	if e == nil {
		return Media{}, false
	}
	m := Media{
		KernelArguments: discovery.KernelArguments(e), StaticNetwork: discovery.MinimalArchive(e),
		SigningKey: e.SigningKey, Updated: time.Time(e.UpdatedAt),
	}
	for isoType, into := range map[string]*[]byte{
		discovery.FullISO: &m.Ignition, discovery.MinimalISO: &m.MinimalIgnition, "": &m.NetbootIgnition,
	} {
		text, err := s.ignitionOf(e, isoType)
		if err != nil {
			return Media{}, false
		}
		*into = []byte(text)
	}
	return m, true
}

func (s *Service) ignitionOf(e *model.InfraEnv, isoType string) (string, error) {
	agent := discovery.Agent{Service: s.cfg.PublicURL()}
	if s.cfg.AgentToken != nil {
		agent.Token = s.cfg.AgentToken(e.ID, discovery.CloudSecret(e.PullSecret))
	}
	return discovery.Ignition(e, isoType, agent)
}

// KnowsAgentSecret reports whether a secret is of some pull secret's cloud.openshift.com:
// by that the agents of the hosted service identify themselves.
func (s *Service) KnowsAgentSecret(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(pullSecret string) bool {
		known := discovery.CloudSecret(pullSecret)
		return known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(secret)) == 1
	}
	for _, e := range s.infraEnvs {
		if is(e.PullSecret) {
			return true
		}
	}
	for _, c := range s.clusters {
		if is(c.PullSecret) {
			return true
		}
	}
	return false
}

// HasHosts reports whether hosts are all of an infra-env.
func (s *Service) HasHosts(infraEnvID string, hosts []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.hostsOfInfraEnv(infraEnvID)
	return !slices.ContainsFunc(hosts, func(id string) bool {
		return !slices.ContainsFunc(known, func(h *model.Host) bool { return h.ID == id })
	})
}

func (s *Service) newSecret() []byte {
	key := make([]byte, 32)
	_, _ = s.entropy.Read(key) // a deterministic source never fails
	return key
}

// embedArea is how many bytes of compressed Ignition a live image has room for.
const embedArea = 256 << 10

// checkEmbedArea refuses a discovery Ignition that no image has room for. The service looks
// only where a request brings a config of the user's (bminventory,
// validateDiscoveryIgnitionImageSize); else the image service fails later.
func (s *Service) checkEmbedArea(e *model.InfraEnv) error {
	text, err := s.ignitionOf(e, "")
	if err != nil {
		return err
	}
	if size := discovery.ArchiveSize(text); size > embedArea {
		return wire.BadRequest("The ignition archive size (%d KiB) is over the maximum allowable size (%d KiB)", size/1024, embedArea/1024)
	}
	return nil
}
