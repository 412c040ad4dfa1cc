//go:build linux

package machine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const longestImage = 1024

var (
	// imageForm has the host of a registry, a port, a path, a tag and a digest.
	imageForm = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]{1,5})?(/[A-Za-z0-9][A-Za-z0-9._-]*)*` +
		`(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@[A-Za-z0-9]+:[0-9A-Fa-f]+)?$`)
	// transports begin a name with which podman reads an image from elsewhere: of docker-archive:/dev/zero it would read
	// until the machine has no room any more.
	transports = []string{
		"atomic", "containers-storage", "dir", "docker", "docker-archive", "docker-daemon", "oci", "oci-archive", "ostree", "sif", "tarball",
	}
)

// Image returns an error for what podman does not take for an image of a registry. An image is an argument of podman, which
// would take a name with a dash at its start for an option.
func Image(name string) error {
	const enough = 300
	if before, _, has := strings.Cut(name, ":"); len(name) > longestImage || !imageForm.MatchString(name) ||
		has && slices.Contains(transports, before) {
		return fmt.Errorf("%q is no name of a container image in a registry", name[:min(len(name), enough)])
	}
	return nil
}
