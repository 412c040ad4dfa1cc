package service

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

// uploadLogs takes an archive from a host or from the controller, as the form field upfile.
func (s *Service) uploadLogs(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	content, err := formFile(c)
	if err != nil {
		return wire.Reply{}, wire.BadRequest("%s", err)
	}
	q := c.URL.Query()
	now := model.Millis(s.now())
	switch kind := q.Get("logs_type"); kind {
	case "controller":
		cl.Logs["controller"] = content
		cl.ControllerLogsCollectedAt = now
		s.note(cl, "cluster_logs_uploaded", severityInfo, "Uploaded logs for the cluster")
	case "host", "node-boot":
		h, err := s.getHost(q.Get("infra_env_id"), q.Get("host_id"))
		if err != nil {
			return wire.Reply{}, err
		}
		cl.Logs[kind+"/"+h.ID] = content
		h.LogsCollectedAt = now
		s.noteHost(h, "host_logs_uploaded", severityInfo, "Uploaded logs for host %s cluster %s", h.Name(), cl.ID)
	}
	return wire.NoContent()
}

func formFile(c *wire.Call) ([]byte, error) {
	_, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	r := multipart.NewReader(bytes.NewReader(c.Content), params["boundary"])
	for {
		part, err := r.NextPart()
		if err != nil {
			return nil, fmt.Errorf("reading the form field upfile: %w", err)
		}
		if part.FormName() == "upfile" {
			return io.ReadAll(part)
		}
	}
}

func (s *Service) clusterLogsProgress(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	state := logsState(c)
	if state == "requested" {
		cl.ControllerLogsStartedAt = model.Millis(s.now())
	}
	cl.LogsInfo = state
	return wire.NoContent()
}

func (s *Service) hostLogsProgress(c *wire.Call, h *model.Host) (wire.Reply, error) {
	state := logsState(c)
	if state == "requested" {
		h.LogsStartedAt = model.Millis(s.now())
	}
	h.LogsInfo = state
	return wire.NoContent()
}

func logsState(c *wire.Call) string {
	return string(*wire.Taken[models.LogsProgressParams](c).LogsState)
}

// downloadLogs packs what there is: always the events and the cluster itself, and whatever was uploaded.
func (s *Service) downloadLogs(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	q := c.URL.Query()
	kind, hostID := q.Get("logs_type"), q.Get("host_id")
	switch kind {
	case "controller":
		content, found := cl.Logs["controller"]
		if !found {
			return wire.Reply{}, wire.Conflict("Controller Logs for cluster %s were not found", cl.ID)
		}
		return wire.File("cluster_"+cl.ID+"_controller.tar.gz", content)
	case "host", "node-boot":
		if hostID == "" {
			return wire.Reply{}, wire.BadRequest("Host ID must be provided for downloading host logs")
		}
		content, found := cl.Logs[kind+"/"+hostID]
		if !found {
			return wire.Reply{}, wire.Conflict("Logs for host %s were not found", hostID)
		}
		return wire.File("cluster_"+cl.ID+"_host_"+hostID+".tar.gz", content)
	}
	return s.allLogs(cl)
}

func (s *Service) allLogs(cl *model.Cluster) (wire.Reply, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	now := s.now()
	var events []event
	for _, e := range s.events {
		if e.ClusterID == cl.ID && !e.metrics {
			events = append(events, e)
		}
	}
	entries := map[string][]byte{
		"cluster_events.json":   []byte(model.InString(events)),
		"cluster_metadata.json": []byte(model.InString(s.printCluster(cl, clusterDetail{hosts: true}))),
	}
	for key, content := range cl.Logs {
		name := strings.ReplaceAll(key, "/", "_")
		entries[cl.Name+"_"+name+".tar.gz"] = content
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(entries[name])), ModTime: now})
		if err == nil {
			_, err = w.Write(entries[name])
		}
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(failed, w.Close()); err != nil {
		return wire.Reply{}, fmt.Errorf("packing the logs: %w", err)
	}
	return wire.File("cluster_"+cl.ID+"_logs.tar", out.Bytes())
}

func logTypes() []string { return []string{"host", "controller", "all", "node-boot"} }
