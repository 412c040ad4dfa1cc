// Command build builds the Kubernetes programs that the tests run, and prints the
// folder that they are in. Where their modules cannot be had it says so and exits
// with 0 and without a folder: the tests that need them skip.
//
// With --assets it puts them into a folder, with all that runs them outside of the source
// tree.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/oaictl/oaictl/internal/kubetest"
)

func main() {
	// The flags of all packages have one of that name already, from envtest.
	flags := flag.NewFlagSet("build", flag.ExitOnError)
	assets := flags.String("assets", "", "`DIR` to put everything into that runs API servers: for oaictl simulator management --assets DIR")
	_ = flags.Parse(os.Args[1:]) // it exits where it cannot
	if flags.NArg() > 0 {
		flags.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := *assets, error(nil)
	if folder != "" {
		err = kubetest.WriteAssets(ctx, folder, os.Stderr)
	} else {
		folder, err = kubetest.Build(ctx, os.Stderr)
	}
	switch {
	case errors.Is(err, kubetest.ErrUnavailable) && *assets == "":
		fmt.Fprintln(os.Stderr, err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stdout, folder)
	}
}
