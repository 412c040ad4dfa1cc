package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// The kubeconfig is searched for where kubectl searches for it, and its content is never printed.
func TestKubeconfigOfTheHome(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".kube", "config")
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"users: [{name: a, user: {client-key-data: bm90IHRvIGJlIHRvbGQ=, client-certificate-data: bm90IHRvIGJlIHRvbGQ=}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	k := &Kube{}
	k.readEnvironment(map[string]string{"HOME": home})
	config, err := k.Config()
	if err != nil || config.Host != "https://127.0.0.1:1" || !strings.HasPrefix(config.UserAgent, "oaictl/") {
		t.Fatalf("%v, %v", config, err)
	}
	check.Slice(t, k.Contexts(), []string{"a"})
	if _, err := connectHub(t.Context(), ClientConfig{Connection: Connection{Kube: *k}}); err == nil || strings.Contains(err.Error(), "told") {
		t.Errorf("a key that is none is taken: %v", err)
	}
}
