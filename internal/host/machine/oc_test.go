//go:build linux

package machine

import "testing"

// TestOC: must-gather changes nothing on this machine; of other commands of oc that is not known.
func TestOC(t *testing.T) {
	for _, c := range []struct {
		args []string
		want Effect
	}{
		{[]string{"adm", "must-gather"}, Looks}, {[]string{"adm", "must-gather", "--dest-dir=/tmp/a"}, Looks}, {[]string{"adm"}, Changes},
		{[]string{"adm", "drain"}, Changes}, {[]string{"--kubeconfig=a", "adm", "must-gather"}, Changes}, {nil, Changes},
	} {
		if got, known := effectOf(Command{Name: "oc", Args: c.args}); got != c.want || !known {
			t.Errorf("%q: %d, known %t", c.args, got, known)
		}
	}
}
