package cli

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// TestDetachInserts registers a cluster first, and names what serves its images then: no BMC gets a URL at which no
// server answers. The same command inserts them.
func TestDetachInserts(t *testing.T) {
	file := must.Get(filepath.Abs("../../examples/redfish/cluster.yaml"))(t)
	cluster := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
	images := httptest.NewServer(http.NotFoundHandler()) // as a server with another key
	defer images.Close()
	service, proxy := newLive(t), bmcProxy(t, cluster)
	t.Chdir(t.TempDir())
	must.Do(t, os.Mkdir("redfish", 0o700))
	stale, err := serve.LoadKey(app.MediaKeyFile("redfish")) // of a cluster of that name that was deleted
	if err != nil {
		t.Fatal(err)
	}
	create := []string{"create", "cluster", "-f", file, "--detach", "--media-url", images.URL, "--bmc-proxy", proxy}
	first := runLive(t, service.URL, "", false, create...)
	next := "Next: oaictl iso serve -f " + file + " --listen " + images.URL[strings.LastIndex(images.URL, ":"):] + " --url " + images.URL + "\n"
	if first.code != 0 || !strings.Contains(first.errors, next) || !strings.Contains(first.errors, "oaictl "+strings.Join(create, " ")) || strings.Contains(first.errors, "insert") {
		t.Errorf("%d, without %q:\n%s", first.code, next, first.errors)
	}
	key, err := serve.LoadKey(app.MediaKeyFile("redfish"))
	if err != nil || bytes.Equal(key, stale) {
		t.Errorf("the images have the URLs of a cluster that is gone: %v", err)
	}
	images.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("an image"))
	})
	second := runLive(t, service.URL, "", false, create...)
	if second.code != 0 || !strings.Contains(second.errors, "insert the discovery image into the virtual drive of cp-0\n") {
		t.Errorf("once the images are served it ends with %d:\n%s", second.code, second.errors)
	}
	if again, err := serve.LoadKey(app.MediaKeyFile("redfish")); err != nil || !bytes.Equal(key, again) {
		t.Errorf("the key of a cluster that is there is another one: %v", err)
	}
}

// bmcProxy is the address through which the BMCs of a file are reached.
func bmcProxy(t *testing.T, cluster *spec.Cluster) string {
	t.Helper()
	bmcs := must.Get(simulator.NewBMCs(simulator.BootConfig{Clock: clock.Scaled(100), Cluster: cluster}))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- bmcs.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the BMCs: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}
