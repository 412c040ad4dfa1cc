package bootstrap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestWithoutData: a cache keeps what shows which config a data Secret belongs to, and other Secrets as they are.
func TestWithoutData(t *testing.T) {
	for name, test := range map[string]struct{ data, want map[string][]byte }{
		"bootstrap data": {map[string][]byte{"value": []byte("ignition"), "format": []byte("ignition")}, map[string][]byte{"format": []byte("ignition")}},
		"a kubeconfig":   {map[string][]byte{"value": []byte("kubeconfig")}, map[string][]byte{"value": []byte("kubeconfig")}},
		"nothing":        {nil, nil},
	} {
		kept, err := WithoutData(&corev1.Secret{Data: test.data})
		if err != nil {
			t.Fatal(err)
		}
		secret, is := kept.(*corev1.Secret)
		if !is {
			t.Fatalf("%s: %T is kept", name, kept)
		}
		if diff := cmp.Diff(test.want, secret.Data); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if kept, err := WithoutData("gone"); kept != "gone" || err != nil {
		t.Errorf("what is no Secret became %v, %v", kept, err)
	}
}
