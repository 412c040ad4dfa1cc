//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/host/disk/coreos"
	"github.com/oaictl/oaictl/internal/host/disk/image"
)

const (
	// installer is the program of CoreOS that writes disks.
	installer = "coreos-installer"
	// osmetFiles are what coreos-installer makes the image from that belongs to the live system.
	osmetFiles = "/run/coreos-installer/osmet/*.osmet"

	osRelease = "/etc/os-release"
)

// imageFiles are where a medium may have the image as a file.
var imageFiles = []string{"/run/media/iso/*.raw", "/run/media/iso/coreos/*.raw", "/run/coreos/*.raw"}

// choose decides what writes the disk: nil means coreos-installer. What arguments name comes first, then what belongs to the
// live system, then a file on the medium.
func (d Disks) choose(options coreos.Options, sector int64) (*image.Image, error) {
	hasProgram := d.Programs.Has(installer)
	if len(options.Child) > 0 || d.Arch == "s390x" {
		if !hasProgram {
			return nil, fmt.Errorf("only %s can do this, and the live system does not have it: %s",
				installer, strings.Join(append(options.Child, d.Arch), " "))
		}
		return nil, nil
	}
	switch {
	case options.ImageURL != "":
		url := image.URL{Address: options.ImageURL, Client: d.Client, Clock: d.Clock, Log: d.Log}
		return &image.Image{Source: url}, url.Check()
	case options.ImageFile != "":
		return inFile(d.Files.Path(options.ImageFile))
	}
	osmet, err := filepath.Glob(d.Files.Path(osmetFiles))
	if err != nil {
		return nil, err
	}
	if hasProgram && len(osmet) > 0 {
		return nil, nil
	}
	path, err := d.onMedium(sector)
	if err != nil {
		return nil, err
	}
	if path != "" {
		return inFile(path)
	}
	if hasProgram {
		return nil, nil // it downloads one
	}
	return nil, fmt.Errorf("there is no image to write: the live system has neither %s with %s, nor a file such as %s.gz; "+
		"add --image-url URL to the installer arguments of the host", installer, osmetFiles, imageFiles[0])
}

// inFile is an image in a file, with its digest if there is one beside it.
func inFile(path string) (*image.Image, error) {
	file := image.File{Path: path}
	digest, err := file.Digest()
	if err != nil {
		return nil, err
	}
	return &image.Image{Source: file, SHA256: digest}, nil
}

// onMedium finds the image for disks with sectors of this size on the medium. It is "" if there is none.
func (d Disks) onMedium(sector int64) (string, error) {
	var found []string
	for _, pattern := range imageFiles {
		for _, suffix := range []string{".zst", ".gz", ".xz", ""} {
			files, err := filepath.Glob(d.Files.Path(pattern + suffix))
			if err != nil {
				return "", err
			}
			found = append(found, files...)
		}
	}
	found = slices.DeleteFunc(found, func(path string) bool { return !fits(filepath.Base(path), d.Arch, sector) })
	if len(found) == 0 {
		return "", nil
	}
	if len(found) > 1 {
		d.Log.Info("the medium has several images; the first is used", "images", found)
	}
	return found[0], nil
}

// fits reports whether the name of an image, such as rhcos-9.6-metal4k.aarch64.raw.gz, is of an architecture and a size of
// sectors. A name may have neither.
func fits(name, arch string, sector int64) bool {
	for goName, coreosName := range map[string]string{"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le", "s390x": "s390x"} {
		if goName != arch && strings.Contains(name, coreosName) {
			return false
		}
	}
	return strings.Contains(name, "4k") == (sector == 4096)
}

// warnOfOtherRelease logs if the live system, and so the image that belongs to it, is of another release than the cluster's.
// The machine config operator replaces the operating system later: so this is no error.
func (d Disks) warnOfOtherRelease() {
	content, err := d.Files.Read(osRelease)
	if err != nil || d.Release == "" {
		return
	}
	for line := range strings.Lines(string(content)) {
		version, is := strings.CutPrefix(strings.TrimSpace(line), "OPENSHIFT_VERSION=")
		if version = strings.Trim(version, `"'`); is && version != "" && minor(version) != minor(d.Release) {
			d.Log.Warn("the live system is of another release than the cluster", "live", version, "cluster", d.Release)
		}
	}
}

// minor is such as 4.19 of 4.19.3.
func minor(version string) string {
	const parts = 2
	list := strings.Split(version, ".")
	return strings.Join(list[:min(parts, len(list))], ".")
}

// permanent reports whether another try would fail as this one did.
func permanent(ctx context.Context, err error) bool {
	var answer *image.Permanent
	var small *image.TooSmall
	return ctx.Err() != nil || errors.As(err, &answer) || errors.As(err, &small)
}
