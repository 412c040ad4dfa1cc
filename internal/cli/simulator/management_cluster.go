package simulator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

// What is made with --cluster: the Cluster's name, its release, and what else its template needs.
const (
	clusterName    = "lab"
	clusterVersion = "4.20.32"

	// pullSecretAndRelease are a pull secret for a registry that is never called, and the release as the hub knows it.
	pullSecretAndRelease = `
apiVersion: v1
kind: Secret
metadata: {name: pull-secret, namespace: ${NAMESPACE}, labels: {clusterctl.cluster.x-k8s.io/move: ""}}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"quay.io":{"auth":"dTpw"}}}'}
---
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: img${OPENSHIFT_VERSION}}
spec: {releaseImage: "quay.io/openshift-release-dev/ocp-release:${OPENSHIFT_VERSION}-x86_64"}
---
`
)

// flavours are the templates whose machines --hosts has, and the workers of each.
func flavours() map[string]int { return map[string]int{"sno": 0, "compact": 0, "ha": 3, "metal3": 3} }

// clusterOf is what is made with --cluster, as objects of YAML.
func (o *managementOptions) clusterOf() ([]byte, error) {
	workers, known := flavours()[o.Cluster]
	if !known {
		return nil, app.Usagef("--cluster %s: the templates that it takes are compact, ha, metal3 and sno", listtext.Quoted(o.Cluster))
	}
	masters := 3
	if o.Cluster == "sno" {
		masters = 1
	}
	if o.Hosts < masters+workers || o.Workloads == 0 || o.Apart {
		return nil, app.Usagef("--cluster %s needs %d machines (--hosts), a workload server and the providers", o.Cluster, masters+workers)
	}
	files, err := components.Files(components.Options{})
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"CLUSTER_NAME": clusterName, "NAMESPACE": o.Namespace, "CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(masters),
		"WORKER_MACHINE_COUNT": strconv.Itoa(workers),
		"OPENSHIFT_VERSION":    clusterVersion, "OPENSHIFT_BASE_DOMAIN": "example.com", "OPENSHIFT_MACHINE_NETWORK": "192.168.127.0/24",
		"OPENSHIFT_API_VIP": "192.168.127.100", "OPENSHIFT_INGRESS_VIP": "192.168.127.101",
		"OPENSHIFT_IMAGE_URL":      "http://images.example.com/rhcos.qcow2",
		"OPENSHIFT_IMAGE_CHECKSUM": "http://images.example.com/rhcos.qcow2.sha256",
	}
	for _, f := range files {
		if f.Name == "cluster-template-"+o.Cluster+".yaml" {
			return components.Expand(append([]byte(pullSecretAndRelease), f.Content...), func(name string) (string, bool) {
				value, given := values[name]
				return value, given
			}), nil
		}
	}
	return nil, fmt.Errorf("there is no template %s", o.Cluster)
}

// clusterKubeconfig is where the Cluster's kubeconfig is while it is played.
func (o *managementOptions) clusterKubeconfig() string {
	return filepath.Join(o.Dir, clusterName+".kubeconfig")
}

// makeCluster makes the objects, follows the Cluster until it is Available, and has its kubeconfig in the folder
// until ctx ends.
func (o *managementOptions) makeCluster(ctx context.Context, connection *rest.Config, objects []byte) error {
	kubeconfig, err := management.MakeCluster(ctx, connection, o.Namespace, clusterName, objects, func(message string) {
		o.Say("Cluster %s: %s", clusterName, message)
	})
	if err != nil {
		return err
	}
	path := o.clusterKubeconfig()
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return err
	}
	o.Say("Cluster %s is Available. Its kubeconfig is %s.", clusterName, listtext.Quoted(path))
	<-ctx.Done()
	return os.Remove(path) // as all that is played
}
