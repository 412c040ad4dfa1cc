// Package manifests makes the manifests with which a bootstrap starts the controller in the new cluster. They equal those of
// assisted-installer, so its controller runs with them as well.
package manifests

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Names of the controller's objects.
const (
	Namespace  = "assisted-installer"
	Controller = "assisted-installer-controller"
	configName = Controller + "-config"
	secretName = Controller + "-secret"
	// serviceName is the name by which the controller knows the service if only addresses are known.
	serviceName = "assisted-api.local.openshift.io"
)

// Options are what the manifests depend on.
type Options struct {
	ClusterID, ServiceURL string
	Insecure              bool
	CACertPath            string
	CheckClusterVersion   bool
	ControlPlaneCount     int
	SingleNode            bool
	MustGatherImage       string
	// PullSecretToken is the token for the service. It is in the Secret alone.
	PullSecretToken  string
	Image            string // the controller's
	OpenShiftVersion string
	NotifyNumReboots bool
	ServiceIPs       []string
	Rules            []Rule // what the controller may do
}

// File is a manifest. It is secret if Secret.
type File struct {
	Name    string
	Content []byte
	Secret  bool
}

// Render makes the manifests.
func Render(o Options) ([]File, error) {
	var files []File
	for _, object := range []struct {
		name   string
		value  any
		secret bool
	}{
		{"assisted-installer-controller-nm.yaml", namespace(), false},
		{"assisted-installer-controller-sa.yaml", serviceAccount(), false},
		{"assisted-installer-controller-role.yaml", clusterRole(o.Rules), false},
		{"assisted-installer-controller-role-binding.yaml", roleBinding(), false},
		{"assisted-installer-controller-network-policy.yaml", networkPolicy(), false},
		{"assisted-installer-controller-cm.yaml", configMap(o), false},
		{"assisted-installer-controller-secret.yaml", secret(o), true},
		{"assisted-installer-controller-pod.yaml", job(o), false},
	} {
		content, err := yaml.Marshal(object.value)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", object.name, err)
		}
		files = append(files, File{Name: object.name, Content: content, Secret: object.secret})
	}
	return files, nil
}

// SSHKey makes the MachineConfig that lets a key log in to the control plane nodes. The bootstrap fetches their logs with it.
func SSHKey(publicKey string) (File, error) {
	type user struct {
		Name              string   `json:"name"`
		SSHAuthorizedKeys []string `json:"sshAuthorizedKeys"`
	}
	config := machineConfig{
		head: head{APIVersion: "machineconfiguration.openshift.io/v1", Kind: "MachineConfig", Metadata: metadata{
			Name: "99-assisted-installer-master-ssh", Labels: map[string]string{"machineconfiguration.openshift.io/role": "master"},
		}},
		Spec: map[string]any{"config": map[string]any{
			"ignition": map[string]string{"version": "3.1.0"},
			"passwd":   map[string]any{"users": []user{{Name: "core", SSHAuthorizedKeys: []string{publicKey}}}},
		}},
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		return File{}, fmt.Errorf("render the MachineConfig of the SSH key: %w", err)
	}
	return File{Name: "99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml", Content: content}, nil
}
