package document

// Media is where a host finds what it boots: an item of `iso serve`.
type Media struct {
	Host string `json:"host"`
	ISO  string `json:"iso"`
	IPXE string `json:"ipxe,omitempty"`
}
