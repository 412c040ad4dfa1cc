package hub

import (
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretValue is the value of a key of a Secret.
func secretValue(u *unstructured.Unstructured, key string) ([]byte, error) {
	encoded, found, err := unstructured.NestedString(u.Object, "data", key)
	if err != nil || !found {
		return nil, fmt.Errorf("the Secret %s/%s has no key %s", u.GetNamespace(), u.GetName(), key)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("the key %s of the Secret %s/%s cannot be read", key, u.GetNamespace(), u.GetName())
	}
	return data, nil
}
