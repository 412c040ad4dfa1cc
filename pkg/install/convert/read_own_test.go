package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestReadWhatOaictlMakes: what oaictl writes into every cluster's objects, or did formerly,
// is no loss, and no choice of the file.
func TestReadWhatOaictlMakes(t *testing.T) {
	const set = "\n---\napiVersion: hive.openshift.io/v1\nkind: ClusterImageSet\nmetadata: {name: %s}\nspec: {releaseImage: 'quay.io/a/ocp-release:4.20.1-x86_64'}\n"
	preserved := func(word string) string {
		return strings.Replace(oneNode+oneMachine, "clusterName: sno,", "clusterName: sno, preserveOnDelete: "+word+",", 1)
	}
	released := func(name string) string {
		return strings.Replace(oneNode+oneMachine, "openshift-v4.20.1", name, 1) + fmt.Sprintf(set, name)
	}
	for name, test := range map[string]struct{ objects, imageSet, lost string }{
		"its nodes run on":    {objects: preserved("true")},
		"they do not":         {objects: preserved("false"), lost: "ClusterDeployment/sno:spec.preserveOnDelete = false: is true for every cluster that oaictl makes"},
		"its image set":       {objects: released("place.sno-release")},
		"its former one":      {objects: released("sno-release")},
		"that of another one": {objects: released("place.other-release"), imageSet: "place.other-release"},
	} {
		t.Run(name, func(t *testing.T) {
			c := must.Get(convert.Read(t.Context(), "a.yaml", convert.Options{Data: []byte(test.objects), Env: memory{}.env()}))(t)
			check.Equal(t, load(t, c).Spec.OpenShift.ImageSet, test.imageSet, "imageSet")
			lost := ""
			for _, loss := range c.Losses {
				lost += fmt.Sprintf("%s = %v: %s", loss.Path, loss.Value, loss.Why)
			}
			check.Equal(t, lost, test.lost, "lost")
		})
	}
}
