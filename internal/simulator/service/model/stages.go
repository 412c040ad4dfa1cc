package model

import (
	"slices"
	"time"
)

// The stages of a host's installation.
const (
	StageStarting      = "Starting installation"
	StageInstalling    = "Installing"
	StageWriting       = "Writing image to disk"
	StageCopying       = "Copying registry data to disk"
	StageControlPlane  = "Waiting for control plane"
	StageBootkube      = "Waiting for bootkube"
	StageController    = "Waiting for controller"
	StageRebooting     = "Rebooting"
	StageIgnition      = "Waiting for ignition"
	StageConfiguring   = "Configuring"
	StageJoined        = "Joined"
	StageDone          = "Done"
	StageFailed        = "Failed"
	FinalizingDone     = "Done"
	FinalizingOperator = "Waiting for cluster operators"
)

// AllStages lists every word that a host may report.
func AllStages() []string {
	return []string{StageStarting, StageControlPlane, StageBootkube, StageController, StageInstalling, StageWriting,
		StageCopying, StageRebooting, StageIgnition, StageConfiguring, StageJoined, StageDone, StageFailed}
}

func bootstrapStages() []string {
	return []string{StageStarting, StageInstalling, StageWriting, StageCopying, StageControlPlane, StageBootkube,
		StageController, StageRebooting, StageConfiguring, StageJoined, StageDone}
}

func masterStages() []string {
	return []string{StageStarting, StageInstalling, StageWriting, StageCopying, StageRebooting, StageConfiguring,
		StageJoined, StageDone}
}

func workerStages() []string {
	return []string{StageStarting, StageInstalling, StageWriting, StageControlPlane, StageRebooting, StageIgnition,
		StageConfiguring, StageJoined, StageDone}
}

func singleNodeStages() []string {
	return []string{StageStarting, StageInstalling, StageBootkube, StageWriting, StageCopying, StageRebooting,
		StageJoined, StageDone}
}

// untilReboot is how far a host that is added to an installed cluster reports.
func untilReboot(stages []string) []string {
	return stages[:slices.Index(stages, StageRebooting)+1]
}

// RoleStages is the ordered list of a host's stages; empty while its role is open.
func RoleStages(h *Host, single bool) []string {
	added := h.Kind == KindAddedHost
	switch {
	case added && OneOf(h.Role, RoleMaster, RoleArbiter):
		return untilReboot(masterStages())
	case added && h.Role == RoleWorker:
		return untilReboot(workerStages())
	case h.Bootstrap && single:
		return singleNodeStages()
	case h.Bootstrap:
		return bootstrapStages()
	case h.Role == RoleMaster || h.Role == RoleArbiter:
		return masterStages()
	case h.Role == RoleWorker:
		return workerStages()
	}
	return []string{}
}

// StageTimeout is how long the service gives a host for a stage.
func StageTimeout(stage string, single bool) time.Duration {
	switch stage {
	case StageStarting, StageWriting:
		return 30 * time.Minute
	case StageCopying:
		return 90 * time.Minute
	case StageRebooting:
		if single {
			return 80 * time.Minute
		}
		return 40 * time.Minute
	case StageIgnition:
		return 24 * time.Hour
	}
	return time.Hour
}

// FinalizingStage is a stage of the controller with how long the service gives it, as it
// does unless it was set up with soft time limits. One that is about the operators on top
// has at least what these ask for. What is optional does not fail an installation.
type FinalizingStage struct {
	Name          string
	limit         time.Duration
	olm, Optional bool
}

func finalizingStages() []FinalizingStage {
	return []FinalizingStage{
		{Name: FinalizingOperator, limit: 10 * time.Hour},
		{Name: "Adding router ca", limit: 70 * time.Minute},
		{Name: "Applying olm manifests", limit: 10 * time.Minute, Optional: true},
		{Name: "Waiting for olm operators csv initialization", limit: 70 * time.Minute, olm: true, Optional: true},
		{Name: "Waiting for olm operators csv", limit: 70 * time.Minute, olm: true, Optional: true},
		{Name: "Waiting for OLM operator setup jobs", limit: 10 * time.Minute, olm: true},
		{Name: FinalizingDone, limit: 70 * time.Minute},
	}
}

// FinalizingStage is the stage that the controller has reported, and its time.
func (c *Cluster) FinalizingStage() (stage FinalizingStage, limit time.Duration) {
	at := FinalizingIndex(c.Progress.FinalizingStage)
	if at < 0 {
		return FinalizingStage{}, 0
	}
	stage = finalizingStages()[at]
	limit = stage.limit
	for _, o := range c.MonitoredOperators {
		if stage.olm && o.OperatorType == "olm" {
			limit = max(limit, time.Duration(o.TimeoutSeconds)*time.Second)
		}
	}
	return stage, limit
}

// FinalizingIndex is the place of a stage of the controller; -1 for an unknown one.
func FinalizingIndex(name string) int {
	return slices.IndexFunc(finalizingStages(), func(f FinalizingStage) bool { return f.Name == name })
}
