package csr

import "github.com/oaictl/oaictl/pkg/install/model"

// finding ends the judgement of a request.
type finding struct {
	decision model.RequestDecision
	reason   string
	text     string // for the message
}
