package release

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Info is what a release image says of itself.
type Info struct {
	// Version of OpenShift: "4.20.33".
	Version string
	// Arch are the architectures that it is for, in the service's words: x86_64,
	// arm64, ppc64le, s390x. Sorted; never empty.
	Arch []string
	// Digest is what the reference resolves to, "sha256:…": the digest of the
	// manifest list where it is one.
	Digest string
}

// Architecture is the service's one word for all of Arch: "multi" for several.
func (i Info) Architecture() string {
	if len(i.Arch) == 1 {
		return i.Arch[0]
	}
	return string(spec.Multi)
}

// Options say how registries are reached.
type Options struct {
	// PullSecret is a .dockerconfigjson: {"auths": {"registry[/path]": {"auth":
	// "…"}}}. The entry with the longest path that fits is used.
	PullSecret spec.Secret
	// Registries are what a registries.conf says, see ParseRegistries.
	Registries []Registry
	// Mirror is a reference that is tried before all others: what
	// OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR holds. One without tag and digest
	// takes those of the release image.
	Mirror string
	// CA holds certificates (PEM) to trust beside the system's.
	CA []byte
	// OC is the path of the program oc, which is asked where no registry answers
	// with the release; "" for none.
	OC string
	// Clock is what is waited by between attempts.
	Clock clock.Clock
}

// Read reads a release image's version and architectures. Errors are
// *install.Fault: CodeInput for a reference, pull secret or certificate that
// cannot be read, CodeAuth where a registry refuses the credentials, CodeNotFound
// where no registry has the image. They name each place that was tried and why it
// failed, and hold no secret.
func Read(ctx context.Context, ref string, o Options) (Info, error) {
	image, err := parse(ref)
	if err != nil {
		return Info{}, refused(ref, err)
	}
	places, err := placesOf(image, o)
	if err != nil {
		return Info{}, refused(ref, err)
	}
	client, err := newClient(o)
	if err != nil {
		return Info{}, refused(ref, err)
	}
	defer client.close()
	var failures []error
	for _, at := range places {
		info, err := client.read(ctx, at)
		if err == nil {
			return info, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return Info{}, cause
		}
		failures = append(failures, fmt.Errorf("%s: %w", at.image, err))
	}
	if o.OC != "" {
		info, err := askOC(ctx, o, places)
		if err == nil {
			return info, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return Info{}, cause
		}
		failures = append(failures, fmt.Errorf("oc: %w", err))
	}
	return Info{}, unreadable(ref, failures)
}

// parse reads a reference. One without a registry is refused: it would be looked
// for at a registry that has no OpenShift.
func parse(ref string) (name.Reference, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return nil, errors.New("it is empty")
	}
	host, _, hasPath := strings.Cut(ref, "/")
	if !hasPath || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil, errors.New("it names no registry; write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:…")
	}
	image, err := name.ParseReference(ref, name.WithDefaultTag("latest"))
	if err != nil {
		return nil, err
	}
	return image, nil
}

func refused(ref string, err error) error {
	return &install.Fault{Code: install.CodeInput, Op: "read release image", On: ref, Permanent: true, Err: err}
}
