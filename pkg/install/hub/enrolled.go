package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// enrolled are the BareMetalHosts of a namespace as they were last read, for all clusters in it.
type enrolled struct {
	of       *kube.Store
	changes  uint64 // of the store
	machines []model.Enrolled
	clusters []string // that each was made for, "" for none
}

// enrolledMachines are the BareMetalHosts of a namespace. There may be many: of each only a few fields are read, and
// only once after a change; clusters without any of them share the list.
func (p *Plane) enrolledMachines(at *kube.Namespace, cluster string) []model.Enrolled {
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
	e := &enrolled{of: store, machines: make([]model.Enrolled, 0, len(hosts)), clusters: make([]string, 0, len(hosts))}
	for _, u := range hosts {
		if u.GetDeletionTimestamp() != nil {
			continue
		}
		e.machines, e.clusters = append(e.machines, enrolledOf(u)), append(e.clusters, kube.Label(u, hubapi.LabelCluster))
	}
	return e
}

func enrolledOf(u *unstructured.Unstructured) model.Enrolled {
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(u.Object, path...)
		return text
	}
	e := model.Enrolled{Name: u.GetName(), MAC: field("spec", "bootMACAddress"), State: field("status", "provisioning", "state"),
		InfraEnv: kube.Label(u, hubapi.LabelAgentInfraEnv)}
	if kind := field("status", "errorType"); kind != "" {
		e.Trouble = cmp.Or(field("status", "errorMessage"), fmt.Sprintf("the Bare Metal Operator says %q", kind))
	}
	return e
}

// withImageTrouble adds to machines that have still to boot what is wrong with their PreprovisioningImages, from which
// the Bare Metal Operator boots them: it says of such a machine only that it waits. If the user may not read these
// objects, or there are none, nothing is added.
func (p *observation) withImageTrouble(ctx context.Context, namespace string, machines []model.Enrolled,
	envs []model.InfraEnv) []model.Enrolled {
	out := machines
	for i := range machines {
		of := func(env model.InfraEnv) bool { return env.Name == machines[i].InfraEnv }
		if machines[i].Trouble != "" || !slices.Contains(waitForImage(), machines[i].State) || !slices.ContainsFunc(envs, of) {
			continue
		}
		text := p.imageTrouble(ctx, namespace, machines[i].Name)
		if text == "" {
			continue
		}
		if &out[0] == &machines[0] { // others share the list
			out = slices.Clone(machines)
		}
		out[i].Trouble = text
	}
	return out
}

// waitForImage are the states of a BareMetalHost in which it may wait for its image.
func waitForImage() []string {
	return []string{"registering", "preparing", "inspecting", "available", "ready", "provisioning"}
}

// imageTrouble is why the PreprovisioningImage of a machine cannot be made, "" where it can.
func (p *observation) imageTrouble(ctx context.Context, namespace, name string) string {
	u, err := p.api.Object(ctx, kube.PreprovisioningImages, namespace, name)
	if err != nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, one := range conditions {
		c, _ := one.(map[string]any)
		if c["type"] == "Error" && c["status"] == "True" {
			message, _ := c["message"].(string)
			reason, _ := c["reason"].(string)
			return "its PreprovisioningImage cannot be made: " + redact.Text(cmp.Or(message, reason))
		}
	}
	return ""
}

// as are the machines as a cluster sees them.
func (e *enrolled) as(cluster string) []model.Enrolled {
	if cluster == "" || !slices.Contains(e.clusters, cluster) {
		return e.machines
	}
	machines := slices.Clone(e.machines)
	for i := range machines {
		machines[i].Owned = e.clusters[i] == cluster
	}
	return machines
}
