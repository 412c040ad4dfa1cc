package real

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// remote is what every plane can do beside installing.
type remote interface {
	install.Service
	ClusterByNameOrID(ctx context.Context, text string) (install.ClusterRef, error)
	CancelInstall(ctx context.Context, clusterID string) error
	ResetInstall(ctx context.Context, clusterID string) error
	DeleteCluster(ctx context.Context, clusterID string) error
	ListInfraEnvs(ctx context.Context, clusterID string) ([]install.InfraEnv, error)
	DownloadISOURL(ctx context.Context, infraEnvID string) (address string, expires time.Time, err error)
	DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error
	OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error)
}

// boot switches the machines of the cluster on, once after is closed, each as soon as
// there is an image for it. They run until the test's end.
func (x *site) boot(t testing.TB, day host.BootDay, after <-chan struct{}, bmcs *bmc.Server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	config := simulator.BootConfig{
		ServiceURL: x.wire.base, HTTPClient: x.wire.client, Clock: x.machines, Seed: x.seed, Scenario: x.scenario, Cluster: x.cluster,
		Day: day, HostToken: x.hostToken, BMCs: bmcs,
	}
	config.UserToken = userToken(t, x.auth)
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-after:
		case <-ctx.Done():
			return
		}
		if err := simulator.Boot(ctx, config); err != nil && ctx.Err() == nil {
			t.Errorf("the machines: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// userToken is what a user's request carries.
func userToken(t testing.TB, auth rest.TokenSource) string {
	t.Helper()
	if auth == nil {
		return ""
	}
	name, value, err := auth.Header(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.EqualFold(name, "Authorization") {
		return ""
	}
	return value
}

// now is for machines that boot at once.
func now() <-chan struct{} {
	past := make(chan struct{})
	close(past)
	return past
}

// lateness is six passes of the service's monitor over a cluster without machines.
const latePasses = 6

// late is for machines that boot when the service has looked at the empty cluster again
// and again, from the time that there is an image: what it empties, or derives from
// machines, it has emptied by then. Events of the run go to the returned function.
func (x *site) late(t testing.TB) (after <-chan struct{}, hear func(install.Event)) {
	t.Helper()
	boot := make(chan struct{})
	var once sync.Once
	return boot, func(e install.Event) {
		if e.Type != install.EventAction || e.Reason != string(install.RegisterInfraEnv) || e.State != "done" {
			return
		}
		once.Do(func() {
			go func() {
				interval := stockMonitor
				if !x.simulated() {
					interval = x.monitor
				}
				if x.time.Sleep(t.Context(), latePasses*interval) == nil {
					close(boot)
				}
			}()
		})
	}
}

// controllers are the BMCs of a file whose machines boot through them, and how a run
// reaches them; none for others.
func (x *site) controllers(t testing.TB, plane remote) (*bmc.Server, []install.Option) {
	t.Helper()
	bmcs, err := simulator.NewBMCs(simulator.BMCConfig{Clock: x.machines, Seed: x.seed, Scenario: x.scenario, Cluster: x.cluster})
	if err != nil {
		t.Fatal(err)
	}
	if bmcs == nil {
		return nil, nil
	}
	doors, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = bmcs.Serve(ctx, doors) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	listener := httptest.NewUnstartedServer(nil)
	server, err := serve.New(serve.Config{Key: []byte("0123456789abcdef"), URL: "http://" + listener.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	listener.Config.Handler = server
	listener.Start()
	t.Cleanup(listener.Close)
	source := discovery{plane: plane, cluster: x.cluster, folder: t.TempDir()}
	images, err := machine.NewImages(machine.ImagesConfig{Spec: x.cluster, Server: server, Base: source.base, Ignition: source.ignition, Networks: source.networks})
	if err != nil {
		t.Fatal(err)
	}
	proxy := &url.URL{Scheme: "http", Host: doors.Addr().String()}
	return bmcs, []install.Option{install.WithMachines(machine.New(machine.Config{Media: images, Proxy: proxy, Clock: x.time}))}
}

// discovery is what a plane has of the media of a cluster with one InfraEnv.
type discovery struct {
	plane   remote
	cluster *spec.Cluster
	folder  string
}

func (d discovery) infraEnv(ctx context.Context) (install.InfraEnv, error) {
	ref, err := d.plane.ClusterByNameOrID(ctx, d.cluster.Metadata.Name)
	if err != nil {
		return install.InfraEnv{}, err
	}
	list, err := d.plane.ListInfraEnvs(ctx, ref.ID)
	if err != nil {
		return install.InfraEnv{}, err
	}
	if len(list) != 1 {
		return install.InfraEnv{}, errors.New("there is not one InfraEnv")
	}
	return list[0], nil
}

func (d discovery) base(ctx context.Context) (*iso.Base, error) {
	env, err := d.infraEnv(ctx)
	if err != nil {
		return nil, err
	}
	address, _, err := d.plane.DownloadISOURL(ctx, env.ID)
	if err != nil {
		return nil, err
	}
	// An operator makes minimal images where nothing is said, and the image service
	// has the full one of each, which brings its root file system along.
	body, _, err := d.plane.OpenISO(ctx, strings.Replace(address, "/minimal.iso", "/full.iso", 1), 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	path := filepath.Join(d.folder, "discovery.iso")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(file, body); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return iso.Open(path)
}

func (d discovery) ignition(ctx context.Context, _ string) ([]byte, error) {
	env, err := d.infraEnv(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = d.plane.DownloadInfraEnvFile(ctx, env.ID, "discovery.ign", &out)
	return out.Bytes(), err
}

func (d discovery) networks(ctx context.Context, _ string) ([]install.StaticNetwork, error) {
	env, err := d.infraEnv(ctx)
	if err != nil {
		return nil, err
	}
	var networks []install.StaticNetwork
	if value, said := env.Settings[install.SetStaticNetwork]; said {
		err = value.Decode(&networks)
	}
	return networks, err
}
