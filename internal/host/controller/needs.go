//go:build linux

package controller

import (
	"context"
	"io"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
)

// HostService is the service as the steps of hosts need it.
type HostService interface {
	// Cluster reads the cluster. Its hosts have their inventory.
	Cluster(ctx context.Context, cluster strfmt.UUID, withHosts bool) (*models.Cluster, error)
	Progress(ctx context.Context, infraEnv, host strfmt.UUID, stage models.HostStage, info string) error
	TriggerEvent(ctx context.Context, event *models.Event) error
}

// ClusterService is the service as the steps of the cluster need it.
type ClusterService interface {
	FinalizingProgress(ctx context.Context, cluster strfmt.UUID, stage models.FinalizingStage) error
	MonitoredOperators(ctx context.Context, cluster strfmt.UUID) (models.MonitoredOperatorsList, error)
	UpdateOperator(ctx context.Context, cluster strfmt.UUID, name, version string, status models.OperatorStatus, info string) error
	UploadIngressCert(ctx context.Context, cluster strfmt.UUID, pem string) error
	CompleteInstallation(ctx context.Context, cluster strfmt.UUID, success bool, info string, data map[string]any) error
}

// FileService is the service as a source of files and a place for logs.
type FileService interface {
	ClusterFile(ctx context.Context, cluster strfmt.UUID, name string) ([]byte, error)
	ClusterCredential(ctx context.Context, cluster strfmt.UUID, name string) ([]byte, error)
	ClusterLogsProgress(ctx context.Context, cluster strfmt.UUID, state models.LogsState) error
	UploadLogs(ctx context.Context, cluster strfmt.UUID, infraEnv, host *strfmt.UUID, logsType models.LogsType, content io.Reader) error
}

// Service is the assisted-service. An error that wraps a *service.Error says with what status the service answered.
type Service interface {
	HostService
	ClusterService
	FileService
}

// NodeCluster is the new cluster as the steps of hosts need it.
type NodeCluster interface {
	Nodes(ctx context.Context) ([]kube.Node, error)
	LabelNode(ctx context.Context, name string, labels map[string]string) error
	InitializeNode(ctx context.Context, node kube.Node) error
	Requests(ctx context.Context) ([]kube.Request, error)
	Approve(ctx context.Context, request kube.Request, reason, message string, now time.Time) error
	Pods(ctx context.Context, space string, labels map[string]string, phase string) ([]kube.Pod, error)
	PodLog(ctx context.Context, space, name string, last time.Duration, limit int64) ([]byte, error)
	CreateEvent(ctx context.Context, notice kube.Notice) error
}

// OperatorCluster is the new cluster as the steps of operators need it.
type OperatorCluster interface {
	ClusterOperators(ctx context.Context) ([]kube.ClusterOperator, error)
	ClusterOperator(ctx context.Context, name string) (kube.ClusterOperator, error)
	ClusterVersion(ctx context.Context) (kube.ClusterVersion, error)
	CurrentServiceVersion(ctx context.Context, space, subscription string) (kube.ServiceVersion, error)
	Jobs(ctx context.Context, space string) ([]kube.Job, error)
	DeleteJob(ctx context.Context, space, name string) error
	InstallPlans(ctx context.Context, space string) ([]kube.InstallPlan, error)
	DeleteInstallPlan(ctx context.Context, space, name string) error
}

// MachineCluster is the new cluster as the steps of machines, and those of settings, need it.
type MachineCluster interface {
	BareMetalHosts(ctx context.Context) ([]kube.BareMetalHost, error)
	BareMetalHost(ctx context.Context, name string) (kube.BareMetalHost, error)
	PatchBareMetalHost(ctx context.Context, name string, change map[string]any, part string) error
	HasProvisioning(ctx context.Context) (bool, error)
	Machines(ctx context.Context) ([]kube.Machine, error)
	PausePool(ctx context.Context, name string, paused bool) error
	ConfigMap(ctx context.Context, space, name string) (map[string]string, error)
	Proxy(ctx context.Context) (kube.Proxy, error)
}

// Cluster is the new cluster, by the rights of the controller.
type Cluster interface {
	NodeCluster
	OperatorCluster
	MachineCluster
}

// Administrator is the new cluster, by the rights of its administrator.
type Administrator interface {
	Apply(ctx context.Context, object *kube.Object) error
	NodeFile(ctx context.Context, node, file string, limit int64) ([]byte, error)
}
