//go:build e2e

package hub

import (
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// ServerForTests is the API server of all tests of this package.
func ServerForTests(t *testing.T) *kubetest.Cluster { return server.Start(t) }
