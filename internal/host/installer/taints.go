//go:build linux

package installer

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
)

// removeTaints lets nodes of a cloud become ready without the cloud's controller, which has no credentials yet.
func (r *run) removeTaints(ctx context.Context, api Kube, nodes []kube.Node) {
	if !r.waitsForCloud() || r.cloudWorks(ctx, api) {
		return
	}
	for _, node := range nodes {
		if node.Ready() || !node.Uninitialized() {
			continue
		}
		if err := api.InitializeNode(ctx, node); err != nil {
			r.Log.Warn("a node still waits for its cloud", "node", node.Name, "why", r.text(err))
		}
	}
}

func (r *run) platform() models.PlatformType {
	if p := r.clusterNow.Platform; p != nil && p.Type != nil {
		return *p.Type
	}
	return ""
}

func (r *run) waitsForCloud() bool {
	return r.platform() == models.PlatformTypeVsphere || r.platform() == models.PlatformTypeNutanix
}

// cloudWorks reports whether the cloud's controller has credentials: vSphere's may, with an agent-based installer since 4.15.
func (r *run) cloudWorks(ctx context.Context, api Kube) bool {
	return r.platform() == models.PlatformTypeVsphere && atLeast(r.config.OpenShiftVersion, 4, 15) &&
		hasCredentials(r.clusterNow.InstallConfigOverrides) && r.agentBased(ctx, api)
}

// hasCredentials reports whether overrides of an install-config name a vCenter with its user, and no placeholders.
func hasCredentials(overrides string) bool {
	var parsed struct {
		Platform struct {
			VSphere struct {
				VCenters []struct{ Server, User, Password string } `json:"vcenters"`
			} `json:"vsphere"`
		} `json:"platform"`
	}
	if json.Unmarshal([]byte(overrides), &parsed) != nil || len(parsed.Platform.VSphere.VCenters) == 0 {
		return false
	}
	first := parsed.Platform.VSphere.VCenters[0]
	given := func(value, placeholder string) bool { return value != "" && value != placeholder }
	return given(first.Server, "vcenterplaceholder") && given(first.User, "usernameplaceholder") &&
		given(first.Password, "passwordplaceholder")
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	numbers := strings.SplitN(version, ".", 3)
	if len(numbers) < 2 {
		return false
	}
	x, err := strconv.Atoi(numbers[0])
	if err != nil {
		return false
	}
	digits, _, _ := strings.Cut(numbers[1], "-")
	y, err := strconv.Atoi(digits)
	return err == nil && (x > major || x == major && y >= minor)
}

// kernelArguments are the values of coreos-installer's options of a name, such as --append-karg.
func kernelArguments(args []string, option string) []string {
	var values []string
	for i, arg := range args {
		if value, joined := strings.CutPrefix(arg, option+"="); joined {
			values = append(values, value)
		}
		if arg == option && i+1 < len(args) {
			values = append(values, args[i+1])
		}
	}
	return values
}

// platformID is the kernel argument that tells Ignition where it runs.
func (r *run) platformID() string {
	const name, metal = "ignition.platform.id=", "ignition.platform.id=metal"
	line, err := r.Files.Read("/proc/cmdline")
	if err != nil {
		r.Log.Warn("the platform is taken to be metal", "why", fmt.Sprint(err))
		return metal
	}
	for argument := range strings.FieldsSeq(string(line)) {
		if strings.HasPrefix(argument, name) {
			return argument
		}
	}
	return metal
}
