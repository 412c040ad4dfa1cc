package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestHostsThatWereNotLookedAt registers a host between two looks of the monitor: the
// others are told of it when the monitor has seen it.
func TestHostsThatWereNotLookedAt(t *testing.T) {
	b := newBench(t, nil)
	b.compact(2)
	b.pass(30 * time.Second)
	late := b.boot()
	late.poll()
	told := func() bool {
		text := b.must("GET", b.machines[0].path()+"/instructions", nil).text
		return strings.Contains(text, late.id)
	}
	if state := late.state(); state != model.HostDiscovering || told() {
		t.Errorf("the new host is %s, and the others are told of it: %v", state, told())
	}
	b.pass(10 * time.Second)
	if !told() {
		t.Error("the others are not told of a host that was looked at")
	}
}

// TestTimeServersOfHosts asks who is named to the agents: the cluster's servers, else
// those of its image.
func TestTimeServersOfHosts(t *testing.T) {
	image := &model.InfraEnv{PrintedInfraEnv: model.PrintedInfraEnv{AdditionalNtpSources: "a.example.com,b.example.com"}}
	for want, h := range map[string]*model.Host{
		"a.example.com,b.example.com": {InfraEnv: image},
		"c.example.com":               {InfraEnv: image, Cluster: &model.Cluster{PrintedCluster: model.PrintedCluster{AdditionalNtpSource: "c.example.com"}}},
	} {
		if got := timeServers(h); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	h := &model.Host{InfraEnv: image, Cluster: &model.Cluster{}}
	h.Cluster.Hosts = []*model.Host{h, {InfraEnv: image}}
	if got := timeServers(h); got != "a.example.com,b.example.com" {
		t.Errorf("a cluster that names none: %s", got)
	}
}

// TestUnjudgedIsNoFailure reads a state's info while a check could not be made.
func TestUnjudgedIsNoFailure(t *testing.T) {
	c := model.Checks{List: []model.Check{{ID: "one", Status: model.Failed, Message: "it fails"}, {ID: "two", Status: model.Errored, Message: "it cannot be judged"}}}
	if got := c.Failures(); !slices.Equal(got, []string{"it fails"}) {
		t.Errorf("%q", got)
	}
}

// TestPacketSizesOfALonelyHost are not known before it has reported on others, even where
// there are none yet.
func TestPacketSizesOfALonelyHost(t *testing.T) {
	b := newBench(t, nil)
	b.compact(1)
	b.pass(10 * time.Second)
	if got := outcomes(t, b.machines[0].get())["mtu-valid"]; got != [2]string{model.Pending, "Missing MTU report information"} {
		t.Error(got)
	}
}

// TestInstallerReachesItsClusterWithoutProxy whatever else the user has named, once each.
func TestInstallerReachesItsClusterWithoutProxy(t *testing.T) {
	for asked, want := range map[string]string{
		"":                        "127.0.0.1,localhost,.svc,.cluster.local,api-int.c.example.com",
		"lab.example.com,.svc":    "lab.example.com,.svc,127.0.0.1,localhost,.cluster.local,api-int.c.example.com",
		" * ":                     "*",
		"10.0.0.0/24,10.0.0.0/24": "10.0.0.0/24,127.0.0.1,localhost,.svc,.cluster.local,api-int.c.example.com",
	} {
		c := &model.Cluster{PrintedCluster: model.PrintedCluster{Name: "c", BaseDNSDomain: "example.com", NoProxy: asked}}
		if got := directlyReachedByInstaller(c); got != want {
			t.Errorf("%q: %s, want %s", asked, got, want)
		}
	}
}
