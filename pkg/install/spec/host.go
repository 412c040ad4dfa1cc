package spec

// Host is one machine.
type Host struct {
	// Name of the host in this file, in messages, and its hostname where none is given.
	Name string `yaml:"name"`
	// What the machine becomes.
	Role Role `yaml:"role,omitempty"`
	// By what the machine is recognised. All that is given has to fit, exactly.
	Match Match `yaml:"match,omitempty"`
	// Hostname to set. Default is the name; the empty text leaves the machine the one it has.
	Hostname string `yaml:"hostname,omitempty"`
	// CPU architecture, where the cluster's is multi.
	Arch Arch `yaml:"arch,omitempty"`
	// The machine's management controller.
	BMC *BMC `yaml:"bmc,omitempty"`
	// Disk to install on, and disks to leave alone.
	Disk Disk `yaml:"disk,omitempty"`
	// Static network. Left out, the host uses DHCP.
	Net *HostNet `yaml:"net,omitempty"`
	// Labels of the node.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Machine config pool that the node joins, if not that of its role.
	MachineConfigPool string `yaml:"machineConfigPool,omitempty"`
	// Arguments for coreos-installer.
	InstallerArgs []string `yaml:"installerArgs,omitempty"`
	// Ignition that is merged into the host's own.
	Ignition *Document `yaml:"ignition,omitempty"`
	// How the machine is powered off by its peer, in a two-node cluster with fencing.
	Fencing *Fencing `yaml:"fencing,omitempty"`
	// What the host shows to the Ignition endpoint of the cluster.
	IgnitionEndpoint *HostIgnitionEndpoint `yaml:"ignitionEndpoint,omitempty"`
}

// Match is how a machine is recognised.
type Match struct {
	// MAC address of any of its interfaces.
	MAC string `yaml:"mac,omitempty"`
	// Serial number of the system.
	Serial string `yaml:"serial,omitempty"`
	// UUID of the system, which is also the host's id in the service.
	UUID string `yaml:"uuid,omitempty"`
	// Hostname that the machine has by itself. Exactly; a prefix never matches.
	Hostname string `yaml:"hostname,omitempty"`
	// IP address of its management controller.
	BMC string `yaml:"bmc,omitempty"`
}

// BMC is a machine's management controller.
type BMC struct {
	// Address: an IP, a host name, or a URL such as https://10.0.0.1/redfish/v1/Systems/1.
	Address string `yaml:"address"`
	// User and password. Default is network.defaults.bmc.credentials.
	Credentials Credentials `yaml:"credentials,omitempty"`
	// Id of the system, where the controller looks after several.
	System string `yaml:"system,omitempty"`
	// Whether the controller's certificate is not verified. Default is network.defaults.bmc.insecure.
	Insecure bool `yaml:"insecure,omitempty"`
	// Certificate (PEM) that the controller is trusted by.
	CA *PublicSource `yaml:"ca,omitempty"`
	// Whether the machine may be rebooted although it runs something: by default one that is on, and has not booted this cluster's image, is left alone.
	RebootRunning bool `yaml:"rebootRunning,omitempty"`
	// How the hub treats the machine, with boot.method metal3.
	Metal3 *Metal3 `yaml:"metal3,omitempty"`
}

// Disk says which disk is installed on and which are left alone.
type Disk struct {
	// What the disk to install on has to be like. All that is given has to fit, and exactly one disk.
	Hints DiskHints `yaml:"hints,omitempty"`
	// Disks whose content is kept: device paths such as /dev/disk/by-id/wwn-0x5000c500a0b1c2d3.
	Keep []string `yaml:"keep,omitempty"`
}

// DiskHints are the root device hints of metal3.
type DiskHints struct {
	// Path of the device, for example /dev/sda or /dev/disk/by-path/pci-0000:01:00.0-nvme-1.
	DeviceName string `yaml:"deviceName,omitempty" json:"deviceName,omitempty"`
	// SCSI address, host:channel:target:lun.
	HCTL string `yaml:"hctl,omitempty" json:"hctl,omitempty"`
	// Part of the model.
	Model string `yaml:"model,omitempty" json:"model,omitempty"`
	// Part of the vendor.
	Vendor string `yaml:"vendor,omitempty" json:"vendor,omitempty"`
	// Serial number.
	SerialNumber string `yaml:"serialNumber,omitempty" json:"serialNumber,omitempty"`
	// Smallest size, in GiB.
	MinSizeGigabytes int `yaml:"minSizeGigabytes,omitempty" json:"minSizeGigabytes,omitempty"`
	// World-wide name.
	WWN string `yaml:"wwn,omitempty" json:"wwn,omitempty"`
	// World-wide name with the vendor's extension.
	WWNWithExtension string `yaml:"wwnWithExtension,omitempty" json:"wwnWithExtension,omitempty"`
	// The vendor's extension of the world-wide name.
	WWNVendorExtension string `yaml:"wwnVendorExtension,omitempty" json:"wwnVendorExtension,omitempty"`
	// Whether the disk rotates.
	Rotational *bool `yaml:"rotational,omitempty" json:"rotational,omitempty"`
}

// Fencing is how a machine is powered off by its peer.
type Fencing struct {
	// Redfish address, for example redfish+https://10.0.0.1/redfish/v1/Systems/1. Default is bmc.address.
	Address string `yaml:"address,omitempty"`
	// User and password. Default is bmc.credentials.
	Credentials Credentials `yaml:"credentials,omitempty"`
	// Whether the controller's certificate is not verified. Default is bmc.insecure.
	Insecure *bool `yaml:"insecure,omitempty"`
}

// HostIgnitionEndpoint is what a host shows to the Ignition endpoint.
type HostIgnitionEndpoint struct {
	// Bearer token.
	Token *Source `yaml:"token,omitempty"`
	// HTTP headers.
	Headers map[string]string `yaml:"headers,omitempty"`
}
