package machines_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// TestIsArbiter: the label that the documentation of spec.config.arbiterReplicas names is the one that is read.
func TestIsArbiter(t *testing.T) {
	for value, is := range map[string]bool{"arbiter": true, "worker": false, "": false} {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"oaictl.io/role": value}}}
		if machines.IsArbiter(m) != is {
			t.Errorf("oaictl.io/role: %q is an arbiter: %v", value, !is)
		}
	}
	if machines.IsArbiter(&clusterv1.Machine{}) {
		t.Error("a Machine without labels is an arbiter")
	}
}
