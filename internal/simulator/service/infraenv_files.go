package service

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// infraEnvFile serves what a machine needs to boot from an infra-env, other than
// the image.
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

// ipxeScript boots a machine over the network. With boot-order-control it asks
// back with the machine's MAC, and an installed machine is sent to its disk.
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
	return wire.OK(presignedURL{ExpiresAt: model.Millis(expires), URL: address})
}

// minimalInitrd is what a minimal image has to be told before it has a network:
// nothing, or the static configuration and the proxy.
func (s *Service) minimalInitrd(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	packed := discovery.MinimalArchive(e)
	if packed == nil {
		return wire.NoContent()
	}
	return wire.Reply{Status: http.StatusOK, Body: packed, RawType: "application/octet-stream"}, nil
}
