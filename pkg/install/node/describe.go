package node

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Description is what an installed cluster says of itself.
type Description struct {
	// Name and BaseDomain are those that its API is called by: api.NAME.DOMAIN.
	Name, BaseDomain string
	// ID is what it calls itself (ClusterVersion.spec.clusterID).
	ID string
	// Version is the release that it runs, such as 4.20.33.
	Version string
	// Arch is that of its nodes, or Multi where its release is for several.
	Arch spec.Arch
	// API is the URL of its API server.
	API string
	// PullSecret is the cluster's own; nothing where it was not asked for, or may not be read.
	PullSecret spec.Secret
}

var dnses = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "dnses"}

// Describe asks the cluster of a kubeconfig what it is, and with secrets for its pull secret. A
// fault says that it does not answer, or is no OpenShift.
func Describe(ctx context.Context, kubeconfig []byte, secrets bool) (Description, error) {
	fail := func(code model.Code, err error, next model.Advice) (Description, error) {
		return Description{}, &model.Fault{Code: code, Op: "look at", On: "the installed cluster", Permanent: true, Err: err, Next: next}
	}
	client, err := workloadclient.Connect(kubeconfig, workloadclient.Options{})
	if err != nil {
		return fail(model.CodeInput, fmt.Errorf("its kubeconfig cannot be used: %s", redact.Text(err.Error())),
			"give the kubeconfig of its administrator")
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(withoutLogging(ctx), callTimeout)
	defer cancel()
	c := &connection{Client: client, clock: clock.Real()}
	d, err := c.describe(ctx)
	if err == nil && secrets {
		d.PullSecret, err = c.pullSecret(ctx)
	}
	switch {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return fail(model.CodeAuth, err, "give the kubeconfig of its administrator")
	case err != nil:
		return fail(model.CodeFailure, err, "check that its API server can be reached from here")
	case d.ID == "" || d.Name == "":
		return fail(model.CodeInput, fmt.Errorf("%s is not an OpenShift cluster: it has no ClusterVersion, or no domain", client.Host),
			"give the kubeconfig of the cluster to which you add hosts")
	}
	return d, nil
}

func (c *connection) describe(ctx context.Context) (Description, error) {
	version, err := c.object(ctx, clusterVersions, "version")
	if err != nil {
		return Description{}, err
	}
	infrastructure, err := c.object(ctx, infrastructures, "cluster")
	if err != nil {
		return Description{}, err
	}
	dns, err := c.object(ctx, dnses, "cluster")
	if err != nil {
		return Description{}, err
	}
	d := Description{Version: currentVersion(version)}
	d.ID, _, _ = unstructured.NestedString(version, "spec", "clusterID")
	d.API, _, _ = unstructured.NestedString(infrastructure, "status", "apiServerURL")
	domain, _, _ := unstructured.NestedString(dns, "spec", "baseDomain")
	d.Name, d.BaseDomain, _ = strings.Cut(domain, ".")
	if many, _, _ := unstructured.NestedString(version, "status", "desired", "architecture"); many == "Multi" {
		d.Arch = spec.Multi
		return d, nil
	}
	nodes, err := c.Core.Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return d, listFault("nodes", err)
	}
	if len(nodes.Items) > 0 {
		d.Arch = archOf(nodes.Items[0].Status.NodeInfo.Architecture)
	}
	return d, nil
}

// archOf is an architecture as cluster.yaml has it, from Go's word for it.
func archOf(word string) spec.Arch {
	switch word {
	case "amd64":
		return spec.X86
	case "arm64":
		return spec.ARM
	}
	return spec.Arch(word)
}

// pullSecret is the one that the cluster pulls images with.
func (c *connection) pullSecret(ctx context.Context) (spec.Secret, error) {
	secret, err := c.Core.Secrets("openshift-config").Get(ctx, "pull-secret", metav1.GetOptions{})
	if err != nil {
		return spec.Secret{}, fmt.Errorf("read its pull secret: %w", err)
	}
	return spec.NewSecret(string(secret.Data[corev1.DockerConfigJsonKey])), nil
}
