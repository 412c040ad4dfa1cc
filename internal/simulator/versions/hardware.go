package versions

// Hardware is what a host must have. Zero means that nothing is asked.
type Hardware struct {
	CPUCores int64 `json:"cpu_cores,omitempty"`
	RAMMiB   int64 `json:"ram_mib,omitempty"`
	DiskGB   int64 `json:"disk_size_gb,omitempty"`
	// DiskSpeedMs is the longest that a synced write may take, milliseconds.
	DiskSpeedMs int64 `json:"installation_disk_speed_threshold_ms,omitempty"`
	// LatencyMs is the longest round trip to another host, milliseconds, and
	// PacketLoss the largest share of packets lost, percent. Nil asks nothing.
	LatencyMs  *float64 `json:"network_latency_threshold_ms,omitempty"`
	PacketLoss *float64 `json:"packet_loss_percentage,omitempty"`
	// TPM is whether the machine needs a TPM, for an encrypted disk.
	TPM bool `json:"tpm_enabled_in_bios,omitempty"`
}

// plus adds what an operator needs on top; network limits stay the role's.
func (h Hardware) plus(more Hardware) Hardware {
	h.CPUCores += more.CPUCores
	h.RAMMiB += more.RAMMiB
	h.DiskGB += more.DiskGB
	return h
}

// Roles that hardware is asked for. SingleNode is the control plane host of a
// cluster that has no other.
const (
	Master     = "master"
	Worker     = "worker"
	Arbiter    = "arbiter"
	SingleNode = "sno"
)

type roleHardware struct {
	Role     string   `json:"role"`
	Before   string   `json:"before"`
	Hardware Hardware `json:"hardware"`
}

// RoleHardware is what a role needs before any operator.
func RoleHardware(openshiftVersion, role string) Hardware {
	for _, r := range known().hardware {
		if (r.Role == role || r.Role == "") && (r.Before == "" || !AtLeast(openshiftVersion, r.Before)) {
			return r.Hardware
		}
	}
	return Hardware{}
}

// HostHardware is what a host of a role needs, together with the operators
// that will run in its cluster, each by name.
func HostHardware(openshiftVersion, role string, operatorNames []string) Hardware {
	total := RoleHardware(openshiftVersion, role)
	for _, name := range operatorNames {
		o, _ := findOperator(name) // an unknown one needs nothing
		switch role {
		case Master:
			total = total.plus(o.Master)
		case SingleNode:
			total = total.plus(o.Master).plus(o.SingleNode)
		case Worker:
			total = total.plus(o.Worker)
		}
	}
	return total
}
