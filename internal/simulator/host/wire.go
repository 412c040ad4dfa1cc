package host

import (
	"time"

	"github.com/openshift/assisted-service/models"
)

type hostView struct {
	ID                string       `json:"id"`
	InfraEnvID        string       `json:"infra_env_id"`
	ClusterID         string       `json:"cluster_id"`
	Status            string       `json:"status"`
	Role              string       `json:"role"`
	Bootstrap         bool         `json:"bootstrap"`
	RequestedHostname string       `json:"requested_hostname"`
	CheckedInAt       time.Time    `json:"checked_in_at"`
	Progress          hostProgress `json:"progress"`
	ProgressStages    []string     `json:"progress_stages"`
}

type hostProgress struct {
	CurrentStage string `json:"current_stage"`
}

type clusterView struct {
	ID     string     `json:"id"`
	Kind   string     `json:"kind"`
	Status string     `json:"status"`
	Hosts  []hostView `json:"hosts"`
}

type infraEnvView struct {
	ClusterID string `json:"cluster_id"`
}

type registration struct {
	HostID       string `json:"host_id"`
	AgentVersion string `json:"discovery_agent_version"`
}

type instructions struct {
	NextSeconds    int64  `json:"next_instruction_seconds"`
	PostStepAction string `json:"post_step_action"`
	Steps          []step `json:"instructions"`
}

type step struct {
	Type models.StepType `json:"step_type"`
	ID   string          `json:"step_id"`
	Args []string        `json:"args"`
}

type stepReply struct {
	StepID   string          `json:"step_id"`
	StepType models.StepType `json:"step_type"`
	ExitCode int             `json:"exit_code"`
	Output   string          `json:"output"`
	Error    string          `json:"error"`
}

// installArgs is what the machines need of the install step's argument (models.InstallCmdRequest).
type installArgs struct {
	ClusterID         string `json:"cluster_id"`
	HostID            string `json:"host_id"`
	InfraEnvID        string `json:"infra_env_id"`
	Role              string `json:"role"`
	ControlPlaneCount int    `json:"control_plane_count"`
	HighAvailability  string `json:"high_availability_mode"` // of services that do not count: None | Full
	BootDevice        string `json:"boot_device"`
	OpenshiftVersion  string `json:"openshift_version"`
}

type progressReport struct {
	Stage string `json:"current_stage"`
	Info  string `json:"progress_info"`
}

type logsReport struct {
	State string `json:"logs_state"`
}

type operatorView struct {
	Name           string `json:"name"`
	Type           string `json:"operator_type,omitempty"`
	TimeoutSeconds int64  `json:"timeout_seconds,omitempty"`
	Status         string `json:"status,omitempty"`
}

type operatorReport struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	StatusInfo string `json:"status_info"`
	Version    string `json:"version"`
}

type finalizingReport struct {
	Stage string `json:"finalizing_stage"`
}

type completion struct {
	Success   bool                        `json:"is_success"`
	ErrorInfo string                      `json:"error_info"`
	Data      map[string][]operatorReport `json:"data,omitempty"`
}

// The install stages (models.HostStage).
const (
	stageStarting         = "Starting installation"
	stageInstalling       = "Installing"
	stageWritingImage     = "Writing image to disk"
	stageWaitControlPlane = "Waiting for control plane"
	stageWaitBootkube     = "Waiting for bootkube"
	stageWaitController   = "Waiting for controller"
	stageRebooting        = "Rebooting"
	stageWaitIgnition     = "Waiting for ignition"
	stageConfiguring      = "Configuring"
	stageJoined           = "Joined"
	stageDone             = "Done"
	stageFailed           = "Failed"
)
