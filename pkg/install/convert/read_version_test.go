package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestReadWantedVersion says a version beside an input that says one, too.
func TestReadWantedVersion(t *testing.T) {
	const set = "\n---\napiVersion: hive.openshift.io/v1\nkind: ClusterImageSet\nmetadata: {name: %s}\nspec: {releaseImage: 'quay.io/a/ocp-release:%s'}\n"
	objects := oneNode + oneMachine
	named := strings.Replace(objects, "openshift-v4.20.1", "img4.20.1-x86-64-appsub", 1)
	tests := []struct {
		name, objects, wanted string
		version               string // "" where it is refused
		lost                  string
	}{
		{"nothing", objects, "", "4.20.1", ""},
		{"the same", objects, "4.20.1", "4.20.1", ""},
		{"another", objects, "4.19.3", "4.19.3", "AgentClusterInstall/sno:spec.imageSetRef.name = openshift-v4.20.1: --openshift-version says 4.19.3"},
		{"the same as the set's", named, "4.20.1", "4.20.1", ""},
		{"another than the set's", named, "4.19.3", "", ""},
		{"a set that says none", strings.Replace(objects, "openshift-v4.20.1", "stable", 1), "4.19.3", "4.19.3", ""},
		{"another than the image's", strings.Replace(objects, "openshift-v4.20.1", "sno-release", 1) + fmt.Sprintf(set, "sno-release", "4.20.1-x86_64"), "4.19.3", "", ""},
		{"an image that says none", strings.Replace(objects, "openshift-v4.20.1", "sno-release", 1) + fmt.Sprintf(set, "sno-release", "newest"), "4.19.3", "4.19.3", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := convert.Read(t.Context(), "a.yaml", convert.Options{Data: []byte(test.objects), Version: test.wanted, Env: memory{}.env()})
			if test.version == "" {
				check.Says(t, err, "says which release is installed, 4.20.1, and --openshift-version 4.19.3 does not change that; take --openshift-version away")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, load(t, c).Spec.OpenShift.Version, test.version, "version")
			lost := ""
			for _, loss := range c.Losses {
				lost += fmt.Sprintf("%s = %v: %s", loss.Path, loss.Value, loss.Why)
			}
			check.Equal(t, lost, test.lost, "lost")
		})
	}
}
