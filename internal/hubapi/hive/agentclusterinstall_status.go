package hive

import "github.com/oaictl/oaictl/internal/hubapi"

// AgentClusterInstallStatus is how far an installation got. How it ended stands in
// Conditions, never in DebugInfo.
type AgentClusterInstallStatus struct {
	Conditions                   []hubapi.Condition `json:"conditions,omitempty"`
	Progress                     *Progress          `json:"progress,omitempty"`
	ControlPlaneAgentsDiscovered int                `json:"controlPlaneAgentsDiscovered,omitempty"`
	ControlPlaneAgentsReady      int                `json:"controlPlaneAgentsReady,omitempty"`
	WorkerAgentsDiscovered       int                `json:"workerAgentsDiscovered,omitempty"`
	WorkerAgentsReady            int                `json:"workerAgentsReady,omitempty"`
	// ConnectivityMajorityGroups is JSON: by network, and by address family, the
	// hosts that reach each other.
	ConnectivityMajorityGroups string           `json:"connectivityMajorityGroups,omitempty"`
	MachineNetwork             []MachineNetwork `json:"machineNetwork,omitempty"`
	// DebugInfo is nil until the service first looked at the cluster.
	DebugInfo             *DebugInfo         `json:"debugInfo,omitempty"`
	APIVIP                string             `json:"apiVIP,omitempty"`
	APIVIPs               []string           `json:"apiVIPs,omitempty"`
	IngressVIP            string             `json:"ingressVIP,omitempty"`
	IngressVIPs           []string           `json:"ingressVIPs,omitempty"`
	UserManagedNetworking *bool              `json:"userManagedNetworking,omitempty"`
	PlatformType          string             `json:"platformType,omitempty"`
	ValidationsInfo       hubapi.Validations `json:"validationsInfo,omitempty"`
}

// Progress is 0 to 100.
type Progress struct {
	TotalPercentage int64 `json:"totalPercentage"`
}

// DebugInfo is the service's own state of a cluster. The URLs hold tokens.
type DebugInfo struct {
	EventsURL string `json:"eventsURL"`
	// LogsURL is "" while there are no logs.
	LogsURL string `json:"logsURL"`
	// State is the service's word, such as adding-hosts, which a cluster that has
	// just been installed reaches at once.
	State     string `json:"state,omitempty"`
	StateInfo string `json:"stateInfo,omitempty"`
}
