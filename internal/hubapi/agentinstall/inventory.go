package agentinstall

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostInventory is what the agent found in a machine.
type HostInventory struct {
	ReportTime *metav1.Time `json:"reportTime,omitempty"`
	// Hostname is the machine's own, not the one that was asked for.
	Hostname string `json:"hostname,omitempty"`
	// BMCAddress is 0.0.0.0 where there is none.
	BMCAddress string `json:"bmcAddress,omitempty"`
	// BMCV6Address is ::/0 where there is none.
	BMCV6Address string `json:"bmcV6Address,omitempty"`
	// +optional
	Memory HostMemory `json:"memory,omitzero"`
	// +optional
	CPU        HostCPU         `json:"cpu,omitzero"`
	Interfaces []HostInterface `json:"interfaces,omitempty"`
	Disks      []HostDisk      `json:"disks,omitempty"`
	// +optional
	Boot HostBoot `json:"boot,omitzero"`
	// +optional
	SystemVendor HostSystemVendor `json:"systemVendor,omitzero"`
	GPUs         []HostGPU        `json:"gpus,omitempty"`
}

// HostMemory is in bytes.
type HostMemory struct {
	PhysicalBytes int64 `json:"physicalBytes,omitempty"`
	UsableBytes   int64 `json:"usableBytes,omitempty"`
}

// HostCPU is a machine's processor.
type HostCPU struct {
	// Count is that of logical processors.
	Count          int64    `json:"count,omitempty"`
	ClockMegahertz int64    `json:"clockMegahertz,omitempty"`
	Flags          []string `json:"flags,omitempty"`
	ModelName      string   `json:"modelName,omitempty"`
	Architecture   string   `json:"architecture,omitempty"`
}

// HostInterface is a NIC. Addresses are written with their prefix length.
type HostInterface struct {
	// +required
	IPV4Addresses []string `json:"ipV4Addresses,omitzero"`
	// +required
	IPV6Addresses []string `json:"ipV6Addresses,omitzero"`
	// +required
	Flags       []string `json:"flags,omitzero"`
	Name        string   `json:"name,omitempty"`
	MACAddress  string   `json:"macAddress,omitempty"`
	HasCarrier  bool     `json:"hasCarrier,omitempty"`
	MTU         int64    `json:"mtu,omitempty"`
	SpeedMbps   int64    `json:"speedMbps,omitempty"`
	Vendor      string   `json:"vendor,omitempty"`
	Product     string   `json:"product,omitempty"`
	BIOSDevName string   `json:"biosDevName,omitempty"`
	ClientID    string   `json:"clientID,omitempty"`
}

// HostDisk is a disk.
type HostDisk struct {
	// ID is what AgentSpec.InstallationDiskID takes.
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Path   string `json:"path,omitempty"`
	ByPath string `json:"byPath,omitempty"`
	ByID   string `json:"byID,omitempty"`
	// DriveType is HDD, SSD, Multipath, iSCSI and others.
	DriveType string `json:"driveType,omitempty"`
	Vendor    string `json:"vendor,omitempty"`
	Model     string `json:"model,omitempty"`
	Serial    string `json:"serial,omitempty"`
	WWN       string `json:"wwn,omitempty"`
	HCTL      string `json:"hctl,omitempty"`
	SizeBytes int64  `json:"sizeBytes,omitempty"`
	Bootable  bool   `json:"bootable,omitempty"`
	// SMART is JSON.
	SMART                   string           `json:"smart,omitempty"`
	InstallationEligibility *DiskEligibility `json:"installationEligibility,omitempty"`
	IOPerf                  *DiskPerformance `json:"ioPerf,omitempty"`
}

// DiskEligibility says whether a disk can be installed on, and why not.
type DiskEligibility struct {
	Eligible bool `json:"eligible,omitempty"`
	// +required
	NotEligibleReasons []string `json:"notEligibleReasons,omitzero"`
}

// DiskPerformance is how fast a disk is.
type DiskPerformance struct {
	// SyncDurationMilliseconds is that of the slowest hundredth of fsync calls.
	SyncDurationMilliseconds int64 `json:"syncDurationMilliseconds,omitempty"`
}

// HostBoot is how the live system was booted.
type HostBoot struct {
	// CurrentBootMode is uefi or bios.
	CurrentBootMode string `json:"currentBootMode,omitempty"`
	PXEInterface    string `json:"pxeInterface,omitempty"`
	// DeviceType is ephemeral or persistent.
	DeviceType string `json:"deviceType,omitempty"`
}

// HostSystemVendor says who made the machine.
type HostSystemVendor struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	ProductName  string `json:"productName,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	Virtual      bool   `json:"virtual,omitempty"`
}

// HostGPU is a graphics processor.
type HostGPU struct {
	Address  string `json:"address,omitempty"`
	DeviceID string `json:"deviceID,omitempty"`
	Name     string `json:"name,omitempty"`
	Vendor   string `json:"vendor,omitempty"`
	VendorID string `json:"vendorID,omitempty"`
}
