package metal3

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// labelUUID is that of a node which says the UID of its BareMetalHost.
const labelUUID = "metal3.io/uuid"

// remote is the client of a workload cluster, and the kubeconfig that it was made of; or why there is none.
type remote struct {
	kubeconfig string
	client     kubernetes.Interface
	err        error
	read       time.Time
}

// workload is the client of the machine's cluster, by the secret that its control plane provider keeps. The secret is read
// once in requeueAfter for all machines of the cluster, since this client has no cache.
func (m *metal3Machine) workload(ctx context.Context) (kubernetes.Interface, error) {
	name := m.key.namespace + "/" + m.cluster.GetName()
	m.mu.Lock()
	known := m.remotes[name]
	m.mu.Unlock()
	if now := m.clock.Now(); known.read.IsZero() || now.Sub(known.read) >= requeueAfter {
		known = m.reach(ctx, known)
		known.read = now
		m.mu.Lock()
		m.remotes[name] = known
		m.mu.Unlock()
	}
	return known.client, known.err
}

// reach is the client of the machine's cluster by what its secret says now, which may be the one of before.
func (m *metal3Machine) reach(ctx context.Context, before remote) remote {
	const wait = 10 * time.Second // real time
	none := func(err error) remote { return remote{err: fmt.Errorf("error creating a remote client: %w", err)} }
	secret, err := m.core.CoreV1().Secrets(m.key.namespace).Get(ctx, m.cluster.GetName()+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return none(err)
	}
	kubeconfig := string(secret.Data["value"])
	if before.client != nil && before.kubeconfig == kubeconfig {
		return before
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return none(err)
	}
	config.QPS, config.Timeout, config.WarningHandler = -1, wait, rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return none(err)
	}
	return remote{kubeconfig: kubeconfig, client: client}
}

func (m *metal3Machine) providerID() string {
	return fmt.Sprintf("metal3://%s/%s/%s", m.key.namespace, lastOf(m.GetAnnotations()[annotationHost]), m.key.name)
}

// findNode gives the machine its providerID once the cluster has its node: one that has this
// providerID already, or one with the label of its host. With neither there is none, unless
// the machine's bootstrap data are no provider's.
func (m *metal3Machine) findNode(ctx context.Context) (time.Duration, error) {
	client, err := m.workload(ctx)
	if err != nil { // there is no cluster to ask yet
		m.waits(err.Error())
		return requeueAfter, nil
	}
	// Not again and again: while this is under way hardly any time passes for the others.
	nodes := &corev1.NodeList{}
	err = client.CoreV1().RESTClient().Get().Resource("nodes").MaxRetries(0).Do(ctx).Into(nodes)
	if err != nil {
		m.waits("error retrieving node, requeuing")
		return requeueAfter, nil //nolint:nilerr // it is in the condition, and tried again
	}
	h, _ := m.host()
	var labelled []*corev1.Node
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if n.Spec.ProviderID == m.providerID() && (apiobject.Text(m.object, "spec", "providerID") != "" || m.cloudProvider()) {
			m.provisioned(m.providerID())
			return 0, nil
		}
		if h != nil && n.Labels[labelUUID] == string(h.GetUID()) {
			labelled = append(labelled, n)
		}
	}
	if m.cloudProvider() {
		m.waits("error retrieving node, requeuing")
		return requeueAfter, nil
	}
	switch {
	case len(labelled) > 1:
		return 0, fmt.Errorf("found multiple target nodes with the same label %s", labelUUID)
	case len(labelled) == 1:
		return 0, m.name(ctx, client, labelled[0])
	case apiobject.Text(m.machine, "spec", "bootstrap", "configRef", "name") != "":
		m.waits("requeuing, could not find node with label: " + labelUUID)
		return requeueAfter, nil
	}
	m.provisioned(m.providerID())
	return m.nameByHostname(ctx, client, nodes.Items)
}

// cloudProvider reports whether others give the nodes their providerIDs.
func (m *metal3Machine) cloudProvider() bool {
	infra := m.get(key{clusters, m.key.namespace, apiobject.Text(m.cluster, "spec", "infrastructureRef", "name")})
	return infra != nil && apiobject.Truth(infra, "spec", "cloudProviderEnabled")
}

func (m *metal3Machine) waits(message string) {
	setConditions(m.object, condition{"AssociateMetal3MachineMetaData", no, "CreateError", message})
}

func (m *metal3Machine) provisioned(id string) {
	if apiobject.Text(m.object, "spec", "providerID") == "" {
		m.logf("%s is %s", m.key, id)
	}
	set(m.object, id, "spec", "providerID")
	set(m.object, true, "status", "initialization", "provisioned")
}

// name gives a node the machine's providerID, unless it has it. Another one is an error.
func (m *metal3Machine) name(ctx context.Context, client kubernetes.Interface, n *corev1.Node) error {
	id := m.providerID()
	switch n.Spec.ProviderID {
	case id:
	case "":
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"providerID": id}})
		if err != nil {
			return err
		}
		if _, err := client.CoreV1().Nodes().Patch(
			ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: manager},
		); err != nil {
			return fmt.Errorf("unable to update the target node with providerID: %w", err)
		}
	default:
		return fmt.Errorf("node %s using unsupported providerID format: %s", n.Name, n.Spec.ProviderID)
	}
	m.provisioned(id)
	return nil
}

func (m *metal3Machine) nameByHostname(ctx context.Context, client kubernetes.Interface, nodes []corev1.Node) (time.Duration, error) {
	h, _ := m.host()
	for i := range nodes {
		if h != nil && nodes[i].Labels[corev1.LabelHostname] == apiobject.Text(h, "status", "hardware", "hostname") {
			return 0, m.name(ctx, client, &nodes[i])
		}
	}
	return requeueAfter, nil
}
