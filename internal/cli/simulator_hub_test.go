package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// An API server on which no hub can be played is reported at once, with what to do; and nothing is written to it.
func TestHubNeedsItsKinds(t *testing.T) {
	const none = `{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`
	for name, test := range map[string]struct {
		serves string // what stands in the paths of the kinds that it has
		says   []string
	}{
		"nothing at all":    {"nothing", []string{"agents.agent-install.openshift.io", "clusterdeployments.hive.openshift.io", "Next: kubectl apply --server-side -f test/crds/manifests", "kubetest/serve"}},
		"agents alone":      {"/apis/agent-install.", []string{"does not serve clusterdeployments.hive.openshift.io, agentclusterinstalls"}},
		"all but InfraEnvs": {"s", []string{"does not serve infraenvs.agent-install.openshift.io\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				if !strings.Contains(r.URL.Path, test.serves) || strings.HasSuffix(r.URL.Path, "/infraenvs") {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, none)
			}))
			defer server.Close()
			got := run(t, nil, "", "simulator", "hub", "--kubeconfig", kubeconfigFor(t, server.URL), "-f", "../../examples/compact/cluster.yaml")
			if got.code != int(model.CodeFailure) || got.out != "" {
				t.Errorf("%d: %s", got.code, got.out)
			}
			for _, words := range test.says {
				if !strings.Contains(got.errors, words) {
					t.Errorf("%q is not in %s", words, got.errors)
				}
			}
		})
	}
}

func kubeconfigFor(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", url)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
