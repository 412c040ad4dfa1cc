package document

// Media is where a host finds what it boots: an item of `iso serve`.
type Media struct {
	Host string `json:"host"`
	ISO  string `json:"iso"`
	// IPXE is a script for iPXE, which the other architectures than s390x have.
	IPXE string `json:"ipxe,omitempty"`
	// Ins is s390x's generic.ins, which names the other files beside it.
	Ins string `json:"ins,omitempty"`
}
