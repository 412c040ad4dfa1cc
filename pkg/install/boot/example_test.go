package boot_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A rack is installed without a hand: its machines boot their discovery images through
// their BMCs. Here service, machines and BMCs are simulated, and an hour passes in seconds.
func Example() {
	ctx := context.Background()
	cluster, err := spec.Load(ctx, "../../../examples/redfish/cluster.yaml", spec.OSEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	passing := clock.Scaled(300)
	simulated, err := simulator.Start(ctx, simulator.Config{Clock: passing, Seed: 1, Cluster: cluster})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = simulated.Close() }()
	if err := installRack(ctx, cluster, simulated.URL(), simulated.BMCProxy(), passing); err != nil {
		fmt.Println(err, model.FaultOf(err).Next)
	}
	// Output: redfish is installed
}

// installRack installs a cluster on machines that are booted through their BMCs. Without
// a simulation, there is no clock to say, and as a rule no proxy.
func installRack(ctx context.Context, cluster *spec.Cluster, serviceURL, bmcProxy string, passing clock.Clock) error {
	folder, err := os.MkdirTemp("", "rack-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	service, err := rest.New(rest.Config{URL: serviceURL, Clock: passing})
	if err != nil {
		return err
	}
	proxy, err := url.Parse(bmcProxy)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // where BMCs read the images
	if err != nil {
		return err
	}
	desired := &model.Desired{Spec: cluster}
	machines, err := boot.Start(ctx, boot.Config{
		Service: service, Desired: desired, Listener: listener, Proxy: proxy, Clock: passing,
		KeyFile: filepath.Join(folder, "media.key"), Cache: filepath.Join(folder, "images"),
	})
	if err != nil {
		return err
	}
	defer func() { _ = machines.Close() }()
	files := install.Directory(folder)
	result, err := install.New(service, install.Config{Clock: passing, Files: files, Machines: machines}).Run(ctx, desired)
	if err == nil {
		fmt.Println(cluster.Metadata.Name, "is", result.Verdict)
	}
	return err
}
