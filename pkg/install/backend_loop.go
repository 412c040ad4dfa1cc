package install

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// loopOnly is a service that has no more than the loop needs.
type loopOnly struct{ Service }

// unable refuses a verb.
func unable(op, on string) error {
	return &model.Fault{Code: model.CodeUsage, Op: op, On: on, Permanent: true, Err: errors.New("this service has no more than a loop needs")}
}

func (loopOnly) ListClusters(context.Context) ([]model.Cluster, error) {
	return nil, unable("list clusters", "")
}

func (loopOnly) ListInfraEnvs(context.Context, string) ([]model.InfraEnv, error) {
	return nil, unable("list InfraEnvs", "")
}

func (loopOnly) ListHosts(_ context.Context, env string) ([]model.Host, error) {
	return nil, unable("list hosts of", env)
}

func (loopOnly) ClusterByNameOrID(_ context.Context, text string) (model.ClusterRef, error) {
	return model.ClusterRef{}, unable("find cluster", text)
}

func (loopOnly) InfraEnvByNameOrID(_ context.Context, text string) (model.InfraEnv, error) {
	return model.InfraEnv{}, unable("find InfraEnv", text)
}

func (loopOnly) ClusterLeft(_ context.Context, text string) (model.ClusterRef, error) {
	return model.ClusterRef{}, unable("find cluster", text)
}

func (loopOnly) Events(context.Context, EventFilter, int) (EventPage, error) {
	return EventPage{}, unable("read events", "")
}

func (loopOnly) CancelInstall(_ context.Context, id string) error { return unable("cancel", id) }

func (loopOnly) ResetInstall(_ context.Context, id string) error { return unable("reset", id) }

func (loopOnly) MayDelete(ref model.ClusterRef) error { return unable("delete cluster", ref.ID) }

func (loopOnly) DeleteCluster(_ context.Context, id string, _ DeleteOptions) error {
	return unable("delete cluster", id)
}

func (loopOnly) DeleteInfraEnv(_ context.Context, id string, _ DeleteOptions) error {
	return unable("delete InfraEnv", id)
}

func (loopOnly) DeleteHost(_ context.Context, _, id string, _ DeleteOptions) error {
	return unable("delete host", id)
}

func (loopOnly) ReleaseCluster(_ context.Context, id string) error {
	return unable("let go of cluster", id)
}

func (loopOnly) Logs(_ context.Context, id, _ string, _ io.Writer) error {
	return unable("download logs of cluster", id)
}

func (loopOnly) Manifests(_ context.Context, id string, _ bool) ([]Manifest, error) {
	return nil, unable("list manifests of", id)
}

func (loopOnly) DownloadManifest(_ context.Context, _, _, name string, _ io.Writer) error {
	return unable("download manifest", name)
}

func (loopOnly) DownloadIgnition(_ context.Context, _, file string, _ io.Writer) error {
	return unable("download", file)
}

func (loopOnly) DownloadInfraEnvFile(_ context.Context, _, file string, _ io.Writer) error {
	return unable("download", file)
}

func (loopOnly) HostIgnition(_ context.Context, _, id string) (string, error) {
	return "", unable("read Ignition of host", id)
}

func (loopOnly) DownloadISOURL(_ context.Context, env string) (string, time.Time, error) {
	return "", time.Time{}, unable("get image URL of InfraEnv", env)
}

func (loopOnly) OpenISO(context.Context, string, int64) (io.ReadCloser, int64, error) {
	return nil, 0, unable("download image", "")
}

func (loopOnly) CheckRelease(context.Context, *spec.Cluster) error { return nil }

func (loopOnly) Follow() {}

func (loopOnly) Close() {}
