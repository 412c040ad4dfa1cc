package kubetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// DocumentedRole is what a file in docs, such as hub-role.yaml, allows: in a namespace
// by its Roles, and in the hub as a whole by its ClusterRoles.
func DocumentedRole(t testing.TB, file string) (within, wide []rbacv1.PolicyRule) {
	t.Helper()
	tree, err := root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(tree, "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var object struct {
			Kind  string              `json:"kind"`
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		err := decoder.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			if len(wide) == 0 {
				t.Fatalf("docs/%s has no ClusterRole", file)
			}
			return within, wide
		case err != nil:
			t.Fatalf("reading docs/%s: %v", file, err)
		case object.Kind == "Role":
			within = append(within, object.Rules...)
		case object.Kind == "ClusterRole":
			wide = append(wide, object.Rules...)
		}
	}
}
