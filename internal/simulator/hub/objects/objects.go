package objects

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is any object of the API server.
type Object = unstructured.Unstructured

// ToJSON encodes a value; "" where it cannot be encoded.
func ToJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// SameJSON tells whether two texts are the same JSON. What is no JSON is
// compared as it is.
func SameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return ToJSON(x) == ToJSON(y)
}
