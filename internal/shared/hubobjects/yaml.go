package hubobjects

import (
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// longHex matches hints of disks that many YAML readers take for a number, however long it
// is, and that the writer takes for text.
var longHex = regexp.MustCompile(`(?m)^( *(?:- )?(?:wwn\w*|serialNumber): )(0x[0-9A-Fa-f]+)$`)

// YAML writes a value so that every YAML reader takes the hints of disks for text.
func YAML(value any) ([]byte, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return longHex.ReplaceAll(text, []byte(`${1}"${2}"`)), nil
}
