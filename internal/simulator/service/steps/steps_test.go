package steps

import (
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

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

// TestInstallerReachesItsClusterWithoutProxy, beside the names of the user, once each.
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
