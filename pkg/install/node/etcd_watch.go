package node

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// etcdWatch holds the two objects in which the etcd operator speaks of members. Where they are watched,
// a look costs no request, and a change of them is news.
type etcdWatch struct {
	operator  *kubewatch.Store[*unstructured.Unstructured, map[string]condition]
	endpoints *kubewatch.Store[*corev1.ConfigMap, map[string]string]
}

// etcdWanted is whether the members of etcd are looked at.
type etcdWanted int

const (
	etcdUnwanted etcdWanted = iota
	etcdPolled
	etcdWatched
)

// Conditions of the etcd operator that are read.
const (
	etcdAvailable = "EtcdMembersAvailable"
	etcdUnsure    = "EtcdMembersControllerDegraded"
	etcdRolling   = "NodeInstallerProgressing"
)

// Names of those objects.
const (
	etcdName      = "cluster"
	etcdEndpoints = "etcd-endpoints"
)

// watchEtcd begins to watch the objects, until life ends.
func (c *connection) watchEtcd(life context.Context) *etcdWatch {
	of := func(name string) string { return metav1.ObjectNameField + "=" + name }
	return &etcdWatch{
		operator:  watch(life, c, "etcd operator", c.Dynamic.Resource(etcds), of(etcdName), etcdConditions),
		endpoints: watch(life, c, "etcd members", c.Core.ConfigMaps(etcdSpace), of(etcdEndpoints), etcdMembers),
	}
}

func etcdMembers(m *corev1.ConfigMap) map[string]string { return m.Data }

// etcdConditions are those conditions of the etcd operator that are read.
func etcdConditions(u *unstructured.Unstructured) map[string]condition {
	all, read := conditions(u), map[string]condition{}
	for _, name := range []string{etcdAvailable, etcdUnsure, etcdRolling} {
		read[name] = all[name]
	}
	return read
}

// seeEtcd is what is known of etcd, by the watches where they are wanted and have brought something,
// else read.
func (c *connection) seeEtcd(ctx context.Context, watched bool) (*model.Etcd, error) {
	if watched && !c.exact && c.etcdWatch != nil {
		operator, endpoints := c.etcdWatch.operator.Get(etcdName), c.etcdWatch.endpoints.Get(etcdEndpoints)
		failing := cmp.Or(c.etcdWatch.operator.Failing(), c.etcdWatch.endpoints.Failing())
		if failing == nil && operator != nil && endpoints != nil {
			return c.etcdOf(operator, endpoints), nil
		}
	}
	if c.etcd == nil || !c.etcdRead.Equal(c.polled) {
		var err error
		if c.etcd, err = c.readEtcd(ctx); err != nil {
			return nil, err
		}
		c.etcdRead = c.polled
	}
	if watched && c.etcd != nil && c.etcdWatch == nil && c.beginEtcd != nil {
		c.etcdWatch = c.beginEtcd()
	}
	return c.etcd, nil
}

// readInstalled reads how many members the cluster was installed with, which never changes.
func (c *connection) readInstalled(ctx context.Context) error {
	if c.etcdInstalled > 0 {
		return nil
	}
	installed, err := c.configMap(ctx, "kube-system", "cluster-config-v1")
	c.etcdInstalled = membersInstalled(installed["install-config"])
	return err
}
