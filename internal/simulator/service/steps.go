package service

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// The steps that an agent can be told to take.
const (
	stepInventory    = "inventory"
	stepConnectivity = "connectivity-check"
	stepFreeAddress  = "free-network-addresses"
	stepNTP          = "ntp-synchronizer"
	stepDomains      = "domain-resolution"
	stepVips         = "verify-vips"
	stepTang         = "tang-connectivity-check"
	stepAPIVip       = "api-vip-connectivity-check"
	stepDiskSpeed    = "installation-disk-speed-check"
	stepImages       = "container-image-availability"
	stepInstall      = "install"
	stepLogs         = "logs-gather"
	stepStop         = "stop-installation"
	stepUpgrade      = "upgrade-agent"
)

// step is one instruction to an agent.
type step struct {
	Args []string `json:"args"`
	ID   string   `json:"step_id"`
	Type string   `json:"step_type"`
}

// instructions are the answer to an agent's poll.
type instructions struct {
	Instructions []step `json:"instructions"`
	NextSeconds  int    `json:"next_instruction_seconds"`
	PostAction   string `json:"post_step_action"`
}

// nextSteps answers an agent's poll, which is also its heartbeat.
func (s *Service) nextSteps(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	now := s.now()
	h.CheckedInAt = model.Millis(now)
	if text := c.URL.Query().Get("timestamp"); text != "" {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			h.Timestamp = at
		}
	}
	if version := c.Header.Get("discovery_agent_version"); version != "" {
		h.AgentVersion = version
	}
	if h.AgentVersion != "" && h.AgentVersion != versions.AgentImage && !model.OneOf(h.State, model.HostBinding, model.HostUnbinding, model.HostInProgress) {
		s.noteHost(h, "upgrade_agent_started", severityInfo, "Host %s: Agent has been instructed to download image '%s' and restart", h.Name(), versions.AgentImage)
		return wire.OK(instructions{PostAction: "continue", NextSeconds: 60,
			Instructions: []step{s.step(stepUpgrade, model.InString(map[string]string{"agent_image": versions.AgentImage}))}})
	}
	answer := instructions{PostAction: "continue", NextSeconds: 60}
	switch h.State {
	case model.HostBinding, model.HostUnbinding:
		answer.PostAction, answer.NextSeconds = "exit", 0
	case model.HostDisconnected, model.HostError, model.HostCancelled, model.HostInsufficientUnbound, model.HostDisconnectedUnbound:
		answer.NextSeconds = 120
	}
	answer.Instructions = s.stepsFor(h)
	return wire.Reply{Status: http.StatusOK, Body: answer}, nil
}

// stepsFor lists what a host has to do in its state.
func (s *Service) stepsFor(h *model.Host) []step {
	inventoryStep := func() step { return s.step(stepInventory, h.ID) }
	switch h.State {
	case model.HostDiscovering:
		steps := []step{inventoryStep()}
		if h.Kind == model.KindAddedHost {
			steps = append(steps, s.ntpStep(h), s.domainStep(h))
		}
		return steps
	case model.HostInsufficient, model.HostPendingInput, model.HostKnown, model.HostPreparationFailed:
		if h.Kind == model.KindAddedHost {
			return s.day2Steps(h, inventoryStep())
		}
		return s.day1Steps(h, inventoryStep())
	case model.HostDisconnected, model.HostDisconnectedUnbound:
		return []step{inventoryStep()}
	case model.HostDiscoveringUnbound, model.HostInsufficientUnbound, model.HostKnownUnbound:
		return []step{inventoryStep(), s.ntpStep(h)}
	case model.HostPreparing:
		return s.preparationSteps(h)
	case model.HostInstalling:
		return []step{s.installStep(h)}
	case model.HostError, model.HostCancelled:
		return []step{s.logsStep(h), {Args: []string{}, ID: s.stepID(stepStop), Type: stepStop}}
	}
	return nil
}

func (s *Service) day1Steps(h *model.Host, inv step) []step {
	c := h.Cluster
	var steps []step
	// A host that is known has told enough: its inventory comes later in the list.
	if h.State != model.HostKnown {
		steps = append(steps, inv)
	}
	steps = append(steps, s.connectivityStep(h)...)
	if e := c.DiskEncryption; e != nil && e.Mode == "tang" && validate.EncryptsRole(e.EnableOn, h.EffectiveRole()) {
		steps = append(steps, s.step(stepTang, model.InString(map[string]string{"tang_servers": c.DiskEncryption.TangServers})))
	}
	if networks := ipv4Networks(h); len(networks) > 0 {
		steps = append(steps, s.step(stepFreeAddress, model.InString(networks)))
	}
	if h.State == model.HostKnown {
		steps = append(steps, inv)
	}
	steps = append(steps, s.ntpStep(h), s.domainStep(h))
	if len(c.APIVips)+len(c.IngressVips) > 0 && !c.UserManaged() && !c.UserBalanced() {
		steps = append(steps, s.step(stepVips, model.InString(vipQuestions(c))))
	}
	return steps
}

func (s *Service) day2Steps(h *model.Host, inv step) []step {
	steps := []step{inv}
	steps = append(steps, s.connectivityStep(h)...)
	steps = append(steps, s.step(stepAPIVip, model.InString(s.apiVipRequest(h))), s.ntpStep(h), s.domainStep(h))
	return steps
}

func (s *Service) stepID(kind string) string {
	var b [4]byte
	_, _ = s.entropy.Read(b[:]) // a deterministic source never fails
	return kind + "-" + hex.EncodeToString(b[:])
}

func (s *Service) step(kind string, args ...string) step {
	return step{Args: args, ID: s.stepID(kind), Type: kind}
}

func (s *Service) ntpStep(h *model.Host) step {
	return s.step(stepNTP, model.InString(map[string]string{"ntp_source": timeServers(h)}))
}

// timeServers are whom a host asks for the time: its cluster's, and only where that
// names none, those of the InfraEnvs of the cluster's hosts.
func timeServers(h *model.Host) string {
	if h.Cluster == nil {
		return cmp.Or(h.InfraEnv.NtpSources, h.InfraEnv.AdditionalNtpSources)
	}
	if own := cmp.Or(h.Cluster.NtpSources, h.Cluster.AdditionalNtpSource); own != "" {
		return own
	}
	var all []string
	for _, other := range h.Cluster.Hosts {
		for _, source := range strings.Split(other.InfraEnv.AdditionalNtpSources, ",") {
			if source != "" && !slices.Contains(all, source) {
				all = append(all, source)
			}
		}
	}
	return strings.Join(all, ",")
}

type domainName struct {
	Name string `json:"domain_name"`
}

func (s *Service) domainStep(h *model.Host) step {
	c := h.Cluster
	base := c.Name + "." + c.BaseDNSDomain
	domains := []domainName{{"api." + base}, {"api-int." + base}, {"console-openshift-console.apps." + base},
		{"validateNoWildcardDNS." + base + "."}, {"validateNoWildcardDNS." + base}}
	if !c.IsDay2() {
		registry, _, _ := strings.Cut(c.OcpReleaseImage, "/")
		domains = append(domains, domainName{registry})
	}
	return s.step(stepDomains, model.InString(map[string]any{"domains": domains}))
}

// peer is another host of the cluster, as the connectivity step names it.
type peer struct {
	HostID string    `json:"host_id"`
	NICs   []peerNIC `json:"nics"`
}

type peerNIC struct {
	IPAddresses []string `json:"ip_addresses"`
	MAC         string   `json:"mac"`
	Name        string   `json:"name"`
}

// connectivityStep tells a host whom to look for; none while it is alone.
func (s *Service) connectivityStep(h *model.Host) []step {
	var peers []peer
	for _, other := range h.Cluster.Hosts {
		if other == h || other.Inv == nil || model.OneOf(other.State, model.HostDiscovering, model.HostDisconnected, model.HostInstalled) && h.Kind != model.KindAddedHost || other.Kind == model.KindAddedHost {
			continue
		}
		p := peer{HostID: other.ID}
		for i, n := range other.Inv.Interfaces {
			var ips []string
			for _, a := range other.Inv.Addresses {
				if a.NIC == i {
					ips = append(ips, a.Prefix.Addr().String())
				}
			}
			if len(ips) > 0 {
				p.NICs = append(p.NICs, peerNIC{IPAddresses: ips, MAC: n.MacAddress, Name: n.Name})
			}
		}
		peers = append(peers, p)
	}
	if len(peers) == 0 {
		return nil
	}
	return []step{s.step(stepConnectivity, model.InString(peers))}
}

// ipv4Networks lists the networks in which the host may look for free addresses.
func ipv4Networks(h *model.Host) []string {
	var list []string
	if h.Inv == nil {
		return nil
	}
	for _, a := range h.Inv.Addresses {
		network := a.Prefix.Masked()
		if network.Addr().Is4() && network.Bits() >= 22 && !slices.Contains(list, network.String()) {
			list = append(list, network.String())
		}
	}
	return list
}

type vipQuestion struct {
	VIP  string `json:"vip"`
	Type string `json:"vip_type"`
}

func vipQuestions(c *model.Cluster) []vipQuestion {
	var list []vipQuestion
	for _, v := range c.APIVips {
		list = append(list, vipQuestion{v.IP, "api"})
	}
	for _, v := range c.IngressVips {
		list = append(list, vipQuestion{v.IP, "ingress"})
	}
	return list
}

type apiVipRequest struct {
	CACertificate  string        `json:"ca_certificate,omitempty"`
	Token          string        `json:"ignition_endpoint_token,omitempty"`
	RequestHeaders []labelHeader `json:"request_headers,omitempty"`
	URL            string        `json:"url"`
}

type labelHeader struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// apiVipRequest is where a host to be added finds its ignition.
func (s *Service) apiVipRequest(h *model.Host) apiVipRequest {
	c := h.Cluster
	pool := h.MachineConfigPool
	if pool == "" {
		pool = h.Role
	}
	r := apiVipRequest{Token: h.Token}
	if h.Headers != "" {
		_ = json.Unmarshal([]byte(h.Headers), &r.RequestHeaders) // it was encoded here
	}
	if c.IgnitionEndpoint != nil && c.IgnitionEndpoint.URL != "" {
		r.URL = strings.TrimSuffix(c.IgnitionEndpoint.URL, "/") + "/" + pool
		r.CACertificate = c.IgnitionEndpoint.CACertificate
		return r
	}
	r.URL = fmt.Sprintf("http://%s:22624/config/%s", apiAddress(c), pool)
	return r
}

// apiAddress is where the API of an installed cluster is reached.
func apiAddress(c *model.Cluster) string {
	if c.APIVipDNSName != "" {
		return c.APIVipDNSName
	}
	if len(c.APIVips) > 0 {
		return c.APIVips[0].IP
	}
	return "api." + c.Name + "." + c.BaseDNSDomain
}

// patience is how long preparations may take.
type patience struct{ disk, images time.Duration }

// stockPatience is the service's where nobody configured another.
func stockPatience() patience { return patience{8 * time.Minute, 16 * time.Minute} }

// host is how long one machine may prepare, and cluster how long all may.
func (p patience) host() time.Duration    { return p.images + time.Minute }
func (p patience) cluster() time.Duration { return p.images + 2*time.Minute }

func (s *Service) preparationSteps(h *model.Host) []step {
	if h.Kind == model.KindAddedHost {
		return nil
	}
	var steps []step
	if !h.DiskTested || h.DiskPath != h.InstallationDiskID {
		steps = append(steps, s.step(stepDiskSpeed, model.InString(map[string]string{"path": h.InstallationDiskID}), fmt.Sprintf("%.2f", s.patience.disk.Seconds())))
	}
	if len(h.ImageResults) == 0 {
		steps = append(steps, s.step(stepImages, model.InString(struct {
			Images  []string `json:"images"`
			Timeout int      `json:"timeout"`
		}{imagesFor(h.Cluster), int(s.patience.images.Seconds())})))
	}
	return steps
}

// imagesFor lists the images that a host pulls before the installation.
func imagesFor(c *model.Cluster) []string {
	mco, gather := payloadImages(c)
	return []string{c.OcpReleaseImage, mco, gather, versions.InstallerImage}
}
