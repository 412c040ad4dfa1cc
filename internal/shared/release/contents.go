package release

import (
	"archive/tar"
	"bytes"
	"cmp"
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

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	versionLabel = "io.openshift.release"
	// partsAnnotation is on the images that a release is made of: the versions of what is in them, as
	// kubernetes=1.33.5,kubectl=1.33.5.
	partsAnnotation = "io.openshift.build.versions"
	kubernetes      = "kubernetes"
	metadataFile    = "release-manifests/release-metadata"
	imagesFile      = "release-manifests/image-references"

	longestVersion  = 128
	largestConfig   = 4 << 20
	largestLayer    = 64 << 20  // compressed
	largestContents = 1 << 30   // of a layer, unpacked
	largestFile     = 16 << 20  // the list of all images is some hundred kB
	largestWindow   = 128 << 20 // what unpacking zstd may keep in memory; its highest level takes as much
)

// describe reads what an image says of itself: its layers only where its configuration does not say enough, or
// more is wanted than that can say.
func (r *repository) describe(ctx context.Context, identifier string, layers bool) (Info, error) {
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
		return Info{}, fmt.Errorf("%w: it is a %s", finding("it is no image"), found.kind)
	}
	image, err := v1.ParseManifest(bytes.NewReader(found.data))
	if err != nil {
		return Info{}, fmt.Errorf("%w: %w", finding("cannot read its manifest"), err)
	}
	config, err := r.configOf(ctx, image)
	if err != nil {
		return Info{}, err
	}
	if len(info.Arch) == 0 {
		info.Arch = []string{string(clustersettings.CanonicalWord[spec.Arch](config.Architecture))}
	}
	info.Version = config.Config.Labels[versionLabel]
	if info.Version != "" && !layers {
		return info.bounded()
	}
	files, err := r.filesOf(ctx, image)
	if err != nil {
		return Info{}, err
	}
	info.Version, info.Kubernetes = cmp.Or(info.Version, files.version), files.kubernetes
	if info.Version == "" {
		return Info{}, finding("it is no OpenShift release: it has neither the label " + versionLabel + " nor the file " + metadataFile)
	}
	return info.bounded()
}

// bounded is the Info without the files that its texts are parts of, which would stay in memory with them.
func (i Info) bounded() (Info, error) {
	if max(len(i.Version), len(i.Kubernetes)) > longestVersion {
		return Info{}, errLong
	}
	i.Version, i.Kubernetes = strings.Clone(i.Version), strings.Clone(i.Kubernetes)
	return i, nil
}

// oneOf is an image of a manifest list, since each of them has the version, and the architectures of all. Entries
// without a machine's platform are attestations and the like.
func oneOf(list []byte) (one string, arch []string, err error) {
	index, err := v1.ParseIndexManifest(bytes.NewReader(list))
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", finding("cannot read its list of manifests"), err)
	}
	for _, entry := range index.Manifests {
		if entry.Platform == nil || entry.Platform.OS != "linux" || !entry.MediaType.IsImage() {
			continue
		}
		if name := string(clustersettings.CanonicalWord[spec.Arch](entry.Platform.Architecture)); !slices.Contains(arch, name) {
			arch = append(arch, name)
		}
		if one == "" {
			one = entry.Digest.String()
		}
	}
	if one == "" {
		return "", nil, finding("its list of manifests names no image for linux")
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
		return nil, fmt.Errorf("%w: %w", finding("cannot read its configuration"), err)
	}
	if config.Architecture == "" {
		return nil, finding("its configuration names no architecture")
	}
	return config, nil
}

// files are what the files of a release say of it.
type files struct{ version, kubernetes string }

// filesOf looks in the last layer that has the release's description.
func (r *repository) filesOf(ctx context.Context, image *v1.Manifest) (files, error) {
	for _, layer := range slices.Backward(image.Layers) {
		if layer.Size > largestLayer {
			continue // the release's own layers are small
		}
		found, err := r.get(ctx, blobs, layer.Digest.String())
		if err != nil {
			return files{}, err
		}
		said, err := filesIn(found.data)
		if err != nil || said != (files{}) {
			return said, err
		}
	}
	return files{}, nil
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

// filesIn reads the description of a release in a layer, if it is there.
func filesIn(layer []byte) (files, error) {
	content, err := unpacked(layer)
	if err != nil {
		return files{}, fmt.Errorf("%w: %w", finding("cannot unpack a layer"), err)
	}
	defer content.Close()
	archive := tar.NewReader(io.LimitReader(content, largestContents))
	var said files
	name := "" // of the list of images, which is the version
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			said.version = cmp.Or(said.version, name)
			return said, nil
		}
		if err != nil {
			return files{}, fmt.Errorf("%w: %w", finding("cannot read a layer"), err)
		}
		switch strings.TrimPrefix(path.Clean("/"+header.Name), "/") {
		case metadataFile:
			var metadata struct {
				Version string `json:"version"`
			}
			if err := readJSON(archive, metadataFile, &metadata); err != nil {
				return files{}, err
			}
			said.version = metadata.Version
		case imagesFile:
			var images imageList
			if err := readJSON(archive, imagesFile, &images); err != nil {
				return files{}, err
			}
			name, said.kubernetes = images.Metadata.Name, images.kubernetes()
		}
	}
}

// imageList is an ImageStream: the images that a release is made of.
type imageList struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Tags []struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"tags"`
	} `json:"spec"`
}

// kubernetes is the version of Kubernetes in the images; "" where they do not say it, or say several.
func (l *imageList) kubernetes() string {
	version := ""
	for _, tag := range l.Spec.Tags {
		for part := range strings.SplitSeq(tag.Annotations[partsAnnotation], ",") {
			name, is, _ := strings.Cut(strings.TrimSpace(part), "=")
			if name != kubernetes || is == version {
				continue
			}
			if version != "" {
				return ""
			}
			version = is
		}
	}
	return version
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
		return fmt.Errorf("%w: %w", finding("cannot read "+name), err)
	}
	return nil
}
