package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestNothingFoundIsNoData keeps the words for an empty list off standard
// output, and gives programs an empty list.
func TestNothingFoundIsNoData(t *testing.T) {
	for line, says := range map[string]string{"get clusters": "no clusters\n", "get hosts": "no hosts\n", "get infraenvs": "no InfraEnvs\n", "get events lab": "no events\n", "get validations lab": "every check passes\n"} {
		service := lab()
		if !strings.HasSuffix(line, "lab") {
			service.clusters = nil
		} else {
			service.clusters[0].Validations = nil
		}
		service.hosts, service.infraEnvs, service.events = nil, nil, nil
		if got := run(t, service, "", strings.Fields(line)...); got.code != 0 || got.out != "" || got.errors != says {
			t.Errorf("%s: %+v", line, got)
		}
		if got := run(t, service, "", append(strings.Fields(line), "-o", "json")...); got.out != "{\n  \"items\": []\n}\n" || got.errors != "" {
			t.Errorf("%s -o json: %+v", line, got)
		}
	}
}

// noArbiter is a service whose cluster has no arbiter.
type noArbiter struct {
	*fake
	status int
}

func (n noArbiter) DownloadIgnition(ctx context.Context, cluster, file string, out io.Writer) error {
	if file == "arbiter.ign" {
		return &model.Fault{Code: model.CodeFailure, Op: "download", On: file, Status: n.status, Err: errors.New("no such file")}
	}
	return n.fake.DownloadIgnition(ctx, cluster, file, out)
}

// TestIgnitionWithoutArbiter leaves out the file that the cluster does not have,
// and hides no other failure.
func TestIgnitionWithoutArbiter(t *testing.T) {
	t.Chdir(t.TempDir())
	for status, code := range map[int]int{404: 0, 409: 0, 400: 0, 422: 0, 403: 1, 500: 1} {
		got := run(t, noArbiter{lab(), status}, "", "download", "ignition", "lab", "-o", "name")
		if got.code != code || code == 0 && strings.Count(got.out, "\n") != 3 {
			t.Errorf("%d: %+v", status, got)
		}
	}
}
