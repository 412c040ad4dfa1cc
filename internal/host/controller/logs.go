//go:build linux

package controller

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/openshift/assisted-service/models"
)

const (
	logsInterval      = 5 * time.Minute
	logsLimit         = 15 * time.Minute
	finalLogsInterval = 30 * time.Second
	finalLogsLimit    = 70 * time.Minute
	logsSize          = 64 << 20 // bytes of the log of the controller

	logsFile       = "assisted-installer-controller.logs"
	mustGatherFile = "must-gather.tar.gz"
	jobName        = "assisted-installer-controller"
)

// uploadLogs uploads the log of the controller again and again, until ctx ends.
func (c *Controller) uploadLogs(ctx context.Context) {
	for c.Clock.Sleep(ctx, logsInterval) == nil {
		err := c.lookLong(ctx, logsLimit, func(ctx context.Context) error { return c.upload(ctx, c.ownLog(ctx)) })
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("could not upload the log of the controller", said(err))
		}
	}
}

// uploadFinalLogs uploads the last logs: that of the controller, and if something failed what must-gather collects.
func (c *Controller) uploadFinalLogs(ctx context.Context) {
	c.Log.Info("uploading the last logs")
	c.logsProgress(ctx, models.LogsStateRequested)
	err := c.waitLong(ctx, waiting{"the service to take the last logs", finalLogsInterval, finalLogsLimit}, finalLogsLimit, c.uploadSummary)
	if err != nil {
		c.Log.Error("could not upload the last logs", said(err))
	}
	c.logsProgress(ctx, models.LogsStateCompleted)
}

func (c *Controller) logsProgress(ctx context.Context, state models.LogsState) {
	err := c.look(ctx, func(ctx context.Context) error { return c.Service.ClusterLogsProgress(ctx, c.Config.Cluster, state) })
	if err != nil {
		c.Log.Error("could not report the progress of logs", slog.String("state", string(state)), said(err))
	}
}

// uploadSummary uploads what there is. It returns an error if something is missing, so that it is tried again.
func (c *Controller) uploadSummary(ctx context.Context) error {
	if !c.status.failed() {
		return c.upload(ctx, c.ownLog(ctx))
	}
	c.logResolvers()
	if err := c.upload(ctx, c.ownLog(ctx)); err != nil {
		c.Log.Warn("could not upload the log of the controller", said(err))
	}
	gathered, err := c.mustGather(ctx)
	if err != nil {
		c.Log.Error("could not collect must-gather", said(err))
		return errors.Join(err, c.upload(ctx, c.ownLog(ctx)))
	}
	return c.upload(ctx, gathered, c.ownLog(ctx))
}

// logResolvers logs the configuration of name resolution, of the pod and of its host.
func (c *Controller) logResolvers() {
	for _, path := range []string{"/etc/resolv.conf", "/tmp/var-run-resolv.conf", "/tmp/host-resolv.conf"} {
		content, err := c.Files.Read(path)
		if err != nil {
			c.Log.Warn("could not read the configuration of name resolution", slog.String("path", path), said(err))
			continue
		}
		c.Log.Info("configuration of name resolution", slog.String("path", path), word("content", string(content)))
	}
}

// ownLog is the log of the controller: that of its pod, which has earlier containers' lines too, or what this process still
// remembers.
func (c *Controller) ownLog(ctx context.Context) entry {
	content, err := c.podLog(ctx)
	if err != nil || len(content) == 0 {
		content = c.Recent()
	}
	if err != nil {
		c.Log.Warn("could not read the log of the pod of the controller, so what is in memory is sent", said(err))
	}
	return entry{name: logsFile, size: int64(len(content)), open: func() (io.ReadCloser, error) { return bytesOf(content), nil }}
}

func (c *Controller) podLog(ctx context.Context) ([]byte, error) {
	pods, err := c.Cluster.Pods(ctx, c.Config.Namespace, map[string]string{"job-name": jobName}, "Running")
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("there is no running pod of the job %s/%s", c.Config.Namespace, jobName)
	}
	return c.Cluster.PodLog(ctx, c.Config.Namespace, pods[0].Name, 0, logsSize)
}

// entry is a file of an archive.
type entry struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

// upload sends an archive of files to the service.
func (c *Controller) upload(ctx context.Context, entries ...entry) error {
	reader, writer := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		writer.CloseWithError(archive(writer, entries, c.Clock.Now()))
	}()
	err := c.Service.UploadLogs(ctx, c.Config.Cluster, nil, nil, models.LogsTypeController, reader)
	reader.CloseWithError(errors.New("the upload ended"))
	<-sent
	return err
}

// archive writes a tar archive that is compressed with gzip.
func archive(to io.Writer, entries []entry, at time.Time) error {
	zipped := gzip.NewWriter(to)
	tape := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := e.write(tape, at); err != nil {
			return fmt.Errorf("add %s to an archive: %w", e.name, err)
		}
	}
	return errors.Join(tape.Close(), zipped.Close())
}

func (e entry) write(tape *tar.Writer, at time.Time) error {
	content, err := e.open()
	if err != nil {
		return err
	}
	err = tape.WriteHeader(&tar.Header{Name: e.name, Size: e.size, Mode: 0o644, ModTime: at})
	if err == nil {
		_, err = io.Copy(tape, content)
	}
	return errors.Join(err, content.Close())
}
