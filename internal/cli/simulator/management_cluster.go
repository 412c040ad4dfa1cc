package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

// What is made with --cluster: the Cluster's name, its release, and what its template needs besides.
const (
	clusterName    = "lab"
	clusterVersion = "4.20.32"

	// pullSecretAndRelease are a pull secret for a registry that nobody asks, and the release as the hub knows it.
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
		return nil, base.Usagef("--cluster %s: the templates that it takes are compact, ha, metal3 and sno", names.Quoted(o.Cluster))
	}
	masters := 3
	if o.Cluster == "sno" {
		masters = 1
	}
	if o.Hosts < masters+workers || o.Workloads == 0 || o.Apart {
		return nil, base.Usagef("--cluster %s needs %d machines (--hosts), a workload server and the providers", o.Cluster, masters+workers)
	}
	files, err := components.Files(components.Options{})
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"CLUSTER_NAME": clusterName, "NAMESPACE": o.Namespace, "CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(masters), "WORKER_MACHINE_COUNT": strconv.Itoa(workers),
		"OPENSHIFT_VERSION": clusterVersion, "OPENSHIFT_BASE_DOMAIN": "example.com", "OPENSHIFT_MACHINE_NETWORK": "192.168.127.0/24",
		"OPENSHIFT_API_VIP": "192.168.127.100", "OPENSHIFT_INGRESS_VIP": "192.168.127.101",
		"OPENSHIFT_IMAGE_URL": "http://images.example.com/rhcos.qcow2", "OPENSHIFT_IMAGE_CHECKSUM": "http://images.example.com/rhcos.qcow2.sha256",
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

// makeCluster makes the objects, follows the Cluster until it is Available, and has its kubeconfig in the folder
// until ctx ends.
func (o *managementOptions) makeCluster(ctx context.Context, connection *rest.Config, objects []byte) error {
	c, err := client.New(connection, client.Options{})
	if err != nil {
		return err
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(objects), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if u.Object == nil {
			continue
		}
		if err := makeSoon(ctx, c, u); err != nil {
			return fmt.Errorf("make %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	cluster := &unstructured.Unstructured{}
	cluster.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	cluster.SetKind("Cluster")
	for last := ""; ; {
		if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: clusterName}, cluster); err != nil {
			return err
		}
		available, message := conditionOf(cluster, "Available")
		if available {
			break
		}
		if message = strings.Join(strings.Fields(message), " "); message != last {
			o.Say("Cluster %s: %s", clusterName, message)
			last = message
		}
		if err := clock.Real().Sleep(ctx, time.Second); err != nil {
			return nil //nolint:nilerr // it is over
		}
	}
	kubeconfig := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: clusterName + "-kubeconfig"}, kubeconfig); err != nil {
		return err
	}
	path := filepath.Join(o.Dir, clusterName+".kubeconfig")
	if err := os.WriteFile(path, kubeconfig.Data["value"], 0o600); err != nil {
		return err
	}
	o.Say("Cluster %s is Available. Its kubeconfig is %s.", clusterName, names.Quoted(path))
	<-ctx.Done()
	return os.Remove(path) // as all that is played
}

// makeSoon makes an object as soon as the webhooks answer that it is shown to, unless it is there.
func makeSoon(ctx context.Context, c client.Client, o client.Object) (err error) {
	const patience = 120 // seconds, in which a process certainly listens
	for range patience {
		if err = client.IgnoreAlreadyExists(c.Create(ctx, o)); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			return err
		}
		if err := clock.Real().Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return err
}

func conditionOf(u *unstructured.Unstructured, kind string) (is bool, message string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, each := range conditions {
		if c, _ := each.(map[string]any); c["type"] == kind {
			message, _ = c["message"].(string)
			return c["status"] == "True", message
		}
	}
	return false, ""
}
