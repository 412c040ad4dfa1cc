package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// The replies to the steps, as far as the service keeps them.
type (
	ntpSource struct {
		Name  string `json:"source_name,omitempty"`
		State string `json:"source_state,omitempty"`
	}
	resolution struct {
		CNAMEs     []string `json:"cnames"`
		DomainName string   `json:"domain_name"`
		IPv4       []string `json:"ipv4_addresses"`
		IPv6       []string `json:"ipv6_addresses"`
	}
	freeNetwork struct {
		FreeAddresses []string `json:"free_addresses"`
		Network       string   `json:"network,omitempty"`
	}
	imageResult struct {
		DownloadRate float64 `json:"download_rate,omitempty"`
		Name         string  `json:"name,omitempty"`
		Result       string  `json:"result,omitempty"`
		SizeBytes    float64 `json:"size_bytes,omitempty"`
		Time         float64 `json:"time,omitempty"`
	}
	diskSpeedReply struct {
		SyncDuration int64  `json:"io_sync_duration"`
		Path         string `json:"path"`
	}
	apiCheckReply struct {
		DownloadError string `json:"download_error,omitempty"`
		Ignition      string `json:"ignition,omitempty"`
		IsSuccess     bool   `json:"is_success,omitempty"`
		URL           string `json:"url,omitempty"`
	}
	tangReply struct {
		IsSuccess bool              `json:"is_success,omitempty"`
		Responses []json.RawMessage `json:"tang_server_response"`
	}
	vipReply struct {
		VIP          string `json:"vip"`
		Type         string `json:"vip_type"`
		Verification string `json:"verification"`
	}
	upgradeReply struct {
		AgentImage string `json:"agent_image"`
		Result     string `json:"result"`
	}
)

// mediaUnreadable is the exit code by which an agent says that it cannot read
// the discovery media any more.
const mediaUnreadable = 256

// stepReply takes an agent's answer to a step.
func (s *Service) stepReply(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	p := taken[models.StepReply](c)
	if p.ExitCode != 0 {
		if err := s.stepFailed(h, &p); err != nil {
			return reply{}, err
		}
		return noContent()
	}
	if p.Output == "" {
		return noContent()
	}
	if err := s.takeReply(h, string(p.StepType), p.Output); err != nil {
		return reply{}, err
	}
	h.UpdatedAt = micros(s.now())
	return noContent()
}

// stepFailed reacts to a step that did not succeed.
func (s *Service) stepFailed(h *host, p *models.StepReply) error {
	if p.ExitCode == mediaUnreadable && h.MediaStatus != "disconnected" {
		h.MediaStatus = "disconnected"
		s.noteHost(h, "host_media_disconnected", severityError, "%s", infoMediaDisconnected)
		switch {
		case hostUnbound(h.state):
			s.setHost(h, hostDisconnectedUnbound, infoMediaDisconnected)
		case hostEvaluated(h.state):
			s.setHost(h, hostDisconnected, infoMediaDisconnected)
		case oneOf(h.state, hostPreparing, hostPrepared, hostInstalling, hostInProgress):
			s.setHost(h, hostError, stageFailed+" - "+infoMediaDisconnected)
		}
		return nil
	}
	switch string(p.StepType) {
	case stepInstall:
		const alreadyRunning = 125
		if p.ExitCode == alreadyRunning && strings.Contains(p.Error, "already in use") {
			return nil
		}
		s.setHost(h, hostError, fmt.Sprintf("installation command failed: %s", firstLine(p.Error)))
	case stepDiskSpeed:
		h.diskTested, h.diskFailed, h.diskPath = true, true, h.InstallationDiskID
		h.DisksInfo = inString(map[string]any{h.InstallationDiskID: map[string]any{
			"disk_speed": map[string]any{"exit_code": p.ExitCode, "tested": true}, "path": h.InstallationDiskID}})
	case stepTang:
		h.tang, h.TangConnectivity = &tangReply{}, p.Error
	case stepUpgrade:
		s.noteHost(h, "upgrade_agent_failed", severityError, "Host %s: Agent failed to download image '%s', will try again", h.name(), "")
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// takeReply keeps what a successful step found out.
func (s *Service) takeReply(h *host, kind, output string) error {
	unreadable := func(err error) error {
		return refuse(http.StatusInternalServerError, "failed to unmarshal reply of step %s: %s", kind, err)
	}
	switch kind {
	case stepInventory:
		return s.takeInventory(h, output)
	case stepConnectivity:
		if err := h.setConnectivity(output); err != nil {
			return unreadable(err)
		}
	case stepNTP:
		var r struct {
			Sources []ntpSource `json:"ntp_sources"`
		}
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		h.ntp, h.NtpSources = r.Sources, inString(r.Sources)
	case stepDomains:
		var r struct {
			Resolutions []resolution `json:"resolutions"`
		}
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		h.resolutions, h.DomainNameResolutions = r.Resolutions, inString(r)
	case stepFreeAddress:
		var r []freeNetwork
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		h.FreeAddresses = inString(r)
		h.freeNetworks = make(map[string][]string, len(r))
		for _, n := range r {
			h.freeNetworks[n.Network] = n.FreeAddresses
		}
	case stepAPIVip:
		var r apiCheckReply
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		h.apiCheck, h.APIVipConnectivity = &r, inString(r)
	case stepTang:
		var r tangReply
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		h.tang, h.TangConnectivity = &r, output
	default:
		return s.takeMeasurement(h, kind, output, unreadable)
	}
	return nil
}

// takeMeasurement keeps the answers that are verdicts.
func (s *Service) takeMeasurement(h *host, kind, output string, unreadable func(error) error) error {
	switch kind {
	case stepDiskSpeed:
		var r diskSpeedReply
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		s.takeDiskSpeed(h, r)
	case stepImages:
		var r struct {
			Images []imageResult `json:"images"`
		}
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		s.takeImages(h, r.Images)
	case stepVips:
		var r []vipReply
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		if h.cluster != nil {
			h.cluster.takeVips(r)
		}
	case stepUpgrade:
		var r upgradeReply
		if err := json.Unmarshal([]byte(output), &r); err != nil {
			return unreadable(err)
		}
		if r.Result == "success" {
			s.noteHost(h, "upgrade_agent_finished", severityInfo, "Host %s: Agent has downloaded image '%s' and will now restart", h.name(), r.AgentImage)
		}
	}
	return nil
}

// takeInventory keeps a machine's inventory, judges its disks and chooses the
// one to install on.
func (s *Service) takeInventory(h *host, output string) error {
	if !hostEvaluated(h.state) {
		return refuse(http.StatusInternalServerError,
			"Host is in %s state, host can be updated only in one of %s states", h.state, inString(inventoryStates()))
	}
	inv, err := parseInventory(output)
	if err != nil {
		return refuse(http.StatusInternalServerError, "failed to unmarshal inventory of host %s: %s", h.ID, err)
	}
	inv.Timestamp = 0 // the time counts that it asks for its steps with
	need := requirementsFor(h.cluster, h.role())
	inv.judgeDisks(need.DiskGB)
	s.countInterfaces(h, inv)
	h.inv, h.Inventory = inv, inString(inv)
	h.MediaStatus = ""
	s.chooseDisk(h)
	return nil
}

// countInterfaces tells those who measure how many interfaces a cluster's host has,
// where that is new.
func (s *Service) countInterfaces(h *host, inv *inventory) {
	if h.cluster == nil || h.inv != nil && len(h.inv.Interfaces) == len(inv.Interfaces) {
		return
	}
	types := append([]string{}, inv.virtual...)
	s.measure(h, "nic.virtual_interfaces", map[string]any{"count": len(types), "types": types})
	s.measure(h, "nic.physical_interfaces", map[string]any{"count": len(inv.Interfaces)})
}

// inventoryStates are the states in which an inventory is taken.
func inventoryStates() []string {
	return append(hostChangeableStates(), hostPreparationFailed)
}

// chooseDisk keeps the user's disk or takes the best of the eligible ones.
func (s *Service) chooseDisk(h *host) {
	if h.inv == nil {
		return
	}
	eligible := h.inv.eligibleDisks()
	find := func(id string) *disk {
		i := slices.IndexFunc(eligible, func(d *disk) bool { return d.identifier() == id })
		if id == "" || i < 0 {
			return nil
		}
		return eligible[i]
	}
	chosen := find(h.chosenDisk)
	if chosen == nil {
		chosen = find(h.InstallationDiskID)
	}
	if chosen == nil && len(eligible) > 0 {
		chosen = eligible[0]
	}
	if chosen == nil {
		h.InstallationDiskID, h.InstallationDiskPath = "", ""
		return
	}
	h.InstallationDiskID, h.InstallationDiskPath = chosen.identifier(), chosen.Path
}

// takeDiskSpeed keeps a measurement. A slow disk is worth an event; only a
// measurement that fails hinders the installation.
func (s *Service) takeDiskSpeed(h *host, r diskSpeedReply) {
	limit := requirementsFor(h.cluster, h.role()).DiskSpeedMs
	h.diskTested, h.diskPath, h.diskSpeedMs = true, r.Path, r.SyncDuration
	h.diskFailed = false
	h.DisksInfo = inString(map[string]any{r.Path: map[string]any{
		"disk_speed": map[string]any{"speed_ms": r.SyncDuration, "tested": true}, "path": r.Path}})
	if limit > 0 && r.SyncDuration > limit {
		s.noteHost(h, "disk_speed_slower_than_supported", severityWarning,
			"Host's disk %s is slower than the supported speed, and may cause degraded cluster performance (fdatasync duration: %d ms)", r.Path, r.SyncDuration)
	}
}

func (s *Service) takeImages(h *host, images []imageResult) {
	if h.imageResults == nil {
		h.imageResults = map[string]imageResult{}
	}
	for _, r := range images {
		if old, known := h.imageResults[r.Name]; known {
			old.Result = r.Result // what was measured first is kept
			h.imageResults[r.Name] = old
			continue
		}
		h.imageResults[r.Name] = r
		measured := ""
		if r.SizeBytes > 0 {
			measured = fmt.Sprintf("time: %.2f seconds; size: %.2f Megabytes; download rate: %.2f MBps", r.Time, r.SizeBytes/(1<<20), r.DownloadRate)
		}
		s.noteHost(h, "image_status_updated", severityInfo, "Host %s: New image status %s. result: %s. %s", h.name(), r.Name, r.Result, measured)
	}
	h.ImagesStatus = inString(h.imageResults)
}

// takeVips keeps whether the virtual addresses are free.
func (c *cluster) takeVips(replies []vipReply) {
	keep := func(list []vip, kind string) []vip {
		changed := slices.Clone(list)
		for i := range changed {
			for _, r := range replies {
				if r.Type == kind && r.VIP == changed[i].IP && r.Verification != "unverified" {
					changed[i].Verification = r.Verification
				}
			}
		}
		return changed
	}
	c.APIVips, c.IngressVips = keep(c.APIVips, "api"), keep(c.IngressVips, "ingress")
}
