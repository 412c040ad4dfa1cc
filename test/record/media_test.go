//go:build e2e

package record

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	registryclient "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// media are the steps that the units of agent-based media run.
func media() []recorded {
	return []recorded{{"media/install", func(t *testing.T, r *recording) {
		s := newStage(t, r, "240")
		service := s.play(player, "simulator", "serve", "--listen", "127.0.0.1:0", "--speed", "240").until("http://")
		s.medium()
		x := &traffic{ids: s.ids}
		s.env = append(s.env, "SERVICE_BASE_URL="+x.proxy(t, service))
		for range 2 { // the second time there is nothing to do
			s.prints("agent", "register-cluster")
			s.prints("agent", "register-infraenv")
		}
		s.play(player, "simulator", "hosts", "--service-url", service, "-f", "manifests/machines.yaml", "--speed", "240")
		for range 2 {
			s.prints("agent", "configure-hosts")
			s.prints("agent", "start-install", "--poll-interval", "100ms")
		}
		s.conclude(x)
	}}}
}

// medium lays out the files that a medium has, and a registry with its release.
func (s *stage) medium() {
	s.t.Helper()
	images := mirror(s.t)
	at := func(name string) string { return filepath.Join(s.dir, name) }
	must.Do(s.t, os.CopyFS(at("manifests"), os.DirFS(filepath.Join("..", "..", "internal", "cli", "testdata", "agent"))))
	secret := `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz","email":"a@example.com"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}`
	for file, text := range map[string]string{
		"manifests/pull-secret.json":                 secret,
		"manifests/pull-secret.yaml":                 "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  .dockerconfigjson: " + base64.StdEncoding.EncodeToString([]byte(secret)) + "\n",
		"hostconfig/master-0/mac_addresses":          "52:54:00:AA:00:01\n",
		"hostconfig/master-0/role":                   "master\n",
		"hostconfig/master-0/root-device-hints.yaml": "deviceName: /dev/sda\n",
		"registries.conf":                            "[[registry]]\nlocation = \"quay.io/openshift-release-dev\"\nblocked = true\n[[registry.mirror]]\nlocation = \"" + images.Listener.Addr().String() + "/ocp\"\n",
		"registry-ca.pem":                            string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: images.Certificate().Raw})),
	} {
		write(s.t, at(file), []byte(text))
	}
	s.env = append(s.env,
		"CLUSTER_DEPLOYMENT_FILE="+at("manifests/cluster-deployment.yaml"), "AGENT_CLUSTER_INSTALL_FILE="+at("manifests/agent-cluster-install.yaml"),
		"INFRA_ENV_FILE="+at("manifests/infraenv.yaml"), "PULL_SECRET_FILE="+at("manifests/pull-secret.yaml"),
		"CLUSTER_IMAGE_SET_FILE="+at("manifests/cluster-image-set.yaml"), "NMSTATE_CONFIG_FILE="+at("manifests/nmstateconfig.yaml"),
		"OPERATOR_INSTALL_FILE="+at("manifests/operators.yaml"), "EXTRA_MANIFESTS_PATH="+at("extra"), "HOST_CONFIG_DIR="+at("hostconfig"),
		"CLUSTER_CONFIG_DIR="+at("clusterconfig"), "CONTAINERS_REGISTRIES_CONF="+at("registries.conf"), "OAICTL_REGISTRY_CA_FILE="+at("registry-ca.pem"),
		"OAICTL_CLIENT_CONFIG="+at("client_config"), "OAICTL_FAILURES_FILE="+at("host-config-failures"),
	)
}

// mirror is a registry behind TLS that has the release.
func mirror(t *testing.T) *httptest.Server {
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
