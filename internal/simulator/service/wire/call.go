package wire

import (
	"net/http"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// Call is a request as a handler sees it.
type Call struct {
	*http.Request
	Content []byte
	// taken is the body as its parameter made it out.
	taken any
}

// Handler answers a call. It runs under the service's lock.
type Handler func(*Call) (Reply, error)

// Owner is who makes what a call makes.
func (c *Call) Owner() string { return auth.From(c.Context()).Username }

// Sees tells whether a list shows the caller what belongs to the owner.
func (c *Call) Sees(owner string) bool {
	id := auth.From(c.Context())
	return id.Scheme != auth.UserAuth || id.Username == owner || id.Username == "admin"
}
