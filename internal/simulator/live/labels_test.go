package live_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/simulator/live"
)

func TestKubeletLabelsIn(t *testing.T) {
	metadata := map[string]string{"uuid": "u-1", "local-hostname": "host-1"}
	const runs = "[Service]\nType=oneshot\nExecStart=/bin/bash /usr/local/bin/set-name\n"
	for _, test := range []struct {
		name, unit, script string
		want               map[string]string
	}{
		{"variables and texts", runs,
			"echo \"CUSTOM_KUBELET_LABELS=rack=a,metal3.io/uuid=${METADATA_UUID},host=$METADATA_LOCAL_HOSTNAME\" >>/etc/kubernetes/kubelet-env\n",
			map[string]string{"rack": "a", "metal3.io/uuid": "u-1", "host": "host-1"}},
		{"a variable that is not there", runs,
			"echo CUSTOM_KUBELET_LABELS=rack=$METADATA_RACK,row=$(hostname),zone=\n", map[string]string{"zone": ""}},
		{"nothing about labels", runs, "echo hello\n", map[string]string{}},
		{"a script that no unit runs", "[Service]\nExecStart=/bin/true\n",
			"echo CUSTOM_KUBELET_LABELS=rack=a\n", map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := live.KubeletLabelsIn(metadata, provided(t, test.unit, test.script))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if _, err := live.KubeletLabelsIn(nil, fmt.Appendf(nil, `{"ignition": 7}`)); err == nil {
		t.Error("no config is read")
	}
}
