//go:build linux

package installer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/installer/manifests"
)

const (
	controllerLogFile   = "assisted-installer-controller.logs"
	controllerLogsEvery = 5 * time.Minute
	controllerLogsAge   = time.Hour
	controllerLogsSize  = 16 << 20
	// controllerLogsLimit is less than a look may take.
	controllerLogsLimit = 40 * time.Second
)

// uploadControllerLogs gives the service the log of the controller, which may not come so far as to do that itself.
func (r *run) uploadControllerLogs(ctx context.Context, api Kube) {
	ctx, cancel := context.WithTimeout(ctx, controllerLogsLimit)
	defer cancel()
	if err := r.tryUpload(ctx, api); err != nil {
		r.Log.Warn("the log of the controller is not uploaded", "why", r.text(err))
	}
}

func (r *run) tryUpload(ctx context.Context, api Kube) error {
	pods, err := api.Pods(ctx, manifests.Namespace, map[string]string{"job-name": manifests.Controller}, "Running")
	if err != nil {
		return fmt.Errorf("find the pod of the controller: %w", err)
	}
	if len(pods) == 0 {
		return nil // it has no log yet
	}
	log, err := api.PodLog(ctx, manifests.Namespace, pods[0].Name, controllerLogsAge, controllerLogsSize)
	if err != nil {
		return fmt.Errorf("read the log of the pod %s: %w", pods[0].Name, err)
	}
	archive, err := archiveOf(controllerLogFile, log, r.Clock.Now())
	if err != nil {
		return err
	}
	return r.Service.UploadLogs(ctx, r.cluster, nil, nil, models.LogsTypeController, bytes.NewReader(archive))
}

// archiveOf is a tar.gz with one file.
func archiveOf(name string, content []byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tape := tar.NewWriter(zipped)
	err := tape.WriteHeader(&tar.Header{Name: name, Mode: readable, Size: int64(len(content)), ModTime: at})
	if err == nil {
		_, err = tape.Write(content)
	}
	if err = errors.Join(err, tape.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("archive %s: %w", name, err)
	}
	return out.Bytes(), nil
}
