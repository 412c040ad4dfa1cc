package rest_test

import (
	"context"
	"fmt"
	"os"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A cluster is installed, from its file to the kubeconfig. Here service and machines are
// simulated, and an hour passes in seconds.
func Example_install() {
	ctx := context.Background()
	const file = "../../../examples/compact/cluster.yaml"
	cluster, err := spec.Load(ctx, file, spec.OSEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	passing := clock.Scaled(1200)
	simulated, err := simulator.Start(ctx, simulator.Config{Clock: passing, Seed: 1, Cluster: cluster})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = simulated.Close() }()
	folder, err := os.MkdirTemp("", "results-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := installCluster(ctx, file, simulated.URL(), folder, passing); err != nil {
		fmt.Println(err, model.FaultOf(err).Next)
	}
	// Output: compact is installed
}

// installCluster installs what a file says, and leaves the results in a folder. Without a
// simulation, there is no clock to say.
func installCluster(ctx context.Context, file, serviceURL, folder string, passing clock.Clock) error {
	cluster, err := spec.Load(ctx, file, spec.OSEnv())
	if err != nil {
		return err // every mistake of the file, with its line
	}
	service, err := rest.New(rest.Config{URL: serviceURL, Clock: passing})
	if err != nil {
		return err
	}
	client := install.New(service, install.Config{Files: install.Directory(folder), Clock: passing,
		Events: func(e model.Event) { fmt.Fprintln(os.Stderr, e.Message) }})
	if _, err := client.Run(ctx, &model.Desired{Spec: cluster}); err != nil {
		return err // why it is not installed: see model.FaultOf
	}
	fmt.Println(cluster.Metadata.Name, "is installed")
	return nil
}
