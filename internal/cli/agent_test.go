package cli

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	registryclient "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// mediaService is the service that a script's medium brings along.
type mediaService struct {
	url    string
	clock  clock.Clock
	users  *auth.Service
	writes atomic.Int64 // requests of clients that change something
}

type mediaKey struct{}

// TestAgentScripts runs the scripts of agent-based media: each with a service, a
// registry with the release, and a folder like a medium's.
func TestAgentScripts(t *testing.T) {
	manifests := must.Get(filepath.Abs("testdata/agent"))(t)
	images := mirrorOfReleases(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script-agent", UpdateScripts: *updateScripts, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error { return setUpMedium(t, env, manifests, images) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			// wrote N: so many writes reached the service since the last wrote.
			"wrote": func(ts *testscript.TestScript, _ bool, arguments []string) {
				want, err := strconv.ParseInt(arguments[0], 10, 64)
				ts.Check(err)
				if got := ts.Value(mediaKey{}).(*mediaService).writes.Swap(0); got != want {
					ts.Fatalf("%d writes, not %d", got, want)
				}
			},
			// boot DAY: the machines are switched on.
			"boot": func(ts *testscript.TestScript, _ bool, arguments []string) {
				bootMedium(ts, ts.Value(mediaKey{}).(*mediaService), host.BootDay(arguments[0]))
			},
		},
	})
}

// mirrorOfReleases is a registry behind TLS that stands in for quay.io.
func mirrorOfReleases(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image := must.Get(mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: "amd64", OS: "linux", Config: v1.Config{Labels: map[string]string{"io.openshift.release": "4.20.33"}},
	}))(t)
	tag := must.Get(name.NewTag(server.Listener.Addr().String() + "/ocp/ocp-release:4.20.33-x86_64"))(t)
	must.Do(t, registryclient.Write(tag, image, registryclient.WithTransport(server.Client().Transport), registryclient.WithContext(t.Context())))
	return server
}

func setUpMedium(t *testing.T, env *testscript.Env, manifests string, images *httptest.Server) error {
	t.Helper()
	m, token := startMediaService(t, env)
	if err := os.CopyFS(filepath.Join(env.WorkDir, "manifests"), os.DirFS(manifests)); err != nil {
		return err
	}
	secret := `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz","email":"a@example.com"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}`
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: images.Certificate().Raw})
	conf := "[[registry]]\nlocation = \"quay.io/openshift-release-dev\"\nblocked = true\n[[registry.mirror]]\nlocation = \"" + images.Listener.Addr().String() + "/ocp\"\n"
	for file, text := range map[string]string{
		"manifests/pull-secret.json": secret,
		"manifests/pull-secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  .dockerconfigjson: " + base64.StdEncoding.EncodeToString([]byte(secret)) + "\n",
		"registries.conf":            conf, "registry-ca.pem": string(ca),
	} {
		if err := os.WriteFile(filepath.Join(env.WorkDir, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	at := func(name string) string { return filepath.Join(env.WorkDir, name) }
	for variable, value := range map[string]string{
		"SERVICE_BASE_URL": m.url, "USER_AUTH_TOKEN": token, "XDG_CONFIG_HOME": at("config"), "NO_PROXY": "*",
		"CLUSTER_DEPLOYMENT_FILE": at("manifests/cluster-deployment.yaml"), "AGENT_CLUSTER_INSTALL_FILE": at("manifests/agent-cluster-install.yaml"),
		"INFRA_ENV_FILE": at("manifests/infraenv.yaml"), "PULL_SECRET_FILE": at("manifests/pull-secret.yaml"),
		"CLUSTER_IMAGE_SET_FILE": at("manifests/cluster-image-set.yaml"), "NMSTATE_CONFIG_FILE": at("manifests/nmstateconfig.yaml"),
		"OPERATOR_INSTALL_FILE": at("manifests/operators.yaml"), "EXTRA_MANIFESTS_PATH": at("extra"), "HOST_CONFIG_DIR": at("hostconfig"),
		"CLUSTER_CONFIG_DIR": at("clusterconfig"), "CONTAINERS_REGISTRIES_CONF": at("registries.conf"), "OAICTL_REGISTRY_CA_FILE": at("registry-ca.pem"),
		"OAICTL_CLIENT_CONFIG": at("client_config"), "OAICTL_FAILURES_FILE": at("host-config-failures"),
	} {
		env.Setenv(variable, value)
	}
	return nil
}

// startMediaService also gives a token for it.
func startMediaService(t *testing.T, env *testscript.Env) (*mediaService, string) {
	t.Helper()
	m := &mediaService{clock: clock.Scaled(300)}
	service := must.Get(simulator.NewService(simulator.ServiceConfig{Clock: m.clock, Seed: 1, PublicURL: func() string { return m.url }}, auth.AgentInstallerLocal))(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && strings.HasPrefix(r.UserAgent(), "oaictl/") {
			m.writes.Add(1)
		}
		service.ServeHTTP(w, r)
	}))
	m.url, m.users = server.URL, service.Callers()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = service.Run(ctx) }) // ends with its context
	env.Defer(func() { stop(); group.Wait(); server.CloseClientConnections(); server.Close() })
	env.Values[mediaKey{}] = m
	token := must.Get(m.users.Mint(auth.Grant{Scheme: auth.UserAuth}))(t)
	return m, token
}

func bootMedium(ts *testscript.TestScript, m *mediaService, day host.BootDay) {
	ctx, stop := context.WithCancel(context.Background())
	cluster, err := spec.Load(ctx, ts.MkAbs("manifests/machines.yaml"), spec.OSEnv())
	ts.Check(err)
	agent, err := m.users.Mint(auth.Grant{Scheme: auth.AgentAuth})
	ts.Check(err)
	var group sync.WaitGroup
	group.Go(func() {
		_ = simulator.Boot(ctx, simulator.BootConfig{ // ends with its context
			ServiceURL: m.url, Clock: m.clock, Seed: 1, Cluster: cluster, Day: day, UserToken: ts.Getenv("USER_AUTH_TOKEN"), HostToken: agent,
		})
	})
	ts.Defer(func() { stop(); group.Wait() })
}
