package kube

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Meta is the metadata of an object.
type Meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Created         metav1.Time       `json:"creationTimestamp"`
	Owners          []Owner           `json:"ownerReferences"`
}

// Owner is an owner reference.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Condition is a condition of any kind of object.
type Condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	Reason             string      `json:"reason"`
	Message            string      `json:"message"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// holds reports whether a condition has the status True.
func holds(conditions []Condition, kind string) bool {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status == string(metav1.ConditionTrue)
		}
	}
	return false
}

// Node is a Node.
type Node struct {
	Meta `json:"metadata"`
	Spec struct {
		Taints []map[string]any `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []Condition `json:"conditions"`
		Addresses  []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
		NodeInfo struct {
			SystemUUID string `json:"systemUUID"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// Ready reports whether the kubelet says that it is ready.
func (n *Node) Ready() bool { return holds(n.Status.Conditions, "Ready") }

// Addresses are the node's internal addresses.
func (n *Node) Addresses() []string {
	var all []string
	for _, a := range n.Status.Addresses {
		if a.Type == "InternalIP" {
			all = append(all, a.Address)
		}
	}
	return all
}

// HasRole reports whether the node has a role, such as master.
func (n *Node) HasRole(role string) bool {
	_, has := n.Labels["node-role.kubernetes.io/"+role]
	return has
}

// uninitialized is the taint of a node that waits for a cloud provider.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// Uninitialized reports whether the node waits for a cloud provider.
func (n *Node) Uninitialized() bool {
	for _, taint := range n.Spec.Taints {
		if taint["key"] == uninitialized {
			return true
		}
	}
	return false
}

// Request is a CertificateSigningRequest.
type Request struct {
	Meta `json:"metadata"`
	Spec struct {
		Signer   string   `json:"signerName"`
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
		Usages   []string `json:"usages"`
		PEM      []byte   `json:"request"`
	} `json:"spec"`
	Status struct {
		Conditions  []Condition `json:"conditions"`
		Certificate []byte      `json:"certificate"`
	} `json:"status"`
}

// Pod is a Pod.
type Pod struct {
	Meta   `json:"metadata"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// Event is an Event of core/v1.
type Event struct {
	Meta    `json:"metadata"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Job is a Job.
type Job struct {
	Meta   `json:"metadata"`
	Status struct {
		Failed     int64       `json:"failed"`
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Failed reports whether a pod of the job failed, or the job as a whole.
func (j *Job) Failed() bool { return j.Status.Failed > 0 || holds(j.Status.Conditions, "Failed") }

// ClusterOperator is a ClusterOperator.
type ClusterOperator struct {
	Meta   `json:"metadata"`
	Status struct {
		Conditions []Condition `json:"conditions"`
		Versions   []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"versions"`
	} `json:"status"`
}

// ClusterVersion is the ClusterVersion.
type ClusterVersion struct {
	Meta   `json:"metadata"`
	Status struct {
		Conditions []Condition `json:"conditions"`
		Desired    struct {
			Version string `json:"version"`
		} `json:"desired"`
		Capabilities struct {
			Enabled []string `json:"enabledCapabilities"`
			Known   []string `json:"knownCapabilities"`
		} `json:"capabilities"`
	} `json:"status"`
}

// Available reports whether the cluster is of its version.
func (v *ClusterVersion) Available() bool { return holds(v.Status.Conditions, "Available") }

// Proxy is the proxy of the cluster; empty where there is none.
type Proxy struct {
	HTTP  string `json:"httpProxy"`
	HTTPS string `json:"httpsProxy"`
	No    string `json:"noProxy"`
}

// ServiceVersion is a ClusterServiceVersion of OLM.
type ServiceVersion struct {
	Meta `json:"metadata"`
	Spec struct {
		Version string `json:"version"`
	} `json:"spec"`
	Status struct {
		Phase   string `json:"phase"`
		Message string `json:"message"`
	} `json:"status"`
}

// InstallPlan is an InstallPlan of OLM.
type InstallPlan struct {
	Meta   `json:"metadata"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// OwnedBy reports whether the plan is of a Subscription.
func (p *InstallPlan) OwnedBy(subscription string) bool {
	for _, owner := range p.Owners {
		if owner.Name == subscription && (owner.Kind == "" || owner.Kind == "Subscription") {
			return true
		}
	}
	return false
}

// BareMetalHost is a BareMetalHost of Metal³.
type BareMetalHost struct {
	Meta `json:"metadata"`
	Spec struct {
		ExternallyProvisioned bool       `json:"externallyProvisioned"`
		Consumer              *Reference `json:"consumerRef"`
	} `json:"spec"`
	Status struct {
		Provisioning struct {
			State string `json:"state"`
		} `json:"provisioning"`
		Hardware struct {
			Hostname string `json:"hostname"`
			NICs     []struct {
				IP string `json:"ip"`
			} `json:"nics"`
		} `json:"hardware"`
	} `json:"status"`
}

// Reference refers to an object.
type Reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// Machine is a Machine of the Machine API.
type Machine struct {
	Meta `json:"metadata"`
}

// Worker reports whether the machine becomes a worker.
func (m *Machine) Worker() bool {
	return m.Labels["machine.openshift.io/cluster-api-machine-role"] == "worker"
}

// Reference refers to the machine.
func (m *Machine) Reference() Reference {
	return Reference{APIVersion: machineAPI + "/v1beta1", Kind: "Machine", Namespace: m.Namespace, Name: m.Name}
}

// MachineConfig is a MachineConfig, of which only the metadata is read.
type MachineConfig struct {
	Meta `json:"metadata"`
}

// MachineConfigPool is a MachineConfigPool.
type MachineConfigPool struct {
	Meta `json:"metadata"`
	Spec struct {
		Paused bool `json:"paused"`
	} `json:"spec"`
}

// selector is a label selector.
func selector(labels map[string]string) string {
	var parts []string
	for name, value := range labels {
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, ",")
}
