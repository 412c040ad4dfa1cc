// Package metal3 holds the objects of the API group metal3.io, version v1alpha1,
// as far as an install reads and writes them: BareMetalHost, and what is read of a Metal3Machine of Cluster API.
//
// A BareMetalHost that was read into these types must not be written back whole:
// the Bare Metal Operator's has more fields, and writing an older spec over a newer
// one starts the machine's provisioning anew.
package metal3

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BareMetalHost is a machine with its BMC.
type BareMetalHost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              BareMetalHostSpec   `json:"spec,omitzero"`
	Status            BareMetalHostStatus `json:"status,omitzero"`
}

// BareMetalHostSpec is how a machine is reached and what it shall boot. Once the
// bare-metal-agent controller has seen it, online, image, customDeploy and
// automatedCleaningMode are that controller's.
type BareMetalHostSpec struct {
	BMC                            BMC              `json:"bmc,omitzero"`
	BootMACAddress                 string           `json:"bootMACAddress,omitempty"`
	BootMode                       string           `json:"bootMode,omitempty"`
	Online                         bool             `json:"online"`
	AutomatedCleaningMode          string           `json:"automatedCleaningMode,omitempty"`
	Architecture                   string           `json:"architecture,omitempty"`
	RootDeviceHints                *RootDeviceHints `json:"rootDeviceHints,omitempty"`
	PreprovisioningNetworkDataName string           `json:"preprovisioningNetworkDataName,omitempty"`
	Description                    string           `json:"description,omitempty"`
	Image                          *Image           `json:"image,omitempty"`
	CustomDeploy                   *CustomDeploy    `json:"customDeploy,omitempty"`
	ConsumerRef                    *ObjectReference `json:"consumerRef,omitempty"`
	ExternallyProvisioned          bool             `json:"externallyProvisioned,omitempty"`
}

// BMC is how a machine's BMC is reached.
type BMC struct {
	Address                        string `json:"address"`
	CredentialsName                string `json:"credentialsName"`
	DisableCertificateVerification bool   `json:"disableCertificateVerification,omitempty"`
}

// RootDeviceHints pick the disk to install on; all that are given have to hold.
type RootDeviceHints struct {
	DeviceName         string `json:"deviceName,omitempty"`
	HCTL               string `json:"hctl,omitempty"`
	Model              string `json:"model,omitempty"`
	Vendor             string `json:"vendor,omitempty"`
	SerialNumber       string `json:"serialNumber,omitempty"`
	MinSizeGigabytes   int    `json:"minSizeGigabytes,omitempty"`
	WWN                string `json:"wwn,omitempty"`
	WWNWithExtension   string `json:"wwnWithExtension,omitempty"`
	WWNVendorExtension string `json:"wwnVendorExtension,omitempty"`
	Rotational         *bool  `json:"rotational,omitempty"`
}

// Image is what a machine boots.
type Image struct {
	URL    string `json:"url"`
	Format string `json:"format,omitempty"`
}

// CustomDeploy is a step of Ironic's agent that installs the machine.
type CustomDeploy struct {
	Method string `json:"method"`
}

// ObjectReference names an object of any kind.
type ObjectReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// BareMetalHostStatus is what the Bare Metal Operator makes of a machine.
type BareMetalHostStatus struct {
	Provisioning      ProvisionStatus `json:"provisioning"`
	OperationalStatus string          `json:"operationalStatus"`
	ErrorType         string          `json:"errorType,omitempty"`
	ErrorMessage      string          `json:"errorMessage"`
	ErrorCount        int             `json:"errorCount"`
	PoweredOn         bool            `json:"poweredOn"`
	LastUpdated       *metav1.Time    `json:"lastUpdated,omitempty"`
}

// ProvisionStatus is how far a machine got.
type ProvisionStatus struct {
	State string `json:"state"`
	ID    string `json:"ID"`
	Image *Image `json:"image,omitempty"`
}

// AnnotationBareMetalHost is what Metal3's provider of Cluster API records on a Metal3Machine: the NAMESPACE/NAME of
// its host.
const AnnotationBareMetalHost = "metal3.io/BareMetalHost"

// liveISO is the format of an image that is booted, and not written to disk.
const liveISO = "live-iso"

// IsLiveISO reports whether the image of a Metal3Machine is booted itself.
func IsLiveISO(machine *unstructured.Unstructured) bool {
	for _, field := range []string{"diskFormat", "format"} { // v1beta2, and v1beta1
		if format, _, _ := unstructured.NestedString(machine.Object, "spec", "image", field); format == liveISO {
			return true
		}
	}
	return false
}
