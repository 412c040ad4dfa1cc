package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

func changeable(state string) bool {
	return slices.Contains([]string{"discovering", "known", "disconnected", "insufficient", "pending-for-input", "binding",
		"known-unbound", "disconnected-unbound", "discovering-unbound", "insufficient-unbound"}, state)
}

// syncAgent makes the service's host say what its Agent says. The error is what SpecSynced tells.
func (h *hub) syncAgent(ctx context.Context, host *assisted.Host, agent *apiobject.Object, spec *agentinstall.AgentSpec) error {
	if h.failing > 0 {
		h.failing--
		return errors.New("the database of the service does not answer")
	}
	if moved, err := h.bind(ctx, host, agent, spec); moved || err != nil {
		return err
	}
	if !changeable(host.Status) {
		return nil
	}
	changed := false
	change, err := hostChange(host, spec)
	if err != nil {
		return err
	}
	if err := h.addFencing(ctx, host, spec, change); err != nil {
		return err
	}
	if err := h.addEndpoint(ctx, host, spec, change); err != nil {
		return err
	}
	if len(change) > 0 {
		if err := h.backend.Do(ctx, "PATCH", path(host), change, nil); err != nil {
			return err
		}
		changed = true
	}
	if args := spec.InstallerArgs; args != "" && !objects.SameJSON(args, host.InstallerArgs) {
		if err := h.sendArgs(ctx, host, args); err != nil {
			return err
		}
		changed = true
	}
	if spec.IgnitionConfigOverrides != host.Ignition {
		if err := h.backend.Do(ctx, "PATCH", path(host)+"/ignition", map[string]any{"config": spec.IgnitionConfigOverrides}, nil); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return h.readHost(ctx, host)
}

func (h *hub) readHost(ctx context.Context, host *assisted.Host) error {
	data, err := h.backend.Raw(ctx, "GET", path(host), nil)
	if assisted.IsGone(err) {
		delete(h.hosts, host.ID)
		return nil
	}
	if err != nil {
		return err
	}
	now := &assisted.Host{Raw: string(data)}
	if err := json.Unmarshal(data, now); err != nil {
		return err
	}
	h.hosts[host.ID] = now
	return nil
}

// hostChange is where a host differs from what its Agent asks for. What is left open is the service's.
func hostChange(host *assisted.Host, spec *agentinstall.AgentSpec) (map[string]any, error) {
	change := map[string]any{}
	if spec.Role != "" && spec.Role != host.Role {
		change["host_role"] = spec.Role
	}
	if spec.Hostname != "" && spec.Hostname != host.Hostname {
		change["host_name"] = spec.Hostname
	}
	if spec.MachineConfigPool != "" && spec.MachineConfigPool != host.Pool {
		change["machine_config_pool_name"] = spec.MachineConfigPool
	}
	disk, err := diskOf(host, spec)
	if err != nil {
		return nil, err
	}
	if disk != "" && disk != host.DiskID {
		change["disks_selected_config"] = []any{map[string]any{"id": disk, "role": "install"}}
	}
	have := map[string]string{}
	if host.NodeLabels != "" {
		_ = json.Unmarshal([]byte(host.NodeLabels), &have) // the service's own text
	}
	if !maps.Equal(have, spec.NodeLabels) {
		change["node_labels"] = keyed(spec.NodeLabels)
	}
	return change, nil
}

// keyed is a map as the service takes it: a list, by name.
func keyed(values map[string]string) []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, map[string]any{"key": name, "value": values[name]})
	}
	return list
}

func diskOf(host *assisted.Host, spec *agentinstall.AgentSpec) (string, error) {
	if spec.InstallationDiskID == "" && spec.InstallationDiskPath == "" {
		return "", nil
	}
	inv, err := readInventory(host.Inventory)
	if err != nil || inv == nil {
		return "", err
	}
	for _, d := range inv.Disks {
		names := []string{d.ID, d.Path, d.ByID, d.ByPath}
		if spec.InstallationDiskID != "" && slices.Contains(names, spec.InstallationDiskID) ||
			spec.InstallationDiskPath != "" && slices.Contains(names[1:], spec.InstallationDiskPath) {
			return cmp.Or(d.ID, d.Path), nil
		}
	}
	return "", assisted.InputFault("Requested installation disk is not part of the host's valid disks")
}

func (h *hub) addFencing(ctx context.Context, host *assisted.Host, spec *agentinstall.AgentSpec, change map[string]any) error {
	secret := spec.FencingCredentialsSecretRef
	if secret == "" {
		return nil
	}
	k, _ := h.infraEnvBehind(host.InfraEnvID)
	if _, err := h.store.read(ctx, hubapi.KindSecret, k.space, secret); apierrors.IsNotFound(err) {
		return fmt.Errorf("failed to get secret %s/%s from API: secrets %q not found", k.space, secret, secret)
	}
	data, err := h.content(ctx, hubapi.KindSecret, k.space, secret)
	if err != nil {
		return err
	}
	credentials := fencingOf(data)
	if !objects.SameJSON(objects.ToJSON(credentials), host.Fencing) {
		change["fencing_credentials"] = credentials
	}
	return nil
}

// fencingOf are the credentials in a Secret. Nothing of them is examined.
func fencingOf(secret map[string]string) map[string]any {
	credentials := map[string]any{
		"address": secret[hubapi.KeyFencingAddress], "username": secret[hubapi.KeyUsername], "password": secret[hubapi.KeyPassword],
	}
	set(credentials, "certificate_verification", secret[hubapi.KeyFencingVerify])
	return credentials
}

// addEndpoint adds what a host needs to fetch its Ignition from an endpoint of the user's.
func (h *hub) addEndpoint(ctx context.Context, host *assisted.Host, spec *agentinstall.AgentSpec, change map[string]any) error {
	if ref := spec.IgnitionEndpointTokenReference; ref != nil && !host.EndpointTokenSet {
		k, _ := h.infraEnvBehind(host.InfraEnvID)
		token, err := h.field(ctx, hubapi.KindSecret, cmp.Or(ref.Namespace, k.space), ref.Name, hubapi.KeyIgnitionToken)
		if err != nil {
			return err
		}
		change["ignition_endpoint_token"] = token
		if len(spec.IgnitionEndpointHTTPHeaders) > 0 {
			change["ignition_endpoint_http_headers"] = keyed(spec.IgnitionEndpointHTTPHeaders)
		}
	}
	return nil
}

func (h *hub) sendArgs(ctx context.Context, host *assisted.Host, text string) error {
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return assisted.InputFault("Fail to unmarshal installer args: %v", err)
	}
	return h.backend.Do(ctx, "PATCH", path(host)+"/installer-args", map[string]any{"args": args}, nil)
}

// bind gives a host to its Agent's cluster, or back to the pool, and reports whether it was on its way.
func (h *hub) bind(ctx context.Context, host *assisted.Host, agent *apiobject.Object, spec *agentinstall.AgentSpec) (bool, error) {
	want := ""
	if ref := spec.ClusterDeploymentName; ref != nil && ref.Name != "" {
		m := h.clusters[referred(ref)]
		if m == nil || m.id == "" {
			if host.ClusterID != "" {
				return false, nil // it is on its way, or the cluster is going
			}
			return false, assisted.InputFault("failed to find ClusterDeployment %s/%s for the agent", ref.Namespace, ref.Name)
		}
		want = m.id
	}
	switch {
	case want == host.ClusterID:
		return false, nil
	case host.ClusterID != "":
		if err := h.unbind(ctx, host, agent, h.deploymentBehind(host.ClusterID)); err != nil {
			return true, err
		}
	case host.Status != "known-unbound":
		return false, nil // it has to be known first
	default:
		if err := h.backend.Do(ctx, "POST", path(host)+"/actions/bind", map[string]any{"cluster_id": want}, nil); err != nil {
			return true, err
		}
	}
	return true, h.readHost(ctx, host)
}

func (h *hub) farewell(host *assisted.Host) map[string]any {
	k := h.deploymentBehind(host.ClusterID)
	if k.id == "" {
		return nil
	}
	return map[string]any{"cluster_name": k.id, "cluster_namespace": k.space, "node_name": host.Hostname}
}

// deploymentBehind finds the ClusterDeployment of a cluster of the service; an empty key for none.
func (h *hub) deploymentBehind(id string) key {
	for k, m := range h.clusters {
		if m.id == id {
			return k
		}
	}
	return key{}
}

// installAdded installs a day-2 host once it is known and approved. It waits for no other host.
func (h *hub) installAdded(ctx context.Context, host *assisted.Host, spec *agentinstall.AgentSpec) error {
	host = h.hosts[host.ID]
	if host == nil || agentKind(host) != agentinstall.AgentKindAdded || host.Status != "known" || !spec.Approved {
		return nil
	}
	err := h.backend.Do(ctx, "POST", path(host)+"/actions/install", nil, nil)
	if err != nil {
		return err
	}
	h.logf("host %s is installed", host.ID)
	return h.readHost(ctx, host)
}

// inherit gives an Agent the node labels that its InfraEnv passes on, and takes
// away those that it passed on before. Which they are is remembered in an
// annotation, so that the Agent's own stay.
func (h *hub) inherit(ctx context.Context, agent *apiobject.Object) error {
	env := h.store.get(hubapi.KindInfraEnv, agent.GetNamespace(), agent.GetLabels()[hubapi.LabelAgentInfraEnv])
	if env == nil {
		return nil
	}
	given := map[string]string{}
	for _, name := range words(env.GetAnnotations()[hubapi.AnnotationPropagateNodeLabels]) {
		if text, there := env.GetLabels()[name]; there {
			given[name] = text
		}
	}
	nodes, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "nodeLabels")
	notes, want := agent.GetAnnotations(), maps.Clone(nodes)
	was, passed := notes[hubapi.AnnotationInheritedNodeLabels]
	for _, name := range words(was) {
		delete(want, name)
	}
	want = labels.Merge(want, given)
	if passed || len(given) > 0 {
		notes = labels.Merge(notes, labels.Set{hubapi.AnnotationInheritedNodeLabels: strings.Join(slices.Sorted(maps.Keys(given)), ",")})
	}
	return h.store.change(ctx, agent, func() {
		agent.SetAnnotations(notes)
		if maps.Equal(nodes, want) {
			return
		}
		unstructured.RemoveNestedField(agent.Object, "spec", "nodeLabels")
		if len(want) > 0 {
			_ = unstructured.SetNestedStringMap(agent.Object, want, "spec", "nodeLabels") // the spec is a map
		}
	})
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
