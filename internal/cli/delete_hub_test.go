package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// onAHub is a hub, which deletes InfraEnvs with their cluster.
func onAHub() *fake {
	service := lab()
	service.refuses = map[string]error{
		"delete infraenv": &model.Fault{Code: model.CodeNotFound, Status: http.StatusNotFound, Permanent: true, Err: errors.New("none of that name")},
	}
	return service
}

func TestDeleteOnAHub(t *testing.T) {
	here(t)
	tests := []struct {
		line  string
		code  int
		calls string
		says  string
	}{
		{"delete cluster lab --backend hub --yes", 0, "delete cluster c1, delete infraenv e1", "Waiting for the hub's controllers"},
		{"delete cluster -f cluster.yaml --backend hub --yes", 0, "delete cluster c1, delete infraenv e1", ""},
		{"delete cluster lab --backend hub --orphan --yes", 0, "release c1", ""},
		{"delete cluster lab --backend hub --orphan", 2, "", "release the objects of cluster lab.example.com"},
		{"delete cluster lab --backend hub --return-to-pool", 2, "", "the cluster stops"},
		{"delete cluster lab --backend hub --return-to-pool --yes", 0, "return cluster c1, delete infraenv e1", "boot into the discovery image"},
		{"delete cluster lab --backend hub --return-to-pool --orphan --yes", 2, "", "cannot be used together"},
		{"delete cluster lab --return-to-pool --yes", 2, "", "--return-to-pool needs --backend hub"},
		{"delete cluster lab --orphan --yes", 2, "", "--orphan needs --backend hub"},
	}
	for _, tt := range tests {
		service := onAHub()
		got := run(t, service, "", strings.Fields(tt.line)...)
		if calls := strings.Join(service.calls, ", "); got.code != tt.code || calls != tt.calls || !strings.Contains(got.errors, tt.says) {
			t.Errorf("%s: code %d, %s\n%s", tt.line, got.code, calls, got.errors)
		}
	}
}

// What becomes of a node that runs is printed before the user is asked.
func TestDeleteHostThatRuns(t *testing.T) {
	tests := []struct {
		line  string
		state model.HostState
		role  spec.Role
		code  int
		calls string
		says  string
	}{
		{"delete host node-1 --backend hub", model.HostInstalled, spec.Worker, 2, "", "The node node-1 continues to run; only the hub deletes its record of it."},
		{"delete host node-1 --backend hub --yes", model.HostAdded, spec.Worker, 0, "delete host e1 h1", "continues to run"},
		{"delete host node-1 --yes", model.HostInstalled, spec.Worker, 0, "delete host e1 h1", "only the service deletes its record of it"},
		{"delete host node-1 --backend hub --remove-node --yes", model.HostInstalled, spec.ControlPlane, 0, "remove host e1 h1", "of the control plane, is removed from its cluster"},
		{"delete host node-1 --backend hub --remove-node", model.HostInstalled, spec.Worker, 2, "", "is removed from its cluster"},
		{"delete host node-1 --remove-node --yes", model.HostInstalled, spec.Worker, 2, "", "--remove-node needs --backend hub"},
	}
	for _, tt := range tests {
		service := lab()
		service.hosts[0].State, service.hosts[0].Role = tt.state, tt.role
		got := run(t, service, "", strings.Fields(tt.line)...)
		if calls := strings.Join(service.calls, ", "); got.code != tt.code || calls != tt.calls || !strings.Contains(got.errors, tt.says) {
			t.Errorf("%s: code %d, %s\n%s", tt.line, got.code, calls, got.errors)
		}
	}
}

// What an earlier deletion did not get to is deleted by the file alone.
func TestDeleteWhatIsLeftOnAHub(t *testing.T) {
	here(t)
	for says, left := range map[string]int{
		"cluster lab deleted, with its remaining objects\n": 1,
		"cluster lab not there: nothing was deleted\n":      0,
	} {
		service := onAHub()
		service.clusters, service.left = nil, left
		got := run(t, service, "", "delete", "cluster", "-f", "cluster.yaml", "--backend", "hub", "-n", "elsewhere", "--yes")
		if got.code != 0 || got.out != says || strings.Contains(got.errors, "Waiting") || !slices.Contains(service.calls, "delete cluster elsewhere/lab") {
			t.Errorf("%+v, %v", got, service.calls)
		}
	}
	rest := lab()
	rest.clusters = nil
	if got := run(t, rest, "", "delete", "cluster", "-f", "cluster.yaml", "--yes"); got.code != 5 || len(rest.calls) > 0 ||
		!strings.Contains(got.errors, "find cluster lab.example.com: there is none that oaictl made, and nothing was deleted\n") {
		t.Errorf("over REST: %+v, %v", got, rest.calls)
	}
}

// leaving is a hub with interrupted deletions.
type leaving struct {
	*fake
	left     map[string]model.ClusterRef // by what a person calls it
	deleting bool                        // what is observed is being deleted
	hub      bool
}

func (l *leaving) MayDelete(ref model.ClusterRef) error {
	if !l.hub {
		return nil
	}
	return (*hub.Plane)(nil).MayDelete(ref)
}

func (l *leaving) ClusterLeft(_ context.Context, text string) (model.ClusterRef, error) {
	ref, found := l.left[text]
	if !found {
		return ref, app.NotFound("find cluster", text, "the hub has none", "{get clusters}")
	}
	return ref, nil
}

func (l *leaving) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	if l.deleting {
		return nil, &model.Fault{Code: model.CodeFailure, Err: fmt.Errorf("its ClusterDeployment %w", install.ErrDeleting)}
	}
	return l.fake.Observe(ctx, query, prior)
}

// A deletion goes on with what an earlier one left, by name and by file, and leaves
// what is not oaictl's.
func TestDeleteGoesOnOnAHub(t *testing.T) {
	here(t)
	going := model.ClusterRef{ID: "lab/lab", Name: "lab", Owned: true, Status: "Deleting"}
	tests := []struct {
		name     string
		line     string
		clusters bool
		deleting bool
		left     map[string]model.ClusterRef
		code     int
		calls    string
		says     string
	}{
		{"being deleted, by name", "delete cluster lab --backend hub --yes", true, true, map[string]model.ClusterRef{"lab": going}, 0, "delete cluster lab/lab", "lab/lab"},
		{"being deleted, by file", "delete cluster -f cluster.yaml --backend hub --yes", true, true, map[string]model.ClusterRef{"lab/lab": going}, 0, "delete cluster lab/lab", "lab/lab"},
		{"gone but for some objects", "delete cluster lab --backend hub", false, false, map[string]model.ClusterRef{"lab": {ID: "lab/lab", Name: "lab", Owned: true, Status: "left: Secret"}}, 2, "", "lab/lab, left: Secret"},
		{"gone", "delete cluster lab --backend hub --yes", false, false, nil, 5, "", "none of that name"},
		{"not ours", "delete cluster other --backend hub", true, false, nil, 5, "", "--adopt c2"},
		{"over REST", "delete cluster other --yes", true, false, nil, 0, "delete cluster c2", "The nodes of other.example.org continue to run; only the service deletes its records of them."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service := &leaving{fake: lab(), left: tt.left, deleting: tt.deleting, hub: strings.Contains(tt.line, "--backend hub")}
			if !tt.clusters {
				service.clusters = nil
			}
			got := run(t, service, "", strings.Fields(tt.line)...)
			if calls := strings.Join(service.calls, ", "); got.code != tt.code || calls != tt.calls || !strings.Contains(got.errors, tt.says) {
				t.Errorf("code %d, %s\n%s", got.code, calls, got.errors)
			}
		})
	}
}

// The user is not asked whether to do what a hub cannot.
func TestCancelOnAHub(t *testing.T) {
	for _, verb := range []string{"cancel", "reset"} {
		service := lab()
		service.refuses = map[string]error{verb + " c1": &model.Fault{Code: model.CodeUsage, Permanent: true, Err: errors.New("a hub has no such thing")}}
		if got := run(t, service, "", verb, "lab", "--backend", "hub"); got.code != 2 || strings.Contains(got.errors, "--yes") || !strings.Contains(got.errors, "no such thing") {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}
