package agentinstall

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostInventory is what the agent found in a machine.
type HostInventory struct {
	// +optional
	ReportTime *metav1.Time `json:"reportTime,omitempty"`
	// Hostname is the machine's own, not the one that was asked for.
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// BMCAddress is 0.0.0.0 where there is none.
	// +optional
	BMCAddress string `json:"bmcAddress,omitempty"`
	// BMCV6Address is ::/0 where there is none.
	// +optional
	BMCV6Address string `json:"bmcV6Address,omitempty"`
	// +optional
	Memory HostMemory `json:"memory,omitzero"`
	// +optional
	CPU HostCPU `json:"cpu,omitzero"`
	// +optional
	Interfaces []HostInterface `json:"interfaces,omitempty"`
	// +optional
	Disks []HostDisk `json:"disks,omitempty"`
	// +optional
	Boot HostBoot `json:"boot,omitzero"`
	// +optional
	SystemVendor HostSystemVendor `json:"systemVendor,omitzero"`
	// +optional
	GPUs []HostGPU `json:"gpus,omitempty"`
}

// HostMemory is in bytes.
type HostMemory struct {
	// +optional
	PhysicalBytes int64 `json:"physicalBytes,omitempty"`
	// +optional
	UsableBytes int64 `json:"usableBytes,omitempty"`
}

// HostCPU is a machine's processor.
type HostCPU struct {
	// Count is that of logical processors.
	// +optional
	Count int64 `json:"count,omitempty"`
	// +optional
	ClockMegahertz int64 `json:"clockMegahertz,omitempty"`
	// +optional
	Flags []string `json:"flags,omitempty"`
	// +optional
	ModelName string `json:"modelName,omitempty"`
	// +optional
	Architecture string `json:"architecture,omitempty"`
}

// HostInterface is a NIC. Addresses are written with their prefix length.
type HostInterface struct {
	// +required
	IPV4Addresses []string `json:"ipV4Addresses,omitzero"`
	// +required
	IPV6Addresses []string `json:"ipV6Addresses,omitzero"`
	// +required
	Flags []string `json:"flags,omitzero"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	MACAddress string `json:"macAddress,omitempty"`
	// +optional
	HasCarrier bool `json:"hasCarrier,omitempty"`
	// +optional
	MTU int64 `json:"mtu,omitempty"`
	// +optional
	SpeedMbps int64 `json:"speedMbps,omitempty"`
	// +optional
	Vendor string `json:"vendor,omitempty"`
	// +optional
	Product string `json:"product,omitempty"`
	// +optional
	BIOSDevName string `json:"biosDevName,omitempty"`
	// +optional
	ClientID string `json:"clientID,omitempty"`
}

// HostDisk is a disk.
type HostDisk struct {
	// ID is what AgentSpec.InstallationDiskID takes.
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Path string `json:"path,omitempty"`
	// +optional
	ByPath string `json:"byPath,omitempty"`
	// +optional
	ByID string `json:"byID,omitempty"`
	// DriveType is HDD, SSD, Multipath, iSCSI and others.
	// +optional
	DriveType string `json:"driveType,omitempty"`
	// +optional
	Vendor string `json:"vendor,omitempty"`
	// +optional
	Model string `json:"model,omitempty"`
	// +optional
	Serial string `json:"serial,omitempty"`
	// +optional
	WWN string `json:"wwn,omitempty"`
	// +optional
	HCTL string `json:"hctl,omitempty"`
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// +optional
	Bootable bool `json:"bootable,omitempty"`
	// SMART is JSON.
	// +optional
	SMART string `json:"smart,omitempty"`
	// +optional
	InstallationEligibility *DiskEligibility `json:"installationEligibility,omitempty"`
	// +optional
	IOPerf *DiskPerformance `json:"ioPerf,omitempty"`
}

// DiskEligibility says whether a disk can be installed on, and why not.
type DiskEligibility struct {
	// +optional
	Eligible bool `json:"eligible,omitempty"`
	// +required
	NotEligibleReasons []string `json:"notEligibleReasons,omitzero"`
}

// DiskPerformance is how fast a disk is.
type DiskPerformance struct {
	// SyncDurationMilliseconds is that of the slowest hundredth of fsync calls.
	// +optional
	SyncDurationMilliseconds int64 `json:"syncDurationMilliseconds,omitempty"`
}

// HostBoot is how the live system was booted.
type HostBoot struct {
	// CurrentBootMode is uefi or bios.
	// +optional
	CurrentBootMode string `json:"currentBootMode,omitempty"`
	// +optional
	PXEInterface string `json:"pxeInterface,omitempty"`
	// DeviceType is ephemeral or persistent.
	// +optional
	DeviceType string `json:"deviceType,omitempty"`
}

// HostSystemVendor says who made the machine.
type HostSystemVendor struct {
	// +optional
	Manufacturer string `json:"manufacturer,omitempty"`
	// +optional
	ProductName string `json:"productName,omitempty"`
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`
	// +optional
	Virtual bool `json:"virtual,omitempty"`
}

// HostGPU is a graphics processor.
type HostGPU struct {
	// +optional
	Address string `json:"address,omitempty"`
	// +optional
	DeviceID string `json:"deviceID,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Vendor string `json:"vendor,omitempty"`
	// +optional
	VendorID string `json:"vendorID,omitempty"`
}
