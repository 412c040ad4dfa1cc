package service

import (
	"slices"
	"time"
)

// The stages of a host's installation.
const (
	stageStarting      = "Starting installation"
	stageInstalling    = "Installing"
	stageWriting       = "Writing image to disk"
	stageCopying       = "Copying registry data to disk"
	stageControlPlane  = "Waiting for control plane"
	stageBootkube      = "Waiting for bootkube"
	stageController    = "Waiting for controller"
	stageRebooting     = "Rebooting"
	stageIgnition      = "Waiting for ignition"
	stageConfiguring   = "Configuring"
	stageJoined        = "Joined"
	stageDone          = "Done"
	stageFailed        = "Failed"
	finalizingDone     = "Done"
	finalizingOperator = "Waiting for cluster operators"
)

// allStages lists every word that a host may report.
func allStages() []string {
	return []string{stageStarting, stageControlPlane, stageBootkube, stageController, stageInstalling, stageWriting,
		stageCopying, stageRebooting, stageIgnition, stageConfiguring, stageJoined, stageDone, stageFailed}
}

func bootstrapStages() []string {
	return []string{stageStarting, stageInstalling, stageWriting, stageCopying, stageControlPlane, stageBootkube,
		stageController, stageRebooting, stageConfiguring, stageJoined, stageDone}
}

func masterStages() []string {
	return []string{stageStarting, stageInstalling, stageWriting, stageCopying, stageRebooting, stageConfiguring,
		stageJoined, stageDone}
}

func workerStages() []string {
	return []string{stageStarting, stageInstalling, stageWriting, stageControlPlane, stageRebooting, stageIgnition,
		stageConfiguring, stageJoined, stageDone}
}

func singleNodeStages() []string {
	return []string{stageStarting, stageInstalling, stageBootkube, stageWriting, stageCopying, stageRebooting,
		stageJoined, stageDone}
}

// untilReboot is how far a host that is added to an installed cluster reports.
func untilReboot(stages []string) []string {
	return stages[:slices.Index(stages, stageRebooting)+1]
}

// stagesOf is the ordered list of a host's stages; empty while its role is open.
func (s *Service) stagesOf(h *host, single bool) []string {
	return slices.DeleteFunc(roleStages(h, single), func(stage string) bool {
		return stage == stageCopying && !s.cfg.Release.Has(copiesSince)
	})
}

func roleStages(h *host, single bool) []string {
	added := h.Kind == kindAddedHost
	switch {
	case added && oneOf(h.Role, roleMaster, roleArbiter):
		return untilReboot(masterStages())
	case added && h.Role == roleWorker:
		return untilReboot(workerStages())
	case h.Bootstrap && single:
		return singleNodeStages()
	case h.Bootstrap:
		return bootstrapStages()
	case h.Role == roleMaster || h.Role == roleArbiter:
		return masterStages()
	case h.Role == roleWorker:
		return workerStages()
	}
	return []string{}
}

// stageTimeout is how long the service gives a host for a stage.
func stageTimeout(stage string, single bool) time.Duration {
	switch stage {
	case stageStarting, stageWriting:
		return 30 * time.Minute
	case stageCopying:
		return 90 * time.Minute
	case stageRebooting:
		if single {
			return 80 * time.Minute
		}
		return 40 * time.Minute
	case stageIgnition:
		return 24 * time.Hour
	}
	return time.Hour
}

// finalizingStage is a stage of the controller with how long the service gives it, as it
// does unless it was set up with soft time limits. One that is about the operators on top
// has at least what these ask for. What is optional does not fail an installation.
type finalizingStage struct {
	name          string
	limit         time.Duration
	olm, optional bool
}

func finalizingStages() []finalizingStage {
	return []finalizingStage{
		{name: finalizingOperator, limit: 10 * time.Hour},
		{name: "Adding router ca", limit: 70 * time.Minute},
		{name: "Applying olm manifests", limit: 10 * time.Minute, optional: true},
		{name: "Waiting for olm operators csv initialization", limit: 70 * time.Minute, olm: true, optional: true},
		{name: "Waiting for olm operators csv", limit: 70 * time.Minute, olm: true, optional: true},
		{name: "Waiting for OLM operator setup jobs", limit: 10 * time.Minute, olm: true},
		{name: finalizingDone, limit: 70 * time.Minute},
	}
}

// finalizingStage is the stage that the controller has reported, and its time.
func (c *cluster) finalizingStage() (stage finalizingStage, limit time.Duration) {
	at := finalizingIndex(c.Progress.FinalizingStage)
	if at < 0 {
		return finalizingStage{}, 0
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

func finalizingIndex(name string) int {
	return slices.IndexFunc(finalizingStages(), func(f finalizingStage) bool { return f.name == name })
}
