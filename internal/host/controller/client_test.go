//go:build linux

package controller

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestRealClient: by the client that the program has, the controller ends as it should once the service does not have the
// cluster any more, or does not accept the token.
func TestRealClient(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusUnauthorized} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w := newWorld(t, "m-1")
			var gone atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				withHosts := r.URL.Query().Get("exclude-hosts") == "false"
				if r.Method != http.MethodGet || gone.Load() {
					out.WriteHeader(status)
					return
				}
				gone.Store(withHosts) // the first look at nodes
				cluster := must.Get(w.service.Cluster(r.Context(), clusterID, withHosts))(t)
				check.Do(t, json.NewEncoder(out).Encode(cluster))
			}))
			defer server.Close()
			w.env["INVENTORY_URL"] = server.URL
			fast := clock.Scaled(1000)
			log := slog.New(slog.NewTextHandler(w.log, nil))
			code := Program{
				Getenv: func(name string) string { return w.env[name] }, Files: hostfile.Files{Root: w.root}, Temporary: w.temp, Runner: w.runner,
				Clock: fast, Log: log, Recent: w.log.Bytes, Connect: w.api.Connect,
				Service: func(a Access) (Service, error) {
					return service.New(service.Config{URL: a.URL, Token: a.Token, Log: log, Clock: fast})
				},
			}.Run(t.Context())
			check.Equal(t, code, ExitDone)
			check.Contains(t, w.text(), "given up")
			check.Equal(t, w.service.status(), models.ClusterStatusInstalling)
			if strings.Contains(w.text(), "uploading the last logs") {
				t.Error("logs were uploaded")
			}
		})
	}
}
