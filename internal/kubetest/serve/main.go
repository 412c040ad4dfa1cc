// Command serve runs an API server with the kinds of a hub, and nobody who looks
// after them, until it is stopped: to try things out on. The first time it builds the
// programs.
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
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "`FILE` to write the administrator's kubeconfig to; it is removed at the end")
	_ = flags.Parse(os.Args[1:]) // it exits where it cannot
	if *kubeconfig == "" || flags.NArg() > 0 {
		flags.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *kubeconfig)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, kubeconfig string) error {
	hub, err := kubetest.Open(ctx, os.Stderr)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped; the same command goes on from here")
		}
		return err
	}
	// A file that is not ours is not removed.
	if err := hub.WriteKubeconfig(kubeconfig); err != nil {
		return errors.Join(err, hub.Close())
	}
	fmt.Fprintf(os.Stdout, "%s serves the kinds of a hub until it is stopped (Ctrl-C). Its kubeconfig: %s\n", hub.Config.Host, kubeconfig)
	<-ctx.Done()
	return errors.Join(os.Remove(kubeconfig), hub.Close())
}
