package hub

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// enrolled are the BareMetalHosts of a namespace as they were last read, for all clusters in it.
type enrolled struct {
	of       *kube.Store
	changes  uint64 // of the store
	machines []install.Enrolled
	clusters []string // that each was made for, "" for none
}

// enrolledMachines are the BareMetalHosts of a namespace. There may be many: of each only a few fields are read, and
// only once after a change; clusters that none was made for share the list.
func (p *Plane) enrolledMachines(at *kube.Namespace, cluster string) []install.Enrolled {
	store := at.Store(kube.BareMetalHosts)
	changes := store.Changes() // before they are read: what comes in between is read again
	p.mu.Lock()
	last := p.enrolled[at.Name]
	p.mu.Unlock()
	if last == nil || last.of != store || last.changes != changes {
		last = readEnrolled(store)
		last.changes = changes
		p.mu.Lock()
		if p.enrolled == nil {
			p.enrolled = map[string]*enrolled{}
		}
		p.enrolled[at.Name] = last
		p.mu.Unlock()
	}
	return last.as(cluster)
}

func readEnrolled(store *kube.Store) *enrolled {
	hosts := store.All()
	e := &enrolled{of: store, machines: make([]install.Enrolled, 0, len(hosts)), clusters: make([]string, 0, len(hosts))}
	for _, u := range hosts {
		if u.GetDeletionTimestamp() != nil {
			continue
		}
		e.machines, e.clusters = append(e.machines, enrolledOf(u)), append(e.clusters, kube.Label(u, hubapi.LabelCluster))
	}
	return e
}

func enrolledOf(u *unstructured.Unstructured) install.Enrolled {
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(u.Object, path...)
		return text
	}
	e := install.Enrolled{Name: u.GetName(), MAC: field("spec", "bootMACAddress"), State: field("status", "provisioning", "state")}
	if kind := field("status", "errorType"); kind != "" {
		e.Trouble = cmp.Or(field("status", "errorMessage"), fmt.Sprintf("the Bare Metal Operator says %q", kind))
	}
	return e
}

// as are the machines as a cluster sees them.
func (e *enrolled) as(cluster string) []install.Enrolled {
	if cluster == "" || !slices.Contains(e.clusters, cluster) {
		return e.machines
	}
	machines := slices.Clone(e.machines)
	for i := range machines {
		machines[i].Owned = e.clusters[i] == cluster
	}
	return machines
}
