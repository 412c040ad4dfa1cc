package simulator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
)

// TestStages checks the lines that a user sees about the machines.
func TestStages(t *testing.T) {
	machine := func(env string) host.Machine { return host.Machine{InfraEnvID: env} }
	controlled := host.Machine{Chassis: &bmc.System{}}
	list := []infraEnv{{ID: "1", Name: "lab"}, {ID: "2", Name: "lab-arm"}}
	for _, tc := range []struct {
		name     string
		machines []host.Machine
		happens  string // the names of machines that register, or that end with a minus before them
		want     []string
	}{
		{"one", []host.Machine{machine("1")}, "a -a", []string{"Found the InfraEnv lab: 1 machine boots its image", "1 machine is registered", "a is gone"}},
		{"two InfraEnvs", []host.Machine{machine("1"), machine("2"), machine("1")}, "a b c", []string{"Found the InfraEnv lab and lab-arm: 3 machines boot its image", "3 machines are registered"}},
		{"one that never comes", []host.Machine{machine("1"), machine("1")}, "a -b -a", []string{
			"Found the InfraEnv lab: 2 machines boot its image", "b is gone", "1 machine is registered, of 2", "a is gone",
		}},
		{"none that comes", []host.Machine{machine("2")}, "-a", []string{"Found the InfraEnv lab-arm: 1 machine boots its image", "a is gone"}},
		{"by BMCs", []host.Machine{controlled, controlled, machine("1")}, "", []string{"2 machines boot when a BMC says so", "Found the InfraEnv lab: 1 machine boots its image"}},
		{"nothing to do", nil, "", []string{"No machine boots: the cluster has all of them"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			s := newStages(func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }, tc.machines)
			s.found(list, tc.machines)
			for _, what := range strings.Fields(tc.happens) {
				if name, ends := strings.CutPrefix(what, "-"); ends {
					s.end(name, "is gone")
				} else {
					s.register(name)
				}
			}
			s.over()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStagesOfACrowd names the first machines only.
func TestStagesOfACrowd(t *testing.T) {
	var got []string
	s := newStages(func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }, make([]host.Machine, 500))
	for i := range 500 {
		s.register(fmt.Sprint("m-", i))
	}
	for i := range 500 {
		s.end(fmt.Sprint("m-", i), "is gone")
	}
	s.over()
	if len(got) != mostEndings+2 || got[0] != "500 machines are registered" || got[mostEndings+1] != "480 machines have come to their end, too" {
		t.Errorf("told:\n%s", strings.Join(got, "\n"))
	}
}
