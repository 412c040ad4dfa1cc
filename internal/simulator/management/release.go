package management

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// Release is a release image as the simulated service knows it. Controllers that a simulation surrounds read
// releases by it, since a simulation has no registry.
func Release(_ context.Context, image string, o release.Options) (release.Info, error) {
	known, is := versions.ReleaseByImage(image)
	if !is {
		return release.Info{}, fmt.Errorf("read the release image %s: the simulation has no registry, and knows no such release", image)
	}
	_, digest, _ := strings.Cut(image, "@")
	info := release.Info{
		Version: strings.TrimSuffix(known.Version, "-"+versions.Multi), Arch: known.CPUArchitectures,
		Digest: cmp.Or(digest, versions.DigestOf(image)),
	}
	if o.Kubernetes {
		info.Kubernetes = strings.TrimPrefix(spoke.KubernetesOf(info.Version), "v")
	}
	return info, nil
}
