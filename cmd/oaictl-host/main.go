//go:build linux

// Command oaictl-host runs on the machines that become nodes: as agent and installer on the live system of an installation
// medium, and as controller in the new cluster. The name by which it is called says which of these it is.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	fmt.Fprintf(os.Stderr, "oaictl-host: there is no program %q\n", filepath.Base(os.Args[0]))
	os.Exit(2)
}
