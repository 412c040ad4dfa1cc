package document

import "github.com/oaictl/oaictl/pkg/install/model"

// Request is what was judged of a request for a certificate.
type Request struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Node      string   `json:"node"`
	Host      string   `json:"host,omitempty"`
	Decision  string   `json:"decision"`
	Reason    string   `json:"reason"`
	Message   string   `json:"message,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Key       string   `json:"key,omitempty"`
	Newer     string   `json:"newer,omitempty"` // that was made in its place
}

// OfRequest is the form of a verdict.
func OfRequest(v model.RequestVerdict) Request {
	r := Request{Name: v.Name, Kind: string(v.Kind), Node: v.Node, Host: v.Host, Decision: string(v.Decision), Reason: v.Reason, Message: v.Message, Key: v.Key, Newer: v.Newer}
	for _, address := range v.Addresses {
		r.Addresses = append(r.Addresses, address.String())
	}
	return r
}
