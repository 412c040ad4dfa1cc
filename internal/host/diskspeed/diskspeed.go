//go:build linux

// Package diskspeed measures how long an installation disk takes to make small writes durable: etcd needs that to be
// short. It writes only to a disk that holds nothing, and leaves the disk as empty as it was.
package diskspeed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Checker measures disks.
type Checker struct {
	// Disks open the disk, and have the folder with proc and sys.
	Disks blockdevice.Disks
	Clock clock.Clock
	// Log says why a disk was not measured, and what was measured. Nil means no log.
	Log *slog.Logger
	// Images lets a regular file with the image of a disk be measured. It is false on a machine.
	Images bool

	// size is how many bytes are written. Zero means written.
	size int64
}

// Exit codes of the step.
const (
	exitFailed = 1
	// exitTimeout is that of timeout(1), in which the assisted-installer-agent runs the check.
	exitTimeout = 124
)

const (
	// defaultTimeout is what the service asks for.
	defaultTimeout = 480 * time.Second
	// longestTimeout limits what the service may ask for.
	longestTimeout = time.Hour
	// clearing is how long the disk may take to be emptied after the measurement.
	clearing = time.Minute
)

// notMeasured is the reason why a disk was left alone. It is no failure: the service gets an answer without a duration.
type notMeasured struct{ reason string }

func (n *notMeasured) Error() string { return n.reason }

// request is what the service asks for.
type request struct {
	path    string
	timeout time.Duration
}

// Execute answers the step "installation-disk-speed-check". Its arguments are a JSON object with the disk's path, and how
// many seconds the check may take. The answer has the duration, in milliseconds, within which 99 of 100 writes were
// durable. A disk that holds something is not measured: the answer has no duration then, and stderr says why.
func (c Checker) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	asked, err := c.parse(args)
	if err != nil {
		return exitFailed, "", err.Error()
	}
	duration, err := c.bounded(ctx, asked)
	var left *notMeasured
	switch {
	case errors.As(err, &left):
		text := fmt.Sprintf("the disk %q is not measured: %s", asked.path, escape.Word(left.reason))
		c.logger().Info("disk speed: " + text)
		return 0, answer(asked.path, 0), text
	case err != nil:
		text := fmt.Sprintf("measure the disk %q: %s", asked.path, escape.Word(err.Error()))
		c.logger().Warn("disk speed: " + text)
		if errors.Is(err, context.DeadlineExceeded) {
			return exitTimeout, answer(asked.path, 0), text
		}
		return exitFailed, answer(asked.path, 0), text
	}
	c.logger().Info("disk speed: measured", "disk", escape.Word(asked.path), "durable within", duration.String())
	return 0, answer(asked.path, duration), ""
}

// answer is the step's output.
func answer(path string, duration time.Duration) string {
	content, err := json.Marshal(models.DiskSpeedCheckResponse{Path: path, IoSyncDuration: duration.Milliseconds()})
	if err != nil {
		return "" // it is a text and a number
	}
	return string(content)
}

// parse reads the step's arguments.
func (c Checker) parse(args []string) (request, error) {
	if len(args) == 0 {
		return request{}, errors.New("read the arguments of the disk speed check: there is none; a JSON object with the disk's path is needed")
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(args[0]), &fields); err != nil {
		return request{}, fmt.Errorf("read the arguments of the disk speed check: %w", err)
	}
	asked := request{timeout: defaultTimeout}
	if err := json.Unmarshal(fields["path"], &asked.path); err != nil {
		return request{}, errors.New(`read the arguments of the disk speed check: "path" is missing, or is no text`)
	}
	delete(fields, "path")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c.logger().Info("disk speed: an argument is not known, and is ignored", "name", escape.Word(name))
	}
	if err := c.checkPath(asked.path); err != nil {
		return request{}, err
	}
	if len(args) > 1 {
		seconds, err := strconv.ParseFloat(args[1], 64)
		if err != nil || !(seconds > 0) || seconds > longestTimeout.Seconds() {
			return request{}, fmt.Errorf("read the arguments of the disk speed check: %q are no seconds between 0 and %.0f",
				args[1], longestTimeout.Seconds())
		}
		asked.timeout = time.Duration(seconds * float64(time.Second))
	}
	return asked, nil
}

// checkPath returns an error if a path names no device of the machine.
func (c Checker) checkPath(path string) error {
	inDevices := strings.HasPrefix(path, "/dev/") || c.Images
	if !inDevices || !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
		return fmt.Errorf("read the arguments of the disk speed check: %q is no path of a disk, such as /dev/sda", path)
	}
	return nil
}

// bounded measures a disk, and returns when the time is over even if the disk does not answer: the kernel does not end a
// read or a write.
func (c Checker) bounded(ctx context.Context, asked request) (time.Duration, error) {
	type outcome struct {
		duration time.Duration
		err      error
	}
	done := make(chan outcome, 1)
	measuring, cancel := context.WithTimeout(ctx, c.Clock.Wall(asked.timeout))
	defer cancel()
	go func() {
		duration, err := c.check(measuring, asked)
		done <- outcome{duration, err}
	}()
	limit, cancelLimit := context.WithTimeout(context.WithoutCancel(ctx), c.Clock.Wall(asked.timeout+clearing))
	defer cancelLimit()
	select {
	case o := <-done:
		return o.duration, o.err
	case <-limit.Done():
		return 0, fmt.Errorf("the disk did not answer for %s; look at the kernel's log for errors of the disk: %w",
			asked.timeout+clearing, limit.Err())
	}
}

// check looks at a disk, opens it if it is empty, looks again now that no other program can take it, and measures it.
func (c Checker) check(ctx context.Context, asked request) (time.Duration, error) {
	id, err := c.Disks.Inspect(asked.path)
	var refused *blockdevice.Refused
	if err != nil {
		return 0, err
	}
	if id.File && !c.Images {
		return 0, errors.New("it is a file, not a disk")
	}
	if err := c.lookBefore(ctx, id); err != nil {
		return 0, err
	}
	device, err := c.Disks.Open(id)
	if errors.As(err, &refused) {
		return 0, &notMeasured{refused.Error()}
	}
	if err != nil {
		return 0, err
	}
	duration, err := c.measureIfEmpty(ctx, id, device)
	if closing := device.Close(); closing != nil {
		return 0, errors.Join(err, fmt.Errorf("close the disk: %w", closing))
	}
	return duration, err
}

func (c Checker) measureIfEmpty(ctx context.Context, id blockdevice.Identity, device *blockdevice.Device) (time.Duration, error) {
	if err := c.lookAt(ctx, id, device); err != nil {
		return 0, err
	}
	return c.measure(ctx, device)
}

// Run is the program "disk_speed_check". Its last argument is the JSON object with the disk's path. It returns the exit
// code.
func (c Checker) Run(ctx context.Context, args []string, out, errOut io.Writer) int {
	if len(args) > 1 {
		args = args[len(args)-1:] // what precedes it says where to log
	}
	code, stdout, stderr := c.Execute(ctx, args)
	if _, err := io.WriteString(out, stdout); err != nil {
		return exitFailed
	}
	if _, err := io.WriteString(errOut, stderr); err != nil {
		return exitFailed
	}
	return code
}

func (c Checker) logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
