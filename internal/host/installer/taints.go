//go:build linux

package installer

import (
	"context"
	"fmt"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/cloud"
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
	return r.platform() == models.PlatformTypeVsphere && cloud.AtLeast(r.config.OpenShiftVersion, 4, 15) &&
		cloud.HasCredentials(r.clusterNow.InstallConfigOverrides) && r.agentBased(ctx, api)
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
