//go:build e2e

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// missed waits until etcd has missed a machine that is off.
func (s *shrinking) missed(t *testing.T, name string) {
	t.Helper()
	s.played.PowerOff(name)
	for range 400 {
		n := must.Get(s.kube.Client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}))(t)
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status != "True" {
				must.Do(t, s.clock.Sleep(t.Context(), 2*time.Minute))
				return
			}
		}
		must.Do(t, s.clock.Sleep(t.Context(), 5*time.Second))
	}
	t.Fatalf("%s is not missed", name)
}

// TestReplaceNode is what the command says before anything is done.
func TestReplaceNode(t *testing.T) {
	s := newShrinking(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "nodes.yaml")
	text := `apiVersion: oaictl.io/v1alpha1
kind: Nodes
spec:
  cluster: lab
  hosts:
  - {name: cp-3, role: control-plane, match: {mac: "52:54:00:00:02:13"}}
  - {name: w-3, role: worker, match: {mac: "52:54:00:00:02:14"}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:02:15"}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:00:02:16"}}
`
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	to := " --dir " + dir + " --cluster-kubeconfig " + s.kubeconfig
	say := func(line, input string, code int, says ...string) outcome {
		t.Helper()
		got := s.run(t, input, line)
		if got.code != code {
			t.Errorf("%s: code %d\n%s%s", line, got.code, got.out, got.errors)
		}
		for _, words := range says {
			if !strings.Contains(got.out+got.errors, words) {
				t.Errorf("%s: %q is not in\n%s%s", line, words, got.out, got.errors)
			}
		}
		return got
	}
	flags := " --cluster lab --name cp-3 --mac 52:54:00:00:02:13" + to
	say("replace-node"+flags, "", 2, "needs one NODE")
	say("replace-node cp-1 cp-2"+flags, "", 2, "needs one NODE")
	say("replace-node cp-1"+to, "", 2, "replace-node needs -f FILE")
	say("replace-node cp-1 --detach"+flags, "", 2, "cannot be detached")
	say("replace-node cp-1 --drain-timeout -1s"+flags, "", 2, "never negative")
	say("replace-node cp-1 -f "+file+to, "", 2, "the file has several hosts; choose the host that replaces")
	say("replace-node cp-1 --with cp-7 -f "+file+to, "", 2, `--with "cp-7" is not a host of the file`)
	say("replace-node cp-1 --with w-3 -f "+file+to, "", 2, "w-3 has the role worker")
	say("replace-node w-1 --force"+flags, "", 3, "replace w-1: it is not a node of the control plane", "remove-node w-1")
	say("replace-node cp-7"+flags, "", 5, "neither the cluster nor the service has a node or a host cp-7")
	say("replace-node cp-1 --with cp-1 --force -f "+file+to, "", 3, "the two cannot have the same name")
	say("replace-node cp-1 --with cp-2 --force -f "+file+to, "", 3, "cp-2 is already a node of the cluster: it cannot replace cp-1, without which the control plane has 2 nodes")
	say("replace-node cp-1 --force --cluster lab --name w-0 --mac 52:54:00:00:02:20"+to, "", 3, "w-0 is already a node of the cluster")
	say("replace-node cp-1"+flags, "", 3, "(use --force to override): openshift-etcd/etcd-guard-cp-1")
	say("replace-node cp-1 --dry-run"+flags, "", 0, "In the way", "(use --force to override): openshift-etcd/etcd-guard-cp-1")
	say("replace-node cp-1 --force --dry-run"+flags, "", 0, "First cp-3 joins lab.example.com:", "Then DESTRUCTIVE: cp-1 leaves lab.example.com:\n  - cordon cp-1")
	say("replace-node cp-1 --force"+flags, "", 9, "a backup of etcd is needed first", "node/cp-0 -- chroot /host /usr/local/bin/cluster-backup.sh", "--backup-taken")
	say("replace-node cp-1 --force"+flags, "n\n", 9, "have you taken the backup, and copied it from the node? [y/N]")

	s.missed(t, "cp-1")
	say("replace-node cp-1 --with cp-2 --yes --backup-taken -f "+file+to, "", 3, "cp-2 is already a node of the cluster")
	got := say("replace-node cp-1 --dry-run"+flags, "", 0, "DESTRUCTIVE: cp-1 leaves lab.example.com:\n  - cordon cp-1", "wait for a person to remove the member of cp-1 from etcd: oc -n openshift-etcd rsh etcd-cp-0 etcdctl member remove ",
		"delete the certificates of its member: etcd-peer-cp-1", "Then cp-3 joins lab.example.com:")
	if strings.Contains(got.out, "evict") {
		t.Errorf("a dead node is drained:\n%s", got.out)
	}
	say("replace-node cp-1 --backup-taken"+flags, "", 2, "needs --yes, because there is no terminal for the question")
	say("replace-node cp-1"+flags, "n\n", 1, "not confirmed; nothing was done") // the user is not asked about the backup again
	check.Contains(t, string(must.Get(os.ReadFile(filepath.Join(dir, "lab", "etcd-backups.jsonl")))(t)), `"node":"cp-1","by":"--backup-taken"`)
	if is := s.nodes(t); is != "cp-0, cp-1, cp-2, w-0, w-1" || len(s.calls) > 0 {
		t.Errorf("nodes %s, calls %v", is, s.calls)
	}
}
