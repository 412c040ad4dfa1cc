package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// imageCacheDir is where live images are kept between runs.
func (a *app) imageCacheDir() (string, error) {
	if dir := a.env.Get("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "oaictl", "images"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for base images: %w", err)
	}
	return filepath.Join(dir, "oaictl", "images"), nil
}

// forgetImages removes the cached images of InfraEnvs that are gone: each holds the pull
// secret of its cluster. One that cannot be removed is told of, and ends nothing.
func (a *app) forgetImages(ctx context.Context, envs []install.InfraEnv) {
	dir, err := a.imageCacheDir()
	if err != nil {
		return // so that there is none
	}
	for _, env := range envs {
		if err := boot.ForgetImage(ctx, dir, env); err != nil {
			a.warn("the image of InfraEnv %s stays in %s: %v. It holds the pull secret: delete it", env.Name, dir, err)
		}
	}
}

// forgetImagesOf does so for a cluster that the service does not have any more, nor its
// InfraEnvs.
func (a *app) forgetImagesOf(c *spec.Cluster) {
	dir, err := a.imageCacheDir()
	if err != nil {
		return
	}
	if err := boot.ForgetImages(dir, c); err != nil {
		a.warn("not all images of %s could be removed from %s: %v. They hold the pull secret: delete them", c.Metadata.Name, dir, err)
	}
}
