//go:build e2e

package hub_test

import (
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// server is the API server of all tests of this package.
var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }
