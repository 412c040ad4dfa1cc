package manifests_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// TestStoredTextsAreRead: the API server stores no text that a typed client cannot read, or takes for ever to read. One
// object with such a text would make every list of its kind fail, in all namespaces.
func TestStoredTextsAreRead(t *testing.T) {
	times := []string{
		"2026-01-01T00:00:00Z", "2026-12-31T23:59:59.123456789+14:00", "2026-01-01T00:00:00-00:30", "2026-01-01t00:00:00Z", "2026-01-01T00:00:00z",
		"2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00:5Z", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
		"2026-01-01T23:59:60Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60", "2026-01-01T00:00:00+0000", "2026-01-01T00:00:00.Z", "2026-01-01 00:00:00Z",
		"2026-01-01T00:00Z", "2026-01-01T00:00:00", "0000-01-01T00:00:00Z", "12026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n",
	}
	quantities := []string{
		"1", "16Gi", "0.5", "1e3", "1E-9", "100m", "+5k", "9223372036854775807", ".5", "1e-1000000000", "1e2147483648", "1e1.5",
		strings.Repeat("9", 1<<20), "0." + strings.Repeat("9", 1<<20), "1Ki5", "",
	}
	found := map[string]int{}
	for name, definitions := range read(t, "crd") {
		walk(definitions[0].Object, func(schema map[string]any) {
			pattern, _ := schema["pattern"].(string)
			stored := regexp.MustCompile(pattern)
			switch {
			case schema["type"] == "string" && schema["format"] == "date-time":
				found["time"]++
				for i, text := range times {
					_, err := time.Parse(time.RFC3339, text)
					if is := stored.MatchString(text) && strfmt.IsDateTime(text); is && err != nil || !is && i < 3 {
						t.Errorf("%s: %q is stored: %t, and read: %v", name, text, is, err)
					}
				}
			case schema["x-kubernetes-int-or-string"] == true && strings.Contains(pattern, "KMGTPE"):
				found["quantity"]++
				for i, text := range quantities {
					switch is := stored.MatchString(text); {
					case is != (i < 9):
						t.Errorf("%s: %.40q is stored: %t", name, text, is)
					case is:
						if _, err := resource.ParseQuantity(text); err != nil {
							t.Errorf("%s: %q: %v", name, text, err)
						}
					}
				}
			}
		})
	}
	if found["time"] == 0 || found["quantity"] == 0 {
		t.Errorf("found %v", found)
	}
}

// walk visits all objects in a document.
func walk(o any, visit func(map[string]any)) {
	switch o := o.(type) {
	case map[string]any:
		visit(o)
		for _, value := range o {
			walk(value, visit)
		}
	case []any:
		for _, value := range o {
			walk(value, visit)
		}
	}
}
