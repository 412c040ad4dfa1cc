package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	versionLabel = "io.openshift.release"
	metadataFile = "release-manifests/release-metadata"
	imagesFile   = "release-manifests/image-references"

	largestConfig   = 4 << 20
	largestLayer    = 64 << 20  // compressed
	largestContents = 1 << 30   // of a layer, unpacked
	largestFile     = 16 << 20  // the list of all images is some hundred kB
	largestWindow   = 128 << 20 // what unpacking zstd may keep in memory; its highest level takes as much
)

func (r *repository) describe(ctx context.Context, identifier string) (Info, error) {
	found, err := r.get(ctx, manifests, identifier)
	if err != nil {
		return Info{}, err
	}
	info := Info{Digest: found.digest}
	if found.kind.IsIndex() {
		var one string
		if one, info.Arch, err = oneOf(found.data); err != nil {
			return Info{}, err
		}
		if found, err = r.get(ctx, manifests, one); err != nil {
			return Info{}, err
		}
	}
	if !found.kind.IsImage() {
		return Info{}, fmt.Errorf("it is a %s and no image", found.kind)
	}
	image, err := v1.ParseManifest(bytes.NewReader(found.data))
	if err != nil {
		return Info{}, fmt.Errorf("read its manifest: %w", err)
	}
	config, err := r.configOf(ctx, image)
	if err != nil {
		return Info{}, err
	}
	if len(info.Arch) == 0 {
		info.Arch = []string{string(setting.Word[spec.Arch](config.Architecture))}
	}
	if info.Version = config.Config.Labels[versionLabel]; info.Version == "" {
		info.Version, err = r.versionInLayers(ctx, image)
	}
	return info, err
}

// oneOf is an image of a manifest list, any of which says the version, and the
// architectures of all. Entries without a machine's platform are attestations and the
// like.
func oneOf(list []byte) (one string, arch []string, err error) {
	index, err := v1.ParseIndexManifest(bytes.NewReader(list))
	if err != nil {
		return "", nil, fmt.Errorf("read its list of manifests: %w", err)
	}
	for _, entry := range index.Manifests {
		if entry.Platform == nil || entry.Platform.OS != "linux" || !entry.MediaType.IsImage() {
			continue
		}
		if name := string(setting.Word[spec.Arch](entry.Platform.Architecture)); !slices.Contains(arch, name) {
			arch = append(arch, name)
		}
		if one == "" {
			one = entry.Digest.String()
		}
	}
	if one == "" {
		return "", nil, errors.New("its list of manifests names no image for linux")
	}
	slices.Sort(arch)
	return one, arch, nil
}

func (r *repository) configOf(ctx context.Context, image *v1.Manifest) (*v1.ConfigFile, error) {
	if image.Config.Size > largestConfig {
		return nil, fmt.Errorf("%w: its configuration has %d bytes", errTooLarge, image.Config.Size)
	}
	found, err := r.get(ctx, blobs, image.Config.Digest.String())
	if err != nil {
		return nil, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(found.data))
	if err != nil {
		return nil, fmt.Errorf("read its configuration: %w", err)
	}
	if config.Architecture == "" {
		return nil, errors.New("its configuration names no architecture")
	}
	return config, nil
}

// versionInLayers looks in the last layer that has the release's description.
func (r *repository) versionInLayers(ctx context.Context, image *v1.Manifest) (string, error) {
	for _, layer := range slices.Backward(image.Layers) {
		if layer.Size > largestLayer {
			continue // the release's own layers are small
		}
		found, err := r.get(ctx, blobs, layer.Digest.String())
		if err != nil {
			return "", err
		}
		version, err := versionInLayer(found.data)
		if err != nil || version != "" {
			return version, err
		}
	}
	return "", errors.New("it is no OpenShift release: it has neither the label " + versionLabel + " nor the file " + metadataFile)
}

// unpacked is a layer's content, by what it begins with.
func unpacked(layer []byte) (io.ReadCloser, error) {
	switch {
	case bytes.HasPrefix(layer, []byte{0x1f, 0x8b}):
		return gzip.NewReader(bytes.NewReader(layer))
	case bytes.HasPrefix(layer, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		reader, err := zstd.NewReader(bytes.NewReader(layer), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, err
		}
		return reader.IOReadCloser(), nil
	}
	return io.NopCloser(bytes.NewReader(layer)), nil
}

func versionInLayer(layer []byte) (string, error) {
	content, err := unpacked(layer)
	if err != nil {
		return "", fmt.Errorf("unpack a layer: %w", err)
	}
	defer content.Close()
	files := tar.NewReader(io.LimitReader(content, largestContents))
	fallback := ""
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fallback, nil
		}
		if err != nil {
			return "", fmt.Errorf("read a layer: %w", err)
		}
		switch strings.TrimPrefix(path.Clean("/"+header.Name), "/") {
		case metadataFile:
			var metadata struct {
				Version string `json:"version"`
			}
			if err := readJSON(files, metadataFile, &metadata); err != nil || metadata.Version != "" {
				return metadata.Version, err
			}
		case imagesFile:
			var images struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			}
			if err := readJSON(files, imagesFile, &images); err != nil {
				return "", err
			}
			fallback = images.Metadata.Name
		}
	}
}

func readJSON(file io.Reader, name string, into any) error {
	data, err := io.ReadAll(io.LimitReader(file, largestFile+1))
	if err == nil && len(data) > largestFile {
		err = errTooLarge
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
