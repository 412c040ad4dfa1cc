package spoke

import (
	"context"
	"fmt"
	"hash/fnv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setUpEtcd makes what the etcd operator keeps: members, certificates, and that all is well.
func (s *Spoke) setUpEtcd(ctx context.Context) error {
	endpoints := fields{}
	members := s.cluster.members()
	if s.cluster.Joining {
		members = nil // those are made that join
	}
	for _, node := range members {
		endpoints[memberID(node.Name)] = node.Addresses[0].String()
		if err := s.setUpMember(ctx, node.Name); err != nil {
			return err
		}
	}
	// A member that a person has removed before is not brought back by a later write: data are replaced as a whole.
	if err := s.objectsOf(kindConfigMap, nsEtcd).Delete(ctx, etcdEndpoints, metav1.DeleteOptions{}); ignoreGone(err) != nil {
		return fmt.Errorf("make the etcd endpoints anew: %w", err)
	}
	now := metav1.NewTime(s.clock.Now())
	return s.apply(ctx,
		object{kind: kindConfigMap, namespace: nsEtcd, name: etcdEndpoints, fields: fields{"data": endpoints}},
		object{kind: kindEtcd, name: "cluster", fields: fields{
			"spec": fields{"managementState": "Managed"}, "status": fields{"conditions": etcdConditions(etcdMembers{all: len(endpoints)}, now)},
		}},
	)
}

const etcdEndpoints = "etcd-endpoints"

func (s *Spoke) setUpMember(ctx context.Context, node string) error {
	for _, name := range memberSecrets(node) {
		made, err := s.newCertificate("system:etcd-peer:"+name, nil, node)
		if err != nil {
			return fmt.Errorf("make the certificate %s: %w", name, err)
		}
		if err := s.create(
			ctx, secret(nsEtcd, name, "kubernetes.io/tls", map[string][]byte{"tls.crt": made.CertPEM, "tls.key": made.KeyPEM}),
		); err != nil {
			return err
		}
	}
	return nil
}

func memberSecrets(node string) []string {
	return []string{"etcd-peer-" + node, "etcd-serving-" + node, "etcd-serving-metrics-" + node}
}

// memberID is the id of a node's member, as etcd-endpoints has it.
func memberID(node string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node)) // which cannot fail
	return fmt.Sprintf("%x", h.Sum64())
}

// etcdMembers are those of etcd: how many there are, and which are not well.
type etcdMembers struct {
	all                  int
	unhealthy, unstarted []string
}

func (m etcdMembers) text() string {
	ill := len(m.unhealthy) + len(m.unstarted)
	if ill == 0 {
		return fmt.Sprintf("%d members are available", m.all)
	}
	text := fmt.Sprintf("%d of %d members are available", m.all-ill, m.all)
	for _, name := range m.unstarted {
		text += ", " + name + " has not started"
	}
	for _, name := range m.unhealthy {
		text += ", " + name + " is unhealthy"
	}
	return text
}

func etcdConditions(m etcdMembers, now metav1.Time) []any {
	degraded := condition("EtcdMembersDegraded", "False", "AsExpected", "No unhealthy members found", now)
	if len(m.unhealthy)+len(m.unstarted) > 0 {
		degraded = condition("EtcdMembersDegraded", "True", "UnhealthyMembers", m.text(), now)
	}
	progressing := condition("EtcdMembersProgressing", "False", "AsExpected", "No unstarted etcd members found", now)
	if len(m.unstarted) > 0 {
		progressing = condition("EtcdMembersProgressing", "True", "MembersNotStarted", m.text(), now)
	}
	available := condition("EtcdMembersAvailable", "True", "EtcdQuorate", m.text(), now)
	if m.all-len(m.unhealthy)-len(m.unstarted) <= m.all/2 {
		available = condition("EtcdMembersAvailable", "False", "NoQuorum", m.text(), now)
	}
	return []any{
		degraded, progressing, available,
		condition("EtcdMembersControllerDegraded", "False", "MembersReported", "", now),
		condition("EtcdEndpointsDegraded", "False", "EtcdEndpointsUpdated", "", now),
	}
}
