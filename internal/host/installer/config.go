//go:build linux

// Package installer installs OpenShift on the machine that it runs on: it takes the place of the program assisted-installer,
// with the same flags and the same stages at the service. A plan says what is done for a machine's role; a journal lets an
// installer that was started again go on where it was.
package installer

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Program is the name of the program whose flags these are.
const Program = "assisted-installer"

// Config is what the flags and the environment of assisted-installer say.
type Config struct {
	Role       models.HostRole `json:"role"` // bootstrap, master, worker or arbiter
	ClusterID  string          `json:"clusterID"`
	InfraEnvID string          `json:"infraEnvID"`
	HostID     string          `json:"hostID"`

	// BootDevice is the disk to install to. DisksToFormat are disks whose first sector is overwritten.
	BootDevice      string   `json:"bootDevice"`
	DisksToFormat   []string `json:"disksToFormat,omitempty"`
	SkipDiskCleanup bool     `json:"skipDiskCleanup,omitempty"`

	// URL is the service's. Token is for it, from PULL_SECRET_TOKEN.
	URL        string `json:"url"`
	Token      string `json:"-"`
	Insecure   bool   `json:"insecure,omitempty"`
	CACertPath string `json:"caCertPath,omitempty"`
	HTTPProxy  string `json:"httpProxy,omitempty"`
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	NoProxy    string `json:"noProxy,omitempty"`
	ServiceIPs string `json:"serviceIPs,omitempty"` // separated by commas

	OpenShiftVersion string `json:"openshiftVersion"`
	MCOImage         string `json:"mcoImage,omitempty"`
	ControllerImage  string `json:"controllerImage"`
	AgentImage       string `json:"agentImage"`
	// MustGatherImage is an image, or a JSON object of images by the names of operators.
	MustGatherImage string `json:"mustGatherImage,omitempty"`
	// CoreOSImage is installed into the root file system that runs, and no disk is written. "" means that a disk is.
	CoreOSImage string `json:"coreosImage,omitempty"`

	InstallerArgs       []string `json:"installerArgs,omitempty"` // for coreos-installer
	ControlPlaneCount   int      `json:"controlPlaneCount"`       // 1 means a single node; 0 for workers
	CheckClusterVersion bool     `json:"checkClusterVersion,omitempty"`
	SkipMCOReboot       bool     `json:"skipMCOReboot,omitempty"`
	NotifyNumReboots    bool     `json:"notifyNumReboots,omitempty"`

	Verbose bool `json:"-"`
	dryRun  bool
}

// Errors of Parse that are no mistakes in values.
var (
	// ErrHelp means that the usage was asked for, and printed. The program ends with 0.
	ErrHelp = errors.New("help was asked for")
	// ErrUsage means that a flag is not known, or not complete. It was printed with the usage. The program ends with 2.
	ErrUsage = errors.New("the flags cannot be read")
)

// ErrRunning means that another installer runs on this machine. Nothing was done, and nothing was told to the service.
var ErrRunning = errors.New("another installer runs on this machine")

// exitRunning is what podman ends with when a container of the name runs. The service takes it as no failure.
const exitRunning = 125

// ExitCode is the exit code of the program after an error of Parse or Run.
func ExitCode(err error) int {
	switch {
	case err == nil, errors.Is(err, ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		return 2
	case errors.Is(err, ErrRunning):
		return exitRunning
	}
	return 1
}

// Parse reads flags and environment. What is wrong with flags as such is printed to usage. All that is wrong with values is
// in one error.
func Parse(args []string, getenv func(string) string, usage io.Writer) (Config, error) {
	c := Config{Token: getenv("PULL_SECRET_TOKEN")}
	set := flag.NewFlagSet(Program, flag.ContinueOnError)
	set.SetOutput(usage)
	role, installerArgs, help := c.bind(set)
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return Config{}, ErrHelp
	case err != nil:
		return Config{}, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if *help {
		set.Usage()
		return Config{}, ErrHelp
	}
	c.Role = models.HostRole(*role)
	c.dryRun = c.dryRun || isTrue(getenv("DRY_ENABLE")) || isTrue(getenv("DRYCONFIG_DRY_ENABLE"))
	problems := make([]error, 0, 1)
	if *installerArgs != "" {
		if err := json.Unmarshal([]byte(*installerArgs), &c.InstallerArgs); err != nil {
			problems = append(problems, fmt.Errorf("--installer-args is not a JSON list of strings: %w", err))
		}
	}
	if rest := set.Args(); len(rest) > 0 {
		problems = append(problems, fmt.Errorf("%q is no flag", strings.Join(rest, " ")))
	}
	if c.Role == models.HostRoleWorker {
		c.ControlPlaneCount = 0 // the service says the cluster's, which is no matter of a worker
	}
	if c.InfraEnvID == "" {
		c.InfraEnvID = c.ClusterID
	}
	if err := errors.Join(append(problems, c.check()...)...); err != nil {
		return Config{}, fmt.Errorf("%s cannot start: %w", Program, err)
	}
	return c, nil
}

// bind declares the flags. Their names and defaults are those of assisted-installer.
func (c *Config) bind(set *flag.FlagSet) (role, installerArgs *string, help *bool) {
	role = set.String("role", string(models.HostRoleMaster), "role of this node: bootstrap, master, worker or arbiter")
	set.StringVar(&c.ClusterID, "cluster-id", "", "ID of the cluster")
	set.StringVar(&c.InfraEnvID, "infra-env-id", "", "ID of this host's infrastructure environment (default: the cluster's ID)")
	set.StringVar(&c.HostID, "host-id", "", "ID of this host")
	set.StringVar(&c.BootDevice, "boot-device", "", "disk to install to")
	set.StringVar(&c.URL, "url", "", "URL of the assisted-service")
	set.StringVar(&c.OpenShiftVersion, "openshift-version", "4.4", "version of OpenShift to install")
	set.StringVar(&c.MCOImage, "mco-image", "", "image of the machine-config-operator")
	set.BoolVar(&c.Verbose, "verbose", false, "log more")
	set.StringVar(&c.ControllerImage, "controller-image", "quay.io/ocpmetal/assisted-installer-controller:latest",
		"image of the controller that finishes the installation in the cluster")
	set.StringVar(&c.AgentImage, "agent-image", "quay.io/ocpmetal/assisted-installer-agent:latest", "image of the agent, which sends logs")
	set.BoolVar(&c.Insecure, "insecure", false, "do not verify the service's TLS certificate")
	set.StringVar(&c.CACertPath, "cacert", "", "file of CA certificates for the service, in PEM form")
	set.StringVar(&c.HTTPProxy, "http-proxy", "", "proxy of HTTP connections to outside of the cluster")
	set.StringVar(&c.HTTPSProxy, "https-proxy", "", "proxy of HTTPS connections to outside of the cluster")
	set.StringVar(&c.NoProxy, "no-proxy", "", "domains, addresses and networks without proxy, separated by commas")
	set.StringVar(&c.ServiceIPs, "service-ips", "", "addresses of the assisted-service, separated by commas")
	set.IntVar(&c.ControlPlaneCount, "control-plane-count", 0, "number of control plane nodes in the cluster")
	set.BoolVar(&c.CheckClusterVersion, "check-cluster-version", false, "the controller also waits for the cluster version operator")
	set.StringVar(&c.MustGatherImage, "must-gather-image", "", "image of must-gather, or a JSON object of images")
	set.Func("format-disk", "disk whose first sector is overwritten; may be repeated", func(disk string) error {
		c.DisksToFormat = append(c.DisksToFormat, disk)
		return nil
	})
	set.BoolVar(&c.SkipDiskCleanup, "skip-installation-disk-cleanup", false, "leave LVM, RAID and signatures on the disk")
	set.BoolVar(&c.SkipMCOReboot, "enable-skip-mco-reboot", false, "write the release's operating system before the first boot")
	set.BoolVar(&c.NotifyNumReboots, "notify-num-reboots", false, "the controller says how often nodes rebooted")
	set.StringVar(&c.CoreOSImage, "coreos-image", "", "image to install into the root file system that runs")
	installerArgs = set.String("installer-args", "", "JSON list of arguments for coreos-installer")
	help = set.Bool("help", false, "print this text")
	set.BoolVar(&c.dryRun, "dry-run", false, "not supported")
	for _, name := range []string{"force-id", "fake-reboot-marker-path", "dry-run-cluster-hosts-path"} {
		set.String(name, "", "of --dry-run")
	}
	return role, installerArgs, help
}

func isTrue(value string) bool { return value == "true" || value == "1" }

// LogValue shows the config without the token and without passwords of proxies.
func (c Config) LogValue() slog.Value {
	shown, err := json.Marshal(c)
	if err != nil {
		return slog.StringValue(err.Error())
	}
	token := "not set"
	if c.Token != "" {
		token = "set"
	}
	return slog.GroupValue(slog.String("flags", redact.Text(string(shown))), slog.String("PULL_SECRET_TOKEN", token))
}

// singleNode reports whether the cluster is to be this one node. A host that joins such a cluster is told the same number, and
// another role.
func (c Config) singleNode() bool {
	return c.Role == models.HostRoleBootstrap && c.ControlPlaneCount == 1
}

// runsBootstrap reports whether this node is the bootstrap of a cluster with more nodes.
func (c Config) runsBootstrap() bool { return c.Role == models.HostRoleBootstrap && !c.singleNode() }
