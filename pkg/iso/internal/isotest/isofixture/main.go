// Command isofixture writes a live ISO of package isotest, for tests of programs
// that read one.
package main

import (
	"fmt"
	"os"

	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: isofixture LAYOUT FILE")
		os.Exit(2)
	}
	layout, known := isotest.ByName(os.Args[1])
	if !known {
		fmt.Fprintf(os.Stderr, "isofixture: there is no layout %q\n", os.Args[1])
		os.Exit(2)
	}
	if err := isotest.Write(os.Args[2], layout); err != nil {
		fmt.Fprintln(os.Stderr, "isofixture:", err)
		os.Exit(1)
	}
}
