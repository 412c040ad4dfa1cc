//go:build e2e

// Package e2e tests the built oaictl as a person uses it: real processes, real
// sockets, the simulator on the other side, and a recorder in between that
// counts what goes over the wire.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// sideBySide is how many installs run at once. Most of their time is spent waiting for simulated machines, so that it
// is more than there are processors.
const sideBySide = 12 / slower

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
	os.Exit(m.Run())
}
