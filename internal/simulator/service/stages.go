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

// finalizingStages lists the controller's stages with their soft timeouts.
func finalizingStages() []finalizingStage {
	return []finalizingStage{
		{finalizingOperator, 70 * time.Minute},
		{"Adding router ca", 70 * time.Minute},
		{"Applying olm manifests", 10 * time.Minute},
		{"Waiting for olm operators csv initialization", 70 * time.Minute},
		{"Waiting for olm operators csv", 70 * time.Minute},
		{"Waiting for OLM operator setup jobs", 70 * time.Minute},
		{finalizingDone, time.Hour},
	}
}

type finalizingStage struct {
	name string
	soft time.Duration
}

func finalizingIndex(name string) int {
	return slices.IndexFunc(finalizingStages(), func(f finalizingStage) bool { return f.name == name })
}
