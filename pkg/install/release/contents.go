package release

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	versionLabel = "io.openshift.release"
	metadataFile = "release-manifests/release-metadata"
	imagesFile   = "release-manifests/image-references"

	largestConfig   = 4 << 20
	largestLayer    = 128 << 20 // compressed
	largestContents = 1 << 30   // of a layer, unpacked
	largestFile     = 16 << 20  // the list of all images is some hundred kB
)

// describe reads what a manifest or a list of them says of the release.
func describe(found *remote.Descriptor) (Info, error) {
	info := Info{Digest: found.Digest.String()}
	var image v1.Image
	var err error
	switch {
	case found.MediaType.IsIndex():
		index, err := found.ImageIndex()
		if err != nil {
			return Info{}, err
		}
		if image, info.Arch, err = oneOf(index); err != nil {
			return Info{}, err
		}
	case found.MediaType.IsImage():
		if image, err = found.Image(); err != nil {
			return Info{}, err
		}
	default:
		return Info{}, fmt.Errorf("it is a %s and no image", found.MediaType)
	}
	config, err := configOf(image)
	if err != nil {
		return Info{}, err
	}
	if len(info.Arch) == 0 {
		info.Arch = []string{serviceArch(config.Architecture)}
	}
	if info.Version = config.Config.Labels[versionLabel]; info.Version == "" {
		info.Version, err = versionInLayers(image)
	}
	return info, err
}

// oneOf is an image of a manifest list, any of which says the version, and the
// architectures of all. Attestations and other things that stand in such lists
// have no platform of a machine.
func oneOf(index v1.ImageIndex) (v1.Image, []string, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, nil, err
	}
	var image v1.Image
	var arch []string
	for _, entry := range manifest.Manifests {
		if entry.Platform == nil || entry.Platform.OS != "linux" || !entry.MediaType.IsImage() {
			continue
		}
		if name := serviceArch(entry.Platform.Architecture); !slices.Contains(arch, name) {
			arch = append(arch, name)
		}
		if image != nil {
			continue
		}
		if image, err = index.Image(entry.Digest); err != nil {
			return nil, nil, err
		}
	}
	if image == nil {
		return nil, nil, errors.New("its list of manifests names no image for linux")
	}
	slices.Sort(arch)
	return image, arch, nil
}

// serviceArch is the service's word for the architecture of a manifest.
func serviceArch(arch string) string {
	switch arch {
	case "amd64":
		return "x86_64"
	case "aarch64":
		return "arm64"
	}
	return arch
}

func configOf(image v1.Image) (*v1.ConfigFile, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	if manifest.Config.Size > largestConfig {
		return nil, fmt.Errorf("%w: its configuration has %d bytes", errTooLarge, manifest.Config.Size)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read its configuration: %w", err)
	}
	if config.Architecture == "" {
		return nil, errors.New("its configuration names no architecture")
	}
	return config, nil
}

// versionInLayers looks for the release's description, in the last layer that
// has it: that is the one that counts.
func versionInLayers(image v1.Image) (string, error) {
	layers, err := image.Layers()
	if err != nil {
		return "", err
	}
	for _, layer := range slices.Backward(layers) {
		size, err := layer.Size()
		if err != nil {
			return "", err
		}
		if size > largestLayer {
			continue // the release's own layers are small
		}
		version, err := versionInLayer(layer)
		if err != nil || version != "" {
			return version, err
		}
	}
	return "", errors.New("it is no OpenShift release: it has neither the label " + versionLabel + " nor the file " + metadataFile)
}

func versionInLayer(layer v1.Layer) (string, error) {
	content, err := layer.Uncompressed()
	if err != nil {
		return "", err
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
