//go:build linux

package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// FuzzManifests: what is read of custom_manifests.json can be applied, or is an error.
func FuzzManifests(f *testing.F) {
	f.Add([]byte(`[{"Name":"odf","Content":"` + encoded(storageManifests) + `"}]`))
	f.Add([]byte(`[{"name":"a","content":"` + encoded("a: &a [*a]") + `"}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, content []byte) {
		manifests, err := readManifests(content)
		if err != nil {
			return
		}
		for _, m := range manifests {
			objects, err := m.objects()
			for _, o := range objects {
				if err == nil && (o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" || strings.Contains(o.GetName(), "/") || o.IsList()) {
					t.Errorf("%v", o)
				}
			}
		}
	})
}

// FuzzObjects reads YAML of manifests.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(storageManifests))
	f.Add([]byte("a: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		objects, err := kube.ReadObjects(content)
		if err == nil && len(objects) > kube.ObjectsLimit {
			t.Errorf("%d objects", len(objects))
		}
	})
}

// FuzzHosts reads hosts of the service and matches them with a Node of any name.
func FuzzHosts(f *testing.F) {
	f.Add([]byte(`[{"id":"5a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d11","infra_env_id":"5a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d11","status":"known",`+
		`"requested_hostname":"A","inventory":"{\"interfaces\":[{\"ipv4_addresses\":[\"10.0.0.1/24\"]}]}"}]`), "a", "10.0.0.1")
	f.Add([]byte(`[null,{"status":null}]`), "\x00", "::1%a")
	f.Fuzz(func(t *testing.T, content []byte, name, address string) {
		var cluster models.Cluster
		if json.Unmarshal(content, &cluster.Hosts) != nil {
			return
		}
		hosts, err := hostsOf(&cluster, models.HostStatusDisabled)
		if err != nil && (escape.Needed(strings.ReplaceAll(err.Error(), "\n", "")) || !utf8.ValidString(err.Error())) {
			t.Errorf("%q", err)
		}
		node := nodeOf(name, address, true)
		steps, unknown := planNodes(hosts, []kube.Node{node}, true)
		if len(steps)+len(unknown) > 1 {
			t.Errorf("%d steps, %d unknown", len(steps), len(unknown))
		}
	})
}

// FuzzOperators reads the ConfigMap of the agent-based installer.
func FuzzOperators(f *testing.F) {
	f.Add("a.metadata.yaml", "namespace: n\nmanifests: [b]", "b", "eA==")
	f.Fuzz(func(_ *testing.T, one, content, other, manifest string) {
		_, _, _ = readOperators(map[string]string{one: content, other: manifest})
	})
}
