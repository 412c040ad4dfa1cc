// Package metal3 holds the objects of the API group metal3.io, version v1alpha1,
// as far as an install reads and writes them: BareMetalHost.
//
// A BareMetalHost that was read into these types must not be written back whole:
// the Bare Metal Operator's has more fields, and writing an older spec over a newer
// one starts the machine's provisioning anew.
package metal3
