package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Find asks whether a registry gives an image, of any kind, to a machine like this one: it reads the manifest, and no part
// of the image. Errors are those of Read.
func Find(ctx context.Context, ref string, o Options) error {
	err := find(ctx, ref, o)
	if fault, is := errors.AsType[*model.Fault](err); is {
		fault.Op = "find image"
		if fault.Code == model.CodeNotFound {
			fault.Next = "check the image and its mirrors in registries.conf"
		}
	}
	return err
}

func find(ctx context.Context, ref string, o Options) error {
	s, err := newSearch(ref, o)
	if err != nil {
		return refused(ref, err)
	}
	defer s.client.close()
	_, failures, err := first(ctx, s, func(ctx context.Context, from *repository, identifier string) (struct{}, error) {
		return struct{}{}, from.has(ctx, identifier, runtime.GOARCH)
	})
	if failures != nil {
		return unreadable(ref, failures)
	}
	return err
}

// registryForm is a host name or an IP address, with a port.
var registryForm = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]+)?$`)

// Valid refuses what is no reference of an image with its registry. Programs such as podman take other texts, too, such as
// dir:/path, and read from elsewhere then.
func Valid(ref string) error {
	if _, err := parse(ref); err != nil {
		return err
	}
	if strings.TrimSpace(ref) != ref {
		return errors.New("it begins or ends with a space")
	}
	if host, _, _ := strings.Cut(ref, "/"); !registryForm.MatchString(host) {
		return fmt.Errorf("%q names no registry", host)
	}
	return nil
}

// has reads the manifest of an image for an architecture, as Go calls it.
func (r *repository) has(ctx context.Context, identifier, architecture string) error {
	found, err := r.get(ctx, manifests, identifier)
	if err != nil {
		return err
	}
	if found.kind.IsIndex() {
		index, err := v1.ParseIndexManifest(bytes.NewReader(found.data))
		if err != nil {
			return fmt.Errorf("%w: %w", finding("cannot read its list of manifests"), err)
		}
		one := imageFor(index, architecture)
		if one == "" {
			return finding("its list of manifests names no image for linux/" + architecture)
		}
		if found, err = r.get(ctx, manifests, one); err != nil {
			return err
		}
	}
	if !found.kind.IsImage() {
		return fmt.Errorf("%w: it is a %s", finding("it is no image"), found.kind)
	}
	if _, err := v1.ParseManifest(bytes.NewReader(found.data)); err != nil {
		return fmt.Errorf("%w: %w", finding("cannot read its manifest"), err)
	}
	return nil
}

// imageFor is the digest of the image for an architecture, "" if there is none.
func imageFor(index *v1.IndexManifest, architecture string) string {
	for _, entry := range index.Manifests {
		if p := entry.Platform; p != nil && p.OS == "linux" && p.Architecture == architecture && entry.MediaType.IsImage() {
			return entry.Digest.String()
		}
	}
	return ""
}
