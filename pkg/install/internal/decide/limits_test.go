package decide

import (
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestPlaceOf(t *testing.T) {
	c := &spec.Cluster{}
	c.Spec.Hosts = []spec.Host{{Name: "cp-1"}, {Name: "cp-10"}, {Name: "cp-2"}}
	for _, test := range []struct {
		field string
		hosts []string
		want  string
	}{
		{"spec.network.vips.api", nil, "spec.network.vips.api"},
		{"spec.hosts[cp-10].disk.hints", nil, "spec.hosts[1].disk.hints"},
		{"spec.hosts[cp-1].disk.hints", nil, "spec.hosts[0].disk.hints"},
		{"spec.hosts[].disk", []string{"cp-2", "cp-10"}, "spec.hosts[1].disk"},
		{"spec.hosts[].disk", []string{"a stranger"}, "spec.hosts[].disk"},
		{"spec.hosts[gone].disk", nil, "spec.hosts[gone].disk"},
	} {
		if got := fieldByIndex(c, &model.Blocker{Field: test.field, Hosts: test.hosts}); got != test.want {
			t.Errorf("%s of %v stands at %s; want %s", test.field, test.hosts, got, test.want)
		}
	}
}
