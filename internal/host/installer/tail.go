//go:build linux

package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
	"github.com/oaictl/oaictl/internal/host/installer/manifests"
	"github.com/oaictl/oaictl/internal/host/kube"
)

const (
	kubeconfigPath = "/opt/openshift/auth/kubeconfig"
	resolverPath   = "/etc/resolv.conf"
	bootkubeDone   = "/opt/openshift/.bootkube.done"
	bootkubeHint   = "look at `journalctl -u bootkube.service` on this machine"
	// readyEvent is the name of the event with which the controller says that it runs.
	readyEvent = "AssistedControllerIsReady"
	// minMasters is how many control plane nodes have to be ready before the bootstrap becomes one, at most.
	minMasters = 2
)

// reloadResolver copies the live system's resolv.conf, which knows the cluster's names by now, into this program's container.
func (r *run) reloadResolver(context.Context) error {
	if r.Own == nil {
		return nil
	}
	content, err := r.Files.Read(resolverPath)
	if err != nil {
		return fmt.Errorf("read the live system's %s: %w", resolverPath, err)
	}
	return r.Own.Overwrite(resolverPath, content)
}

// api is the API server of the new cluster.
func (r *run) api() (Kube, error) {
	if r.apiServer != nil {
		return r.apiServer, nil
	}
	kubeconfig, err := r.Files.Read(kubeconfigPath)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the new cluster: %w", err)
	}
	if r.apiServer, err = r.Kube(kubeconfig); err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", kubeconfigPath, err)
	}
	return r.apiServer, nil
}

// installConfig reads the install-config from the new cluster.
func (r *run) installConfig(ctx context.Context, api Kube) (firstboot.InstallConfig, error) {
	data, err := api.ConfigMap(ctx, "kube-system", "cluster-config-v1")
	if err != nil {
		return firstboot.InstallConfig{}, fmt.Errorf("read the install-config from the cluster: %w", err)
	}
	return firstboot.ReadInstallConfig(data["install-config"])
}

func (r *run) waitMasters(ctx context.Context) error {
	return r.waitNodes(ctx, "master", func(c firstboot.InstallConfig) int { return min(c.ControlPlane-1, minMasters) })
}

func (r *run) waitArbiters(ctx context.Context) error {
	return r.waitNodes(ctx, "arbiter", func(c firstboot.InstallConfig) int { return min(c.Arbiters, 1) })
}

// waitNodes waits until enough nodes of a role are ready. It posts each of their hosts as joined.
func (r *run) waitNodes(ctx context.Context, role string, needed func(firstboot.InstallConfig) int) error {
	api, err := r.api()
	if err != nil {
		return err
	}
	want := -1 // not known yet
	joined := map[string]bool{}
	return r.waitFor(ctx, wait{
		what: role + " nodes to be ready in the new cluster",
		next: "look at the consoles of the hosts that are not, and at `oc get nodes,csr` with " + kubeconfigPath,
		look: func(ctx context.Context) (bool, string, error) {
			if want < 0 {
				config, err := r.installConfig(ctx, api)
				if err != nil {
					return false, "", err
				}
				want = needed(config)
			}
			if want <= 0 {
				return true, "", nil
			}
			nodes, err := nodesOf(ctx, api, role)
			if err != nil {
				return false, "", err
			}
			r.removeTaints(ctx, api, nodes)
			if err := r.postJoined(ctx, nodes, joined); err != nil {
				return false, "", err
			}
			return len(joined) >= want, nodesText(nodes, want), nil
		},
	})
}

// nodesOf are the nodes of a role.
func nodesOf(ctx context.Context, api Kube, role string) ([]kube.Node, error) {
	nodes, err := api.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the %s nodes: %w", role, err)
	}
	return slices.DeleteFunc(nodes, func(n kube.Node) bool { return !n.HasRole(role) }), nil
}

func nodesText(nodes []kube.Node, want int) string {
	var ready, others []string
	for _, node := range nodes {
		if node.Ready() {
			ready = append(ready, node.Name)
		} else {
			others = append(others, node.Name)
		}
	}
	text := fmt.Sprintf("%d of %d are ready", len(ready), want)
	if len(ready) > 0 {
		text += " (" + strings.Join(ready, ", ") + ")"
	}
	if len(others) > 0 {
		text += "; not ready: " + strings.Join(others, ", ")
	}
	return text
}

// postJoined posts the hosts of nodes that became ready as joined.
func (r *run) postJoined(ctx context.Context, nodes []kube.Node, joined map[string]bool) error {
	var hosts []clusterHost
	for _, node := range nodes {
		if !node.Ready() || joined[node.Name] {
			continue
		}
		if hosts == nil {
			var err error
			if hosts, err = r.otherHosts(ctx); err != nil {
				return err
			}
		}
		joined[node.Name] = true
		at := hostOf(hosts, node)
		if at < 0 {
			r.Log.Warn("a ready node is none of the cluster's hosts", "node", node.Name)
			continue
		}
		h := hosts[at]
		installed := h.Status != nil && *h.Status == models.HostStatusInstalled
		if !installed && stageOf(h.Host) != models.HostStageDone {
			r.postFor(ctx, *h.ID, models.HostStageJoined, "")
		}
	}
	return nil
}

func (r *run) waitBootkube(ctx context.Context) error {
	return r.waitFor(ctx, wait{
		what: "bootkube to complete", next: bootkubeHint,
		look: func(ctx context.Context) (bool, string, error) {
			if r.Files.Exists(bootkubeDone) {
				return true, "", nil
			}
			state, err := r.unitState(ctx, "bootkube.service")
			return false, "bootkube.service is " + state, err
		},
	})
}

// waitETCD waits until etcd has as many members as it needs: progress.service ends then.
func (r *run) waitETCD(ctx context.Context) error {
	return r.waitFor(ctx, wait{
		what: "etcd to have its members on the control plane nodes", next: "look at `journalctl -u progress.service` on this machine",
		look: func(ctx context.Context) (bool, string, error) {
			state, err := r.unitState(ctx, "progress.service")
			return state == "inactive", "progress.service is " + state, err
		},
	})
}

func (r *run) waitController(ctx context.Context) error {
	api, err := r.api()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	uploaded := r.Clock.Now()
	err = r.waitFor(ctx, wait{
		what: "the controller in the new cluster to be ready",
		next: "look at the job " + manifests.Controller + " and its pod in the namespace " + manifests.Namespace,
		look: func(ctx context.Context) (bool, string, error) {
			events, err := api.Events(ctx, manifests.Namespace)
			if err != nil {
				return false, "", fmt.Errorf("list the events of %s: %w", manifests.Namespace, err)
			}
			if now := r.Clock.Now(); now.Sub(uploaded) >= controllerLogsEvery {
				uploaded = now
				r.uploadControllerLogs(ctx, api)
			}
			state := "it has no event yet"
			for _, event := range events {
				if event.Name == readyEvent {
					return true, "", nil
				}
				state = "its last event: " + event.Message
				if !seen[event.UID] {
					seen[event.UID] = true
					r.Log.Info("an event of the controller", "event", event.Name, "message", r.text(errors.New(event.Message)))
				}
			}
			return false, state, nil
		},
	})
	if err != nil {
		return err
	}
	if err := r.Service.ClusterLogsProgress(ctx, r.cluster, models.LogsStateRequested); err != nil {
		r.Log.Warn("the service does not take that the controller's logs come", "why", r.text(err))
	}
	r.uploadControllerLogs(ctx, api)
	return nil
}

const agentInvoker = "agent-installer"

// agentBased reports whether the service runs on this machine, and ends with its reboot.
func (r *run) agentBased(ctx context.Context, api Kube) bool {
	data, err := api.ConfigMap(ctx, "openshift-config", "openshift-install-manifests")
	if err != nil {
		r.Log.Warn("it is not known who installs the cluster; the service is taken to be elsewhere", "why", r.text(err))
		return false
	}
	return data["invoker"] == agentInvoker
}

// waitWorkers lets workers get what they need of a service that ends with this machine's reboot.
func (r *run) waitWorkers(ctx context.Context) error {
	api, err := r.api()
	if err != nil {
		return err
	}
	if !r.agentBased(ctx, api) {
		return nil
	}
	early := []models.HostStage{
		models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWaitingForControlPlane,
	}
	return r.waitFor(ctx, wait{
		what: "the workers to have got what they need from the service on this machine", tell: true,
		next: "look at the consoles of these workers",
		look: func(ctx context.Context) (bool, string, error) {
			hosts, err := r.otherHosts(ctx)
			if err != nil {
				return false, "", err
			}
			var waiting []string
			for _, h := range hosts {
				if stage := stageOf(h.Host); h.Role == models.HostRoleWorker && slices.Contains(early, stage) {
					waiting = append(waiting, fmt.Sprintf("%s is at %q", h.name, stage))
				}
			}
			return len(waiting) == 0, strings.Join(waiting, "; "), nil
		},
	})
}

// Annotations of the machine-config-operator.
const (
	currentConfig = "machineconfiguration.openshift.io/currentConfig"
	desiredConfig = "machineconfiguration.openshift.io/desiredConfig"
)

// waitConfigs waits until the control plane nodes have, and want, MachineConfigs that exist. A node whose config was removed
// with the bootstrap would wait for it for ever.
func (r *run) waitConfigs(ctx context.Context) error {
	api, err := r.api()
	if err != nil {
		return err
	}
	return r.waitFor(ctx, wait{
		what: "the MachineConfigs of the control plane nodes to agree", tell: true,
		next: "look at `oc get machineconfigs` and at the annotations of the master nodes",
		look: func(ctx context.Context) (bool, string, error) {
			nodes, err := nodesOf(ctx, api, "master")
			if err != nil {
				return false, "", err
			}
			state, err := configsState(ctx, api, nodes)
			return err == nil && state == "", state, err
		},
	})
}

// configsState says what the nodes' configs lack; "" if nothing.
func configsState(ctx context.Context, api Kube, nodes []kube.Node) (string, error) {
	if len(nodes) == 0 {
		return "there are no master nodes", nil
	}
	agreed := nodes[0].Annotations[desiredConfig]
	for _, node := range nodes {
		current, desired := node.Annotations[currentConfig], node.Annotations[desiredConfig]
		if current == "" || desired == "" {
			return "the node " + node.Name + " has no config yet", nil
		}
		for _, name := range []string{current, desired} {
			_, err := api.MachineConfig(ctx, name)
			if kube.NotFound(err) {
				return fmt.Sprintf("the node %s names the MachineConfig %s, which does not exist", node.Name, name), nil
			}
			if err != nil {
				return "", fmt.Errorf("look for the MachineConfig %s: %w", name, err)
			}
		}
		if desired != agreed {
			return fmt.Sprintf("the node %s is to have %s, and others %s", node.Name, desired, agreed), nil
		}
	}
	return "", nil
}
