package convert_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/test/sample"
)

// TestWorkersOfASingleNode are in no file that it is installed by, and told as lost
// by their places in the file.
func TestWorkersOfASingleNode(t *testing.T) {
	c := sample.Parse(t, sample.LaterWorker)
	for name, write := range formats() {
		text, lost := write(t, c, convert.Options{Secrets: true})
		if strings.Contains(text, "later") || strings.Contains(text, "52:54:00:00:00:01") {
			t.Errorf("%s has the worker:\n%s", name, text)
		}
		var paths []string
		for _, loss := range lost {
			paths = append(paths, loss.Path)
		}
		for _, path := range []string{"spec.topology.workers", "spec.hosts[0]"} {
			if !slices.Contains(paths, path) {
				t.Errorf("%s does not tell that %s is lost: %v", name, path, paths)
			}
		}
		if labels := slices.Contains(paths, "spec.hosts[1].labels"); labels != (name != "clusterinstance") || slices.Contains(paths, "spec.hosts[0].labels") {
			t.Errorf("%s names the wrong host: %v", name, paths)
		}
	}
}
