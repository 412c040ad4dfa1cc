//go:build e2e

// Package hub tests installs through a hub's objects on a real API server, with
// the simulated operator and machines behind it, and holds them to what the same
// installs do over REST.
package hub

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// sideBySide is how many installs run at once. Most of their time is spent waiting for simulated machines, so that it
// is more than there are processors.
const sideBySide = 12

// server is the API server of all tests of this package that do not break it.
var server kubetest.Shared

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", fmt.Sprint(sideBySide)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(server.Run(m))
}
