package service

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

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
	kargs := ""
	for _, a := range discovery.KernelArguments(e) {
		kargs += " " + a
	}
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
	// Ignition is the discovery Ignition config of a full image, MinimalIgnition
	// that of a minimal one, which has the hosts' networks in StaticNetwork, and
	// NetbootIgnition the one of the two that the infra-env's own type asks for.
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
	for isoType, into := range map[string]*[]byte{discovery.FullISO: &m.Ignition, discovery.MinimalISO: &m.MinimalIgnition, "": &m.NetbootIgnition} {
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

// KnowsAgentSecret tells whether a secret is the cloud.openshift.com entry of a
// pull secret that the service was given: that is how agents of the hosted
// service identify themselves.
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

// HasHosts tells whether hosts are all of an infra-env.
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

// checkEmbedArea refuses a discovery Ignition that no image has room for. The
// service looks only where a request brings an Ignition config of the user's
// (bminventory, validateDiscoveryIgnitionImageSize); otherwise it is the image
// service that fails, when the image is asked for.
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
