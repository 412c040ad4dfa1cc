// Package live is what a machine finds in the discovery image that it boots: the root file system, the
// Ignition config, and the agent that the config runs. Package iso reads the image.
package live

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso"
)

// ErrNoIgnition is an image that boots, and then does nothing.
var ErrNoIgnition = errors.New("it carries no Ignition config")

// ErrNoRoot is an image with a kernel that finds no root file system.
var ErrNoRoot = errors.New("its kernel arguments lead to no root file system")

func open(image io.ReaderAt, size int64) (*iso.Base, error) {
	return iso.OpenReader("the image", image, size)
}

// Ignition is the config that an image carries.
func Ignition(image io.ReaderAt, size int64) ([]byte, error) {
	base, err := open(image, size)
	if err != nil {
		return nil, err
	}
	config, err := base.Ignition()
	if err == nil && config == nil {
		return nil, ErrNoIgnition
	}
	return config, err
}

// Root is the URL of the root file system that the kernel arguments of an image name. It is empty where the
// image itself has the root file system. An image without an area for kernel arguments is taken to have it.
func Root(image io.ReaderAt, size int64) (url string, err error) {
	base, err := open(image, size)
	if err != nil {
		return "", err
	}
	arguments := base.Kargs()
	if arguments == "" {
		return "", nil
	}
	volume := ""
	for word := range strings.FieldsSeq(arguments) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "coreos.live.rootfs_url":
			return strings.Trim(value, `"`), nil
		case "coreos.liveiso":
			volume = value
		}
	}
	switch name := base.Info().VolumeID; {
	case volume != name:
		return "", fmt.Errorf("%w: coreos.liveiso is %q, and the volume %q", ErrNoRoot, volume, name)
	case !base.HasRootfs():
		return "", fmt.Errorf("%w: the image has none", ErrNoRoot)
	}
	return "", nil
}
