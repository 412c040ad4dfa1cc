package management

import (
	"context"
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/release"
)

// Release stands for reading a release image from its registry, where the controllers run around which a
// simulation is: it has no registry, and nobody waits for one.
func Release(_ context.Context, image string, _ release.Options) (release.Info, error) {
	return release.Info{}, fmt.Errorf("read the release image %s: the simulation has no registry", image)
}
