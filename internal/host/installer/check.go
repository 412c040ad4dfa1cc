//go:build linux

package installer

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

var (
	// devicePattern has the names that udev makes: it writes white space as \x20.
	devicePattern = regexp.MustCompile(`^/dev/[A-Za-z0-9._:/+@=#\\-]{1,250}$`)
	// imagePattern has references of container images: registry, repository, tag and digest.
	imagePattern = regexp.MustCompile(`^[A-Za-z0-9\[][A-Za-z0-9._:/@\[\]-]{0,500}$`)
	// versionPattern has versions such as 4.20.0-0.nightly-2026-01-01-000000.
	versionPattern = regexp.MustCompile(`^[0-9][A-Za-z0-9.+_-]{0,100}$`)
)

// roles are those that the service gives an installer.
var roles = []models.HostRole{models.HostRoleBootstrap, models.HostRoleMaster, models.HostRoleWorker, models.HostRoleArbiter}

// problems gathers what is wrong with values.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// check returns all that is wrong with the values.
func (c Config) check() []error {
	var p problems
	if !slices.Contains(roles, c.Role) {
		p.add("--role %q is none of bootstrap, master, worker and arbiter", c.Role)
	}
	if c.dryRun {
		p.add("--dry-run is not supported: this installer would change the machine")
	}
	p.checkIDs(c)
	p.checkDisks(c)
	p.checkService(c)
	p.checkImages(c)
	if c.ControlPlaneCount < 0 {
		p.add("--control-plane-count %d is less than 0", c.ControlPlaneCount)
	}
	if !versionPattern.MatchString(c.OpenShiftVersion) {
		p.add("--openshift-version %q is not a version", c.OpenShiftVersion)
	}
	for _, arg := range c.InstallerArgs {
		if arg == "" || strings.ContainsAny(arg, "\x00\n\r") {
			p.add("--installer-args has %q, which is empty or more than one line", arg)
		}
	}
	for _, argument := range kernelArguments(c.InstallerArgs, "--append-karg") {
		if guard.LiveCommandLine(argument) == nil {
			p.add("--installer-args has the kernel argument %q, with which the installed system would pass for a live system", argument)
		}
	}
	return p
}

func (p *problems) checkIDs(c Config) {
	for _, id := range []struct{ flag, value string }{
		{"cluster-id", c.ClusterID}, {"infra-env-id", c.InfraEnvID}, {"host-id", c.HostID},
	} {
		if _, err := uuid.Parse(id.value); err != nil {
			p.add("--%s %q is not a UUID", id.flag, id.value)
		}
	}
}

func (p *problems) checkDisks(c Config) {
	if !deviceName(c.BootDevice) {
		p.add("--boot-device %q is not the name of a disk in /dev", c.BootDevice)
	}
	for _, disk := range c.DisksToFormat {
		switch {
		case !deviceName(disk):
			p.add("--format-disk %q is not the name of a disk in /dev", disk)
		case disk == c.BootDevice:
			p.add("--format-disk %q is the disk to install to", disk)
		}
	}
}

func deviceName(name string) bool { return devicePattern.MatchString(name) && path.Clean(name) == name }

func (p *problems) checkService(c Config) {
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.add("--url %q is not the URL of a service", redact.Text(c.URL))
	}
	for _, proxy := range []struct{ flag, value string }{{"http-proxy", c.HTTPProxy}, {"https-proxy", c.HTTPSProxy}} {
		if u, err := url.Parse(proxy.value); proxy.value != "" && (err != nil || u.Host == "") {
			p.add("--%s %q is not the URL of a proxy", proxy.flag, redact.Text(proxy.value))
		}
	}
	if c.CACertPath != "" && (!path.IsAbs(c.CACertPath) || path.Clean(c.CACertPath) != c.CACertPath || strings.Contains(c.CACertPath, ":")) {
		p.add("--cacert %q is not a whole path without ':'", c.CACertPath)
	}
	for _, address := range c.serviceIPs() {
		if _, err := netip.ParseAddr(address); err != nil {
			p.add("--service-ips has %q, which is not an IP address", address)
		}
	}
}

// serviceIPs are the addresses of the service, as a list.
func (c Config) serviceIPs() []string {
	return strings.FieldsFunc(c.ServiceIPs, func(r rune) bool { return r == ',' || r == ' ' })
}

func (p *problems) checkImages(c Config) {
	needsMCO := c.Role == models.HostRoleBootstrap
	for _, image := range []struct {
		flag, value string
		needed      bool
	}{
		{"mco-image", c.MCOImage, needsMCO},
		{"controller-image", c.ControllerImage, true},
		{"agent-image", c.AgentImage, true},
		{"coreos-image", c.CoreOSImage, false},
	} {
		if (image.needed || image.value != "") && !imagePattern.MatchString(image.value) {
			p.add("--%s %q is not the reference of a container image", image.flag, redact.Text(image.value))
		}
	}
	for _, image := range mustGatherImages(c.MustGatherImage) {
		if !imagePattern.MatchString(image) {
			p.add("--must-gather-image has %q, which is not the reference of a container image", redact.Text(image))
		}
	}
}

// mustGatherImages reads an image, or a JSON object of images.
func mustGatherImages(value string) []string {
	byOperator := map[string]string{}
	if json.Unmarshal([]byte(value), &byOperator) != nil {
		if value == "" {
			return nil
		}
		return []string{value}
	}
	var images []string
	for _, image := range byOperator {
		images = append(images, image)
	}
	slices.Sort(images)
	return images
}
