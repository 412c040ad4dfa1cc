package service

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// infraEnvAPI answers what users ask of infra-envs and of the files that machines boot by.
type infraEnvAPI struct {
	records      *records
	source       *source
	journal      *journal
	publicURL    func() string
	imageAddress func(ImageRequest) (url string, expires time.Time)
	agentToken   func(infraEnvID, cloudSecret string) string
	fileAccess   func(infraEnvID string) (query url.Values, expires time.Time)
}

func (a *infraEnvAPI) registerInfraEnv(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[request.InfraEnvCreateParams](c)
	if err := request.CheckImageType(p.ImageType); err != nil {
		return wire.Reply{}, err
	}
	now := a.source.now()
	e := &model.InfraEnv{}
	e.ID = a.source.newID()
	e.Kind, e.Href, e.UserName, e.EmailDomain = "InfraEnv", Base+"/v2/infra-envs/"+e.ID, c.Owner(), "Unknown"
	e.CreatedAt, e.UpdatedAt = model.Micros(now), model.Micros(now)
	e.Name, e.Proxy, e.SigningKey = *p.Name, &model.Proxy{}, a.source.newSecret()
	if err := a.fillInfraEnv(e, &p); err != nil {
		return wire.Reply{}, err
	}
	if p.IgnitionConfigOverride != "" {
		if err := a.checkEmbedArea(e); err != nil {
			return wire.Reply{}, err
		}
	}
	a.records.infraEnvs.add(e.ID, e)
	if cl := a.records.clusters.of(e.ClusterID); cl != nil {
		request.UseIgnition(cl, request.LevelInfraEnv, p.IgnitionConfigOverride != "")
		cl.RecordUse(e.StaticNetworkConfig != "", "Static Network Config", nil)
		cl.RecordUse(len(p.KernelArguments) > 0, "discovery kernel arguments", nil)
		request.UseArchitecture(cl, e.CPUArchitecture)
	}
	a.journal.addInfraEnvEvent(e, "infra_env_registered", severityInfo, "Registered infra env")
	a.renewImage(e)
	return wire.Created(e.PrintedInfraEnv)
}

func (a *infraEnvAPI) fillInfraEnv(e *model.InfraEnv, p *request.InfraEnvCreateParams) error {
	if err := request.CheckPullSecret(*p.PullSecret); err != nil {
		return wire.BadRequest("pull secret for new infraEnv is invalid: %s", err)
	}
	e.PullSecret, e.PullSecretSet = *p.PullSecret, true
	if err := a.bindInfraEnv(e, p); err != nil {
		return err
	}
	image, err := versions.OSImageFor(p.OpenshiftVersion, e.CPUArchitecture)
	if err != nil {
		return wire.BadRequest("No OS image for Openshift version %s and architecture %s: %s", p.OpenshiftVersion, e.CPUArchitecture, err)
	}
	e.OpenshiftVersion = image.OpenshiftVersion
	e.Type = cmp.Or(p.ImageType, discovery.FullISO)
	if err := a.fitsPlatform(e); err != nil {
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
func (a *infraEnvAPI) fitsPlatform(e *model.InfraEnv) error {
	cl := a.records.clusters.of(e.ClusterID)
	if cl == nil || e.Type != discovery.FullISO || !cl.OnOracleCloud() {
		return nil
	}
	return wire.BadRequest("cannot use Full ISO because it's not compatible with Oracle Cloud Infrastructure external platform")
}

func (a *infraEnvAPI) bindInfraEnv(e *model.InfraEnv, p *request.InfraEnvCreateParams) error {
	e.CPUArchitecture = p.CPUArchitecture
	if e.CPUArchitecture == "aarch64" {
		e.CPUArchitecture = "arm64"
	}
	if p.ClusterID == nil {
		e.CPUArchitecture = cmp.Or(e.CPUArchitecture, versions.X86)
		return nil
	}
	cl := a.records.clusters.of(p.ClusterID.String())
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

func (a *infraEnvAPI) renewImage(e *model.InfraEnv) {
	url, expires := a.imageAddress(imageOf(e))
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
	a.journal.addInfraEnvEvent(e, "image_info_updated", severityInfo, "Updated image information (%s)", details)
}

func imageOf(e *model.InfraEnv) ImageRequest {
	version := e.OpenshiftVersion
	if image, err := versions.OSImageFor(e.OpenshiftVersion, e.CPUArchitecture); err == nil {
		version = image.OpenshiftVersion
	}
	return ImageRequest{InfraEnvID: e.ID, Version: version, Arch: e.CPUArchitecture, Type: e.Type, SigningKey: e.SigningKey}
}

func (a *infraEnvAPI) listInfraEnvs(c *wire.Call) (wire.Reply, error) {
	id, owner := c.URL.Query().Get("cluster_id"), c.URL.Query().Get("owner")
	list := []model.PrintedInfraEnv{}
	for _, e := range a.records.infraEnvs.inOrder() {
		if (id == "" || e.ClusterID == id) && (owner == "" || e.UserName == owner) && c.Sees(e.UserName) {
			list = append(list, e.PrintedInfraEnv)
		}
	}
	return wire.OK(list)
}

func readInfraEnv(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	return wire.OK(e.PrintedInfraEnv)
}

func (a *infraEnvAPI) updateInfraEnv(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	p := wire.TypedBody[request.InfraEnvUpdateParams](c)
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
		if err := a.checkEmbedArea(&changed); err != nil {
			return wire.Reply{}, err
		}
	}
	if cl := a.records.clusters.of(e.ClusterID); cl != nil {
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
	changed.UpdatedAt = model.Micros(a.source.now())
	*e = changed
	a.renewImage(e)
	return wire.Created(e.PrintedInfraEnv)
}

func (a *infraEnvAPI) deleteInfraEnv(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	if n := len(a.records.hostsOfInfraEnv(e.ID)); n > 0 {
		err := wire.BadRequest("failed to deregister infraEnv %s, %d hosts are still associated", e.ID, n)
		a.journal.addInfraEnvEvent(e, "infra_env_deregister_failed", severityError, "Failed to deregister infra env. Error: %s", err)
		return wire.Reply{}, err
	}
	a.journal.addInfraEnvEvent(e, "infra_env_deregistered", severityInfo, "Deregistered infra env")
	a.records.infraEnvs.drop(e.ID)
	return wire.NoContent()
}

func (a *infraEnvAPI) imageURL(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	url, expires := a.imageAddress(imageOf(e))
	// Keeping it is a change of the record, though not of the image.
	e.DownloadURL, e.ExpiresAt, e.UpdatedAt = url, model.Millis(expires.UTC()), model.Micros(a.source.now())
	return wire.OK(models.PresignedURL{ExpiresAt: model.Millis(expires.UTC()), URL: &url})
}

func (a *infraEnvAPI) regenerateSigningKey(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	e.SigningKey = a.source.newSecret()
	return wire.NoContent()
}

// infraEnvFile serves what a machine needs to boot from an infra-env, other than the image.
func (a *infraEnvAPI) infraEnvFile(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	q := c.URL.Query()
	isoType := q.Get("discovery_iso_type")
	name := q.Get("file_name")
	if q.Has("ipxe_script_type") && name != "ipxe-script" {
		return wire.Reply{}, wire.BadRequest(`"ipxe_script_type"" can be set only for "ipxe-script"`)
	}
	switch name {
	case "discovery.ign":
		text, err := a.ignitionOf(e, isoType)
		if err != nil {
			return wire.Reply{}, err
		}
		return wire.File(name, []byte(text))
	case "ipxe-script":
		script, err := a.ipxeScript(e, q)
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
func (a *infraEnvAPI) ipxeScript(e *model.InfraEnv, q url.Values) (string, error) {
	kind, mac := q.Get("ipxe_script_type"), q.Get("mac")
	base := a.publicURL()
	if kind == "boot-order-control" && mac == "" {
		return fmt.Sprintf("#!ipxe\nchain %s%s/v2/infra-envs/%s/downloads/files?file_name=ipxe-script&mac=${net0/mac}\n", base, Base, e.ID), nil
	}
	if mac != "" {
		for _, h := range a.records.hostsOfInfraEnv(e.ID) {
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
	return fmt.Sprintf("#!ipxe\ninitrd --name initrd %s/images/%s/pxe-initrd?%s\nkernel %s/boot-artifacts/kernel?%s initrd=initrd "+
		"coreos.live.rootfs_url=%s/boot-artifacts/rootfs?%s random.trust_cpu=on rd.luks.options=discard ignition.firstboot "+
		"ignition.platform.id=metal console=tty1 console=ttyS1,115200n8 coreos.inst.persistent-kargs=\"console=tty1 "+
		"console=ttyS1,115200n8\"%s\nboot\n",
		server, e.ID, query, server, query, server, query, kargs), nil
}

func (a *infraEnvAPI) infraEnvPresigned(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	asked, carried, expires := c.URL.Query(), url.Values{}, time.Time{}
	if asked.Has("ipxe_script_type") && asked.Get("file_name") != "ipxe-script" {
		return wire.Reply{}, wire.BadRequest(`ipxe_script_type can be set only for "ipxe-script"`)
	}
	if a.fileAccess != nil {
		carried, expires = a.fileAccess(e.ID)
	}
	carried.Set("file_name", asked.Get("file_name"))
	if kind := asked.Get("ipxe_script_type"); kind != "" {
		carried.Set("ipxe_script_type", kind)
	}
	address := fmt.Sprintf("%s%s/v2/infra-envs/%s/downloads/files?%s", a.publicURL(), Base, e.ID, carried.Encode())
	return wire.OK(models.PresignedURL{ExpiresAt: model.Millis(expires.UTC()), URL: &address})
}

// minimalInitrd is what a minimal image is told before it has a network: static network and proxy.
func minimalInitrd(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	packed := discovery.MinimalArchive(e)
	if packed == nil {
		return wire.NoContent()
	}
	return wire.Reply{Status: http.StatusOK, Body: packed, RawType: "application/octet-stream"}, nil
}

func (a *infraEnvAPI) ignitionOf(e *model.InfraEnv, isoType string) (string, error) {
	agent := discovery.Agent{Service: a.publicURL()}
	if a.agentToken != nil {
		agent.Token = a.agentToken(e.ID, discovery.CloudSecret(e.PullSecret))
	}
	return discovery.Ignition(e, isoType, agent)
}

// embedArea is how many bytes of compressed Ignition a live image has room for.
const embedArea = 256 << 10

// checkEmbedArea refuses a discovery Ignition that no image has room for. The service looks
// only where a request brings a config of the user's (bminventory,
// validateDiscoveryIgnitionImageSize); else the image service fails later.
func (a *infraEnvAPI) checkEmbedArea(e *model.InfraEnv) error {
	text, err := a.ignitionOf(e, "")
	if err != nil {
		return err
	}
	if size := discovery.ArchiveSize(text); size > embedArea {
		return wire.BadRequest("The ignition archive size (%d KiB) is over the maximum allowable size (%d KiB)", size/1024, embedArea/1024)
	}
	return nil
}
