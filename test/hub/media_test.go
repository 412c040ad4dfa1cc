package hub

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// remote is what every plane can do beside installing.
type remote interface {
	install.Service
	ClusterByNameOrID(ctx context.Context, text string) (install.ClusterRef, error)
	DeleteCluster(ctx context.Context, clusterID string) error
	ListInfraEnvs(ctx context.Context, clusterID string) ([]install.InfraEnv, error)
	ListHosts(ctx context.Context, infraEnvID string) ([]install.Host, error)
	DownloadISOURL(ctx context.Context, infraEnvID string) (address string, expires time.Time, err error)
	DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error
	OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error)
}

// machines are the options for a file whose machines boot through their BMCs,
// none for others.
func (x *site) machines(t testing.TB, plane remote) []install.Option {
	t.Helper()
	proxy := x.service.BMCProxy()
	if proxy == "" {
		return nil
	}
	through, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewUnstartedServer(nil)
	server, err := serve.New(serve.Config{Key: []byte("0123456789abcdef"), URL: "http://" + listener.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	listener.Config.Handler = server
	listener.Start()
	t.Cleanup(listener.Close)
	source := discovery{plane: plane, cluster: x.cluster}
	images, err := machine.NewImages(machine.ImagesConfig{Spec: x.cluster, Server: server, Base: source.base, Ignition: source.ignition, Networks: source.networks})
	if err != nil {
		t.Fatal(err)
	}
	return []install.Option{install.WithMachines(machine.New(machine.Config{Media: images, Proxy: through, Clock: x.time}))}
}

// discovery is what a plane has of the media of a cluster with one InfraEnv.
type discovery struct {
	plane   remote
	cluster *spec.Cluster
}

func (d discovery) infraEnv(ctx context.Context) (string, error) {
	ref, err := d.plane.ClusterByNameOrID(ctx, d.cluster.Metadata.Name)
	if err != nil {
		return "", err
	}
	list, err := d.plane.ListInfraEnvs(ctx, ref.ID)
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", errors.New("there is not one InfraEnv")
	}
	return list[0].ID, nil
}

func (d discovery) base(ctx context.Context) (*iso.Base, error) {
	env, err := d.infraEnv(ctx)
	if err != nil {
		return nil, err
	}
	address, _, err := d.plane.DownloadISOURL(ctx, env)
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
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return iso.OpenReader("the service's image", bytes.NewReader(content), int64(len(content)))
}

func (d discovery) ignition(ctx context.Context, _ string) ([]byte, error) {
	env, err := d.infraEnv(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = d.plane.DownloadInfraEnvFile(ctx, env, "discovery.ign", &out)
	return out.Bytes(), err
}

func (d discovery) networks(ctx context.Context, _ string) ([]install.StaticNetwork, error) {
	ref, err := d.plane.ClusterByNameOrID(ctx, d.cluster.Metadata.Name)
	if err != nil {
		return nil, err
	}
	list, err := d.plane.ListInfraEnvs(ctx, ref.ID)
	if err != nil || len(list) != 1 {
		return nil, errors.Join(err, errors.New("there is not one InfraEnv"))
	}
	var networks []install.StaticNetwork
	if value, said := list[0].Settings[install.SetStaticNetwork]; said {
		err = value.Decode(&networks)
	}
	return networks, err
}
