package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

func (l *life) gatherLogs(ctx context.Context, s step) {
	var want struct {
		ClusterID  string `json:"cluster_id"`
		InfraEnvID string `json:"infra_env_id"`
	}
	if err := argument(s, &want); err != nil {
		l.logf("cannot gather logs: %v", err)
		return
	}
	if want.InfraEnvID == "" {
		want.InfraEnvID = l.infraEnv()
	}
	l.uploadLogs(ctx, want.ClusterID, want.InfraEnvID)
}

func (l *life) uploadLogs(ctx context.Context, cluster, infraEnv string) {
	progress := hostPath(infraEnv, l.spec.UUID) + "/logs-progress"
	query := url.Values{"logs_type": {"host"}, "infra_env_id": {infraEnv}, "host_id": {l.spec.UUID}}
	lines := fmt.Sprintf("%s: installer of %s\n", l.fleet.serviceTime().UTC().Format(time.RFC3339), l.spec.Hostname)
	err := l.fleet.sendLogs(ctx, l.agentAPI(), progress, clusterPath(cluster)+"/logs?"+query.Encode(), l.spec.Hostname, map[string]string{
		"installer.logs": lines, "agent.logs": lines,
	})
	if err != nil {
		l.logf("cannot upload logs: %v", err)
	}
}

func (c *controller) uploadLogs(ctx context.Context) (bool, error) {
	err := c.fleet.sendLogs(ctx, c.fleet.api, clusterPath(c.cluster)+"/logs-progress", clusterPath(c.cluster)+"/logs?logs_type=controller",
		"controller", map[string]string{"assisted-installer-controller.logs": "controller of " + c.cluster + "\n"})
	if err != nil && !refused(err) {
		return false, err
	}
	return true, nil
}

// sendLogs reports that logs are coming, sends them, and reports that they came.
func (f *Fleet) sendLogs(ctx context.Context, api *client, progress, upload, name string, files map[string]string) error {
	if err := api.send(ctx, http.MethodPut, progress, logsReport{State: "requested"}, nil); err != nil {
		return err
	}
	archive, err := pack(files, f.serviceTime())
	if err != nil {
		return fmt.Errorf("packing the logs of %s: %w", name, err)
	}
	if err := api.upload(ctx, upload, name+".tar.gz", archive); err != nil {
		return err
	}
	return api.send(ctx, http.MethodPut, progress, logsReport{State: "completed"}, nil)
}

func pack(files map[string]string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	var failed error
	for name, content := range files {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: at})
		if err == nil {
			_, err = io.WriteString(archive, content)
		}
		failed = errors.Join(failed, err)
	}
	failed = errors.Join(failed, archive.Close(), zip.Close())
	return out.Bytes(), failed
}
