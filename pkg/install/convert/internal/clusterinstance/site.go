package clusterinstance

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
)

// kindSite is what came before ClusterInstance: several clusters, and what they share.
const kindSite = "SiteConfig"

// siteCluster is the only cluster of a SiteConfig, with what the site says for all of them.
// Its keys are those of ClusterInstance but for a few.
func (r *reader) siteCluster(n, site *input.Node) *input.Node {
	clusters := r.ListOf(site.Get("clusters"))
	if len(clusters) != 1 {
		r.Wrong(n, fmt.Sprintf("has %d clusters", len(clusters)), "keep one of them in each file, below spec.clusters")
		return nil
	}
	s := r.MapOf(clusters[0])
	if s == nil {
		return nil
	}
	for _, shared := range site.All() {
		if shared.Key != "clusters" && s.Child(shared.Key) == nil {
			s.Children = append(s.Children, shared)
		}
	}
	r.Means(s.Get("clusterType"), "follows from the roles of the nodes")
	return s
}
