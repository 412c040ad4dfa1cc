package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// repository reads what one repository of a registry holds. The library's own
// reader of images is not used: it brings programs along that make images.
type repository struct {
	base   string // https://registry/v2/name
	client *http.Client
}

func (c *client) open(ctx context.Context, at place) (*repository, error) {
	base := c.verified
	if at.insecure {
		base = c.careless
	}
	in := at.ref.Context()
	login, err := c.logins.Resolve(in)
	if err != nil {
		return nil, err
	}
	signed, err := transport.NewWithContext(ctx, in.Registry, login, &bounded{next: base, plain: at.insecure}, []string{in.Scope(transport.PullScope)})
	if err != nil {
		return nil, distrust(err)
	}
	return &repository{base: fmt.Sprintf("%s://%s/v2/%s", in.Scheme(), in.RegistryStr(), in.RepositoryStr()), client: &http.Client{Transport: signed}}, nil
}

// manifest is a manifest as the registry has it.
type manifest struct {
	data   []byte
	kind   types.MediaType
	digest string
}

// manifest reads a manifest or a list of them, by tag or digest.
func (r *repository) manifest(ctx context.Context, identifier string) (manifest, error) {
	kinds := []string{string(types.OCIImageIndex), string(types.DockerManifestList), string(types.OCIManifestSchema1), string(types.DockerManifestSchema2)}
	data, header, err := r.get(ctx, "/manifests/"+identifier, strings.Join(kinds, ","))
	if err != nil {
		return manifest{}, err
	}
	m := manifest{data: data, kind: types.MediaType(header.Get("Content-Type")), digest: digest(data)}
	if strings.HasPrefix(identifier, "sha256:") && m.digest != identifier {
		return manifest{}, fmt.Errorf("the registry answers with %s when asked for %s", m.digest, identifier)
	}
	return m, nil
}

// blob reads a part of an image.
func (r *repository) blob(ctx context.Context, part v1.Descriptor) ([]byte, error) {
	data, _, err := r.get(ctx, "/blobs/"+part.Digest.String(), "")
	if err == nil && digest(data) != part.Digest.String() {
		err = fmt.Errorf("the registry answers with %s when asked for %s", digest(data), part.Digest)
	}
	return data, err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (r *repository) get(ctx context.Context, path, accept string) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		return nil, nil, err
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(response.Body)
	return data, response.Header, err
}
