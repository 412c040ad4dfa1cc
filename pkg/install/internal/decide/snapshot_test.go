package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestMatchNamesHosts(t *testing.T) {
	machine := func(id, hostname, mac string) model.Host {
		return model.Host{ID: id, Hostname: hostname, ClusterID: "c1", State: model.HostReady, Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: mac}}}}
	}
	cluster := &spec.Cluster{Spec: spec.ClusterSpec{Hosts: []spec.Host{
		{Name: "cp-0", Role: spec.ControlPlane, Match: spec.Match{MAC: "52:54:00:00:00:01"}},
		{Name: "cp-1", Role: spec.ControlPlane, Match: spec.Match{MAC: "52:54:00:00:00:02"}},
		{Name: "w-0", Match: spec.Match{MAC: "52-54-00-00-00-03"}},
	}}}
	observed := &model.Observed{
		Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "c1"}},
		Hosts: []model.Host{
			machine("stranger", "cp-0", "52:54:00:00:00:99"), // only called so
			machine("third", "localhost", "52:54:00:00:00:03"),
			machine("first", "localhost", "52:54:00:00:00:01"),
			machine("double", "localhost", "52:54:00:00:00:01"),
		},
	}
	type line struct {
		Name, ID string
		Role     spec.Role
	}
	var got []line
	for _, h := range NewSnapshot(&model.Desired{Spec: cluster}, observed).Hosts() {
		l := line{Name: h.Name, Role: h.Role}
		if h.Host != nil {
			l.ID = h.Host.ID
		}
		got = append(got, l)
	}
	want := []line{
		{"cp-0", "first", spec.ControlPlane}, {"cp-1", "", spec.ControlPlane}, {"w-0", "third", ""},
		{"", "stranger", ""}, {"", "double", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
