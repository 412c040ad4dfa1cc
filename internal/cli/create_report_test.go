package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestNothingIsSaidOfWhatWasNotSeen where the service did not let the user look.
func TestNothingIsSaidOfWhatWasNotSeen(t *testing.T) {
	here(t)
	service := lab()
	service.fails = &model.Fault{Code: model.CodeAuth, Op: "find cluster", On: "lab", Err: errors.New("status 401: token expired"), Next: "get a new token"}
	for _, command := range []string{"create cluster", "add-node"} {
		got := run(t, service, "", append(strings.Fields(command), "-f", "cluster.yaml")...)
		if got.code != 4 || got.out != "" || !strings.Contains(got.errors, "token expired") {
			t.Errorf("%s: %+v", command, got)
		}
		got = run(t, service, "", append(strings.Fields(command), "-f", "cluster.yaml", "-o", "jsonpath={.state}")...)
		if got.code != 4 || got.out != "Unknown" {
			t.Errorf("%s, for a program: %+v", command, got)
		}
	}
	service.fails, service.clusters = nil, nil
	service.refuses = map[string]error{"act RegisterCluster": &model.Fault{Code: model.CodeInput, Permanent: true, Err: errors.New("no such version")}}
	if got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml"); got.code != 3 || !strings.Contains(got.out, "Absent") {
		t.Errorf("one that is seen not to be there: %+v", got)
	}
}
