package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// etcdWatch holds the two objects in which the etcd operator speaks of members. Where they are watched,
// a look costs no request, and a change of them is news.
type etcdWatch struct {
	operator  *store[*unstructured.Unstructured, map[string]condition]
	endpoints *store[*corev1.ConfigMap, map[string]string]
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
	w := &etcdWatch{
		operator: newStore("etcd operator", c.news, etcdConditions),
		endpoints: newStore("etcd members", c.news, func(m *corev1.ConfigMap) map[string]string {
			return m.Data
		}),
	}
	one := func(o metav1.ListOptions, name string) metav1.ListOptions {
		o.FieldSelector = metav1.ObjectNameField + "=" + name
		return o
	}
	operators, maps := c.Dynamic.Resource(etcds), c.Core.ConfigMaps(etcdSpace)
	go follow(life, w.operator, &unstructured.Unstructured{}, lister{
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return operators.List(ctx, one(o, etcdName))
		},
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return operators.Watch(ctx, one(o, etcdName))
		},
	})
	go follow(life, w.endpoints, &corev1.ConfigMap{}, lister{
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, one(o, etcdEndpoints))
		},
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, one(o, etcdEndpoints))
		},
	})
	return w
}

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
		operator, known := c.etcdWatch.operator.now(etcdName)
		endpoints, too := c.etcdWatch.endpoints.now(etcdEndpoints)
		if known && too {
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

// now is the value of an object, if all that there is came by a watch that works.
func (s *store[O, V]) now(name string) (value V, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.synced || s.failing != nil {
		return value, false
	}
	value, known = s.values[name]
	return value, known
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
