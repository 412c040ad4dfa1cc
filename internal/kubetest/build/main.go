// Command build builds the Kubernetes programs that the tests run, and prints the
// folder that they are in. Where their modules cannot be had it says so and exits
// with 0 and without a folder: the tests that need them skip.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/oaictl/oaictl/internal/kubetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := kubetest.Build(ctx, os.Stderr)
	switch {
	case errors.Is(err, kubetest.ErrUnavailable):
		fmt.Fprintln(os.Stderr, err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stdout, folder)
	}
}
