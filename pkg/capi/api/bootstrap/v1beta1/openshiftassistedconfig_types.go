package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The tag same is the path of the field of cluster.yaml that has the same value. The providers copy it by this path.

// OpenshiftAssistedConfigSpec says how a machine is discovered and installed.
// The role of the machine is not part of it: it follows from the Machine that
// refers to the config.
type OpenshiftAssistedConfigSpec struct {
	// proxy is how the discovery image and the installer reach the outside.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`

	// pullSecretRef names a Secret of type kubernetes.io/dockerconfigjson in the
	// same namespace, with the credentials of the image registries. Default is the
	// pull secret of the control plane. With neither, an empty one is used, which is
	// enough for OKD.
	// +optional
	PullSecretRef *corev1.LocalObjectReference `json:"pullSecretRef,omitempty"`

	// additionalNTPSources are NTP servers, by name or address, in addition to those
	// that DHCP names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	AdditionalNTPSources []string `json:"additionalNTPSources,omitempty"`

	// sshAuthorizedKey holds public keys, one a line, that may log in as user core
	// while the machine is discovered.
	// +optional
	SSHAuthorizedKey string `json:"sshAuthorizedKey,omitempty"`

	// nmStateConfigLabelSelector selects the NMStateConfigs in the same namespace that
	// hold the static networks of the machines. Left out, machines use DHCP.
	// +optional
	NMStateConfigLabelSelector metav1.LabelSelector `json:"nmStateConfigLabelSelector,omitempty,omitzero"`

	// cpuArchitecture of the machine: x86_64, arm64 (or aarch64), ppc64le or s390x.
	// Default is the architecture of the control plane's cpuArchitecture, else x86_64.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`

	// kernelArguments are the changes to the kernel arguments of the installed system.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	KernelArguments []KernelArgument `json:"kernelArguments,omitempty"`

	// discoveryKernelArguments are appended to the kernel arguments of the discovery
	// image. They have no effect on machines that boot from a disk image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	DiscoveryKernelArguments []string `json:"discoveryKernelArguments,omitempty"`

	// additionalTrustBundle holds certificates (PEM) that the machine trusts besides
	// the well-known ones.
	// +optional
	AdditionalTrustBundle string `json:"additionalTrustBundle,omitempty"`

	// osImageVersion is the OpenShift version, as 4.20, whose live system discovers the
	// machine. Default is that of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	OSImageVersion string `json:"osImageVersion,omitempty"`

	// imageType is the kind of discovery image: full-iso carries everything, minimal-iso
	// fetches its root file system at boot. Default is full-iso for user data, so that
	// static networks are in the Ignition, and otherwise the service's.
	// +optional
	// +kubebuilder:validation:Enum=full-iso;minimal-iso
	ImageType string `json:"imageType,omitempty"`

	// networkDelay is how long the booted machine waits for its network before it is
	// discovered, as 30s. Default is not to wait.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^-?([0-9]+([.][0-9]+)?(h|m|s|ms|us|ns))+$|^0$')",message="write a duration, as 30s"
	NetworkDelay *metav1.Duration `json:"networkDelay,omitempty"`

	// preBootstrapCommands are run by a shell as root, once, before the kubelet of the
	// installed system starts for the first time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	PreBootstrapCommands []string `json:"preBootstrapCommands,omitempty"`

	// postBootstrapCommands are run by a shell as root, once, after the API server
	// answers and the machine's node is there.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	PostBootstrapCommands []string `json:"postBootstrapCommands,omitempty"`

	// bootstrapCommandSentinelDir is the directory of the installed system in which the
	// files stand that keep commands from running again. Default is /var/lib/capoa.
	// +optional
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9_./-]+$`
	// +kubebuilder:validation:MaxLength=255
	BootstrapCommandSentinelDir string `json:"bootstrapCommandSentinelDir,omitempty"`

	// postBootstrapKubeconfigPath is the kubeconfig on the installed system by which
	// postBootstrapCommands wait for the node, and which they get as KUBECONFIG. Default
	// is /var/lib/kubelet/kubeconfig.
	// +optional
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9_./-]+$`
	// +kubebuilder:validation:MaxLength=255
	PostBootstrapKubeconfigPath string `json:"postBootstrapKubeconfigPath,omitempty"`

	// nodeRegistration is what the kubelet says of the machine when it registers.
	// +optional
	NodeRegistration NodeRegistrationOptions `json:"nodeRegistration,omitempty,omitzero"`

	// hostname of the machine. A template that serves several machines leaves it out.
	// Default is the name that the machine has by itself.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Hostname string `json:"hostname,omitempty"`

	// rootDeviceHints select the disk to install on. All that is given has to fit, and
	// exactly one disk. Default is the disk that the service chooses. For a host whose Agent
	// belongs to a BareMetalHost with the label infraenvs.agent-install.openshift.io the
	// service chooses by these hints, and compares texts exactly.
	// +optional
	RootDeviceHints *RootDeviceHints `json:"rootDeviceHints,omitempty" same:"spec.hosts[].disk.hints"`

	// keepDisks are the disks whose content is kept, by device path, as
	// /dev/disk/by-id/wwn-0x5000c500a0b1c2d3.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	KeepDisks []string `json:"keepDisks,omitempty" same:"spec.hosts[].disk.keep"`

	// nodeLabels are labels of the node.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`

	// taints of the node. They are set as soon as the node is there.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=64
	Taints []Taint `json:"taints,omitempty" same:"spec.hosts[].taints"`

	// agentLabels are labels that the Agent gets when the machine registers. They have
	// no effect where the service is reached over REST.
	// +optional
	AgentLabels map[string]string `json:"agentLabels,omitempty"`

	// machineConfigPool is the pool that the node joins. Default is that of its role.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	MachineConfigPool string `json:"machineConfigPool,omitempty" same:"spec.hosts[].machineConfigPool"`

	// installerArgs are further arguments for coreos-installer.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	InstallerArgs []string `json:"installerArgs,omitempty"`

	// ignitionOverride is an Ignition config of version 3 as JSON. It is merged into the
	// config of the installed machine. The annotation
	// openshiftassistedconfig.cluster.x-k8s.io/ignition-override does the same; the
	// field wins.
	// +optional
	IgnitionOverride string `json:"ignitionOverride,omitempty"`

	// discoveryIgnitionOverride is an Ignition config of version 3 as JSON. It is merged
	// into the config of the discovery image. The annotation
	// openshiftassistedconfig.cluster.x-k8s.io/discovery-ignition-override does the
	// same; the field wins.
	// +optional
	DiscoveryIgnitionOverride string `json:"discoveryIgnitionOverride,omitempty"`

	// ignitionEndpoint is what the machine shows to the cluster's Ignition endpoint.
	// +optional
	IgnitionEndpoint *HostIgnitionEndpoint `json:"ignitionEndpoint,omitempty"`

	// allowedAddresses are IP addresses that the node may have beside those of its
	// inventory and its static network. Its serving certificate is approved for them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AllowedAddresses []string `json:"allowedAddresses,omitempty" same:"spec.hosts[].addresses"`
}

// Proxy is an HTTP proxy.
type Proxy struct {
	// httpProxy is the URL of the proxy for http:// addresses.
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`
	// httpsProxy is the URL of the proxy for https:// addresses.
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	// noProxy lists, with commas between, the host names, .domains, addresses and
	// networks that are reached without the proxy. * means all.
	// +optional
	NoProxy string `json:"noProxy,omitempty"`
}

// KernelArgumentOperation is what is done with a kernel argument.
// +kubebuilder:validation:Enum=append;replace;delete
type KernelArgumentOperation string

// The operations on kernel arguments.
const (
	KernelArgumentAppend  KernelArgumentOperation = "append"
	KernelArgumentReplace KernelArgumentOperation = "replace"
	KernelArgumentDelete  KernelArgumentOperation = "delete"
)

// KernelArgument is one change to the kernel arguments of the installed system.
type KernelArgument struct {
	// operation is append, which adds the argument; delete, which removes it; or
	// replace, which removes every argument of the same key and adds this one.
	// +required
	Operation KernelArgumentOperation `json:"operation,omitempty"`
	// value is the argument, as console=ttyS0.
	// +required
	// +kubebuilder:validation:Pattern=`^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$`
	// +kubebuilder:validation:MaxLength=2048
	Value string `json:"value,omitempty"`
}

// NodeRegistrationOptions is what the kubelet says of a machine when it registers.
// Values may refer to the metadata of the machine: $METADATA_NAME and the like stand
// for what its config drive says or, without one, for the name and UID of its
// BareMetalHost or Agent.
type NodeRegistrationOptions struct {
	// name of the node, as $METADATA_NAME. It becomes the hostname of the machine.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// kubeletExtraLabels are labels that the kubelet sets on its node, each as key=value,
	// as metal3.io/uuid=$METADATA_UUID.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	KubeletExtraLabels []string `json:"kubeletExtraLabels,omitempty"`
	// providerID of the node. Default is the one that the infrastructure provider gives
	// the Machine.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`
}

// RootDeviceHints are what a disk has to be like.
type RootDeviceHints struct {
	// deviceName is the path of the device, as /dev/sda or
	// /dev/disk/by-path/pci-0000:01:00.0-nvme-1. Other links, such as one by-id, are not
	// known where the service chooses the disk: see rootDeviceHints.
	// +optional
	DeviceName string `json:"deviceName,omitempty"`
	// hctl is the SCSI address, host:channel:target:lun.
	// +optional
	HCTL string `json:"hctl,omitempty"`
	// model is a part of the disk's model.
	// +optional
	Model string `json:"model,omitempty"`
	// vendor is a part of the disk's vendor.
	// +optional
	Vendor string `json:"vendor,omitempty"`
	// serialNumber of the disk.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`
	// minSizeGigabytes is the smallest size, in gigabytes of 1,000,000,000 bytes, as disks
	// are sold. (Ironic, which does not choose the disk here, counts in GiB.)
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinSizeGigabytes int32 `json:"minSizeGigabytes,omitempty"`
	// wwn is the world-wide name.
	// +optional
	WWN string `json:"wwn,omitempty"`
	// wwnWithExtension is the world-wide name with the vendor's extension. It is not known
	// where the service chooses the disk: see rootDeviceHints.
	// +optional
	WWNWithExtension string `json:"wwnWithExtension,omitempty"`
	// wwnVendorExtension is the vendor's extension of the world-wide name. It is not known
	// where the service chooses the disk: see rootDeviceHints.
	// +optional
	WWNVendorExtension string `json:"wwnVendorExtension,omitempty"`
	// rotational says whether the disk rotates.
	// +optional
	Rotational *bool `json:"rotational,omitempty"`
}

// Taint keeps pods that do not tolerate it away from a node.
type Taint struct {
	// key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`
	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
	// effect is what becomes of pods that do not tolerate the taint.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// HostIgnitionEndpoint is what a machine shows to the cluster's Ignition endpoint.
type HostIgnitionEndpoint struct {
	// tokenRef names a Secret in the same namespace whose key ignition-token holds a
	// bearer token.
	// +optional
	TokenRef *corev1.LocalObjectReference `json:"tokenRef,omitempty"`
	// httpHeaders are sent with the request.
	// +optional
	HTTPHeaders map[string]string `json:"httpHeaders,omitempty"`
}
