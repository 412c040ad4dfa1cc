//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Images checks that this machine can pull the images of an installation: by podman, which keeps them, or else by asking
// their registries.
type Images struct {
	Runner machine.Runner
	// Find asks registries for an image. See FindImages.
	Find  func(ctx context.Context, image string) error
	Clock clock.Clock
	Log   *slog.Logger

	running sync.Mutex
}

const (
	mostImages = 64
	// longestPull bounds the time for all images that the service asks for.
	longestPull = 2 * time.Hour
	// lookTime is the longest that podman takes to look at its images.
	lookTime = time.Minute
	megabyte = 1e6
)

// Execute implements Executor. While another one runs, it answers nothing. The exit code is 2 where an image cannot be
// pulled.
func (i *Images) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	if !i.running.TryLock() {
		i.Log.Info("container-image-availability still runs")
		return done, "", ""
	}
	defer i.running.Unlock()
	var request models.ContainerImageAvailabilityRequest
	if err := decode(i.Log, "container-image-availability", args, &request); err != nil {
		return refuse(failed, err)
	}
	if len(request.Images) > mostImages {
		return refuse(failed, fmt.Errorf("container-image-availability: the service sent %d images, and %d are the most",
			len(request.Images), mostImages))
	}
	limit := longestPull
	if request.Timeout < int64(longestPull/time.Second) {
		limit = time.Duration(request.Timeout) * time.Second
	}
	end := i.Clock.Now().Add(limit)
	worst := done
	var response models.ContainerImageAvailabilityResponse
	for _, image := range request.Images {
		result, err := i.check(ctx, image, end.Sub(i.Clock.Now()))
		if err != nil {
			i.Log.Warn("an image is not available", "image", escape.Word(image), "error", escape.Word(err.Error()))
			worst = unavailable
			result = models.ContainerImageAvailability{Result: models.ContainerImageAvailabilityResultFailure}
		}
		result.Name = image
		response.Images = append(response.Images, &result)
	}
	if exitCode, stdout, stderr = answer(response); exitCode == done {
		exitCode = worst
	}
	return exitCode, stdout, stderr
}

// check pulls an image within the time that is left.
func (i *Images) check(ctx context.Context, image string, left time.Duration) (models.ContainerImageAvailability, error) {
	success := models.ContainerImageAvailability{Result: models.ContainerImageAvailabilityResultSuccess}
	if err := errors.Join(release.Valid(image), machine.Image(image)); err != nil {
		return success, fmt.Errorf("it is no reference of an image: %w", err)
	}
	if left <= 0 {
		return success, errors.New("the time for all images is over")
	}
	if !i.Runner.Has("podman") {
		ctx, cancel := context.WithTimeout(ctx, i.Clock.Wall(left))
		defer cancel()
		return success, i.Find(ctx, image)
	}
	present := i.present(ctx, image)
	start := i.Clock.Now()
	if _, err := i.Runner.Run(ctx, machine.Command{Name: "podman", Args: []string{"pull", image}, Timeout: left}); err != nil {
		return success, err
	}
	if present {
		return success, nil
	}
	took := i.Clock.Now().Sub(start).Seconds()
	size, err := i.size(ctx, image)
	if err != nil {
		return success, err
	}
	success.SizeBytes, success.Time = size, took
	if took > 0 {
		success.DownloadRate = size / megabyte / took
	}
	return success, nil
}

// present reports whether podman has an image already.
func (i *Images) present(ctx context.Context, image string) bool {
	result, err := i.Runner.Run(ctx, machine.Command{Name: "podman", Args: []string{"images", "--quiet", image}, Timeout: lookTime})
	return err == nil && len(result.Stdout) > 0
}

// size is that of an image in bytes.
func (i *Images) size(ctx context.Context, image string) (float64, error) {
	command := machine.Command{Name: "podman", Args: []string{"image", "inspect", "--format={{.Size}}", image}, Timeout: lookTime}
	result, err := i.Runner.Run(ctx, command)
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseFloat(strings.TrimSpace(string(result.Stdout)), 64)
	if err != nil {
		return 0, fmt.Errorf("podman gives no size of the image: %w", err)
	}
	return size, nil
}

// FindImages asks registries with the credentials and mirrors of this machine.
func FindImages(files hostfile.Files, c clock.Clock) func(ctx context.Context, image string) error {
	return func(ctx context.Context, image string) error {
		o := release.Options{Clock: c}
		if secret, err := files.Read("/root/.docker/config.json"); err == nil {
			o.PullSecret = spec.NewSecret(string(secret))
		}
		if conf, err := files.Read("/etc/containers/registries.conf"); err == nil {
			registries, err := release.ParseRegistries(conf)
			if err != nil {
				return fmt.Errorf("read /etc/containers/registries.conf: %w", err)
			}
			o.Registries = registries
		}
		return release.Find(ctx, image, o)
	}
}
