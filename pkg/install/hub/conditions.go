package hub

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// Objects are the objects of a cluster in its namespace, with their conditions: the
// ClusterDeployment and what belongs to it, and the PreprovisioningImages of its machines,
// as far as they may be read.
func (p *Plane) Objects(ctx context.Context, clusterID string) ([]install.Object, error) {
	namespace, name := kube.SplitID(clusterID, p.api.NamespaceOf(clusterID))
	at, err := p.api.Watch(ctx, namespace)
	if err != nil {
		return nil, err
	}
	id := kube.ID(namespace, name)
	var out []install.Object
	for _, k := range []kube.Kind{kube.ClusterDeployments, kube.AgentClusterInstalls, kube.InfraEnvs, kube.Agents, kube.BareMetalHosts} {
		for _, u := range at.Store(k).All() {
			own := kube.ClusterOf(u) == id
			if k == kube.ClusterDeployments {
				own = u.GetName() == name
			}
			if !own {
				continue
			}
			out = append(out, describedObject(u))
			if k != kube.BareMetalHosts {
				continue
			}
			if image, err := p.api.Object(ctx, kube.PreprovisioningImages, namespace, u.GetName()); err == nil {
				out = append(out, describedObject(image))
			}
		}
	}
	return out, nil
}

func describedObject(u *unstructured.Unstructured) install.Object {
	o := install.Object{Kind: u.GetKind(), Name: u.GetName()}
	if u.GetKind() == hubapi.KindInfraEnv {
		o.IPXE, _, _ = unstructured.NestedString(u.Object, "status", "bootArtifacts", "ipxeScript")
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, one := range conditions {
		fields, _ := one.(map[string]any)
		text := func(name string) string {
			value, _ := fields[name].(string)
			return value
		}
		since, _ := time.Parse(time.RFC3339, text("lastTransitionTime")) // zero where it has none
		o.Conditions = append(o.Conditions, install.ObjectCondition{
			Type: text("type"), Status: text("status"), Reason: text("reason"), Message: redact.Text(text("message")), Since: since,
		})
	}
	slices.SortFunc(o.Conditions, func(a, b install.ObjectCondition) int { return cmp.Compare(a.Type, b.Type) })
	return o
}
