package userdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Metadata is what is known of a machine outside of the machine.
type Metadata struct {
	// Name and UUID are the name and UID of the machine's BareMetalHost or Agent.
	Name, UUID string
	// Namespace is that of its BareMetalHost, empty for an Agent.
	Namespace string
	// Values are further metadata by its keys on the config drive, and win. ValuesOf reads
	// them from the Secret that BareMetalHost.spec.metaData names.
	Values map[string]string
	// Hostname is the one that the service has recorded for the machine, and writes to the
	// installed system. Where it is set, the installed system does not ask its own metadata
	// for its name.
	Hostname string
}

// ValuesOf reads the metadata of a BareMetalHost: YAML, as its Secret has it below the key
// metaData. What is no string becomes JSON, as it does on the machine.
func ValuesOf(metaData []byte) (map[string]string, error) {
	var document map[string]any
	if err := yaml.Unmarshal(metaData, &document); err != nil {
		return nil, fmt.Errorf("read the metadata of the BareMetalHost: %w", err)
	}
	values := map[string]string{}
	for key, value := range document {
		switch value := value.(type) {
		case nil:
		case string:
			values[key] = value
		default:
			text, err := plainJSON(value)
			if err != nil {
				return nil, fmt.Errorf("read the metadata of the BareMetalHost: %s: %w", key, err)
			}
			values[key] = string(text)
		}
	}
	return values, nil
}

// plainJSON is JSON without escapes for HTML, as other programs write it.
func plainJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// variables are the metadata by the names that texts refer to it by. The keys are those that
// a config drive has by default.
func (m Metadata) variables() map[string]string {
	byKey := map[string]string{}
	set := func(value string, keys ...string) {
		for _, key := range keys {
			if value != "" {
				byKey[key] = value
			}
		}
	}
	set(m.UUID, "uuid")
	set(m.Name, "name", "local-hostname", "local_hostname")
	if m.Namespace != "" {
		set(m.Namespace, "metal3-namespace")
		set(m.Name, "metal3-name")
	}
	maps.Copy(byKey, m.Values)
	byVariable := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if key != "" {
			byVariable[variable(key)] = byKey[key]
		}
	}
	return byVariable
}

// variable is the name that a key of the metadata has in /etc/metadata_env.
func variable(key string) string {
	return "METADATA_" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, key)
}

// part is a piece of a text: itself, or a variable whose value stands there.
type part struct {
	Text     string `json:"text,omitempty"`
	Variable string `json:"variable,omitempty"`
}

var reference = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// refers reports whether a text has references.
func refers(text string) bool { return reference.MatchString(text) }

// parse cuts a text at its references.
func parse(text string) []part {
	var parts []part
	end := 0
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > end {
			parts = append(parts, part{Text: text[end:at[0]]})
		}
		name := text[max(at[2], at[4]):max(at[3], at[5])] // of the two groups one is -1
		parts = append(parts, part{Variable: name})
		end = at[1]
	}
	if end < len(text) {
		parts = append(parts, part{Text: text[end:]})
	}
	return parts
}

// Resolve is a text with the metadata in place of $METADATA_… and ${METADATA_…}. It is known
// if every variable is. The config drive of the machine wins over what Resolve says, so
// that Metadata should have the Values that it was made of; and where Discovery has set the
// hostname of a machine, the one that the machine reports is right.
func Resolve(text string, m Metadata) (value string, known bool) {
	variables := m.variables()
	var resolved strings.Builder
	for _, p := range parse(text) {
		if p.Variable == "" {
			resolved.WriteString(p.Text)
			continue
		}
		value, known := variables[p.Variable]
		if !known {
			return "", false
		}
		resolved.WriteString(value)
	}
	return resolved.String(), true
}

// Labels are the labels of the node that are known outside, for the caller to set. Install
// has the kubelet set all others.
func Labels(c Config, m Metadata) map[string]string {
	known := map[string]string{}
	for key, text := range c.Labels {
		if value, ok := Resolve(text, m); ok {
			known[key] = value
		}
	}
	return known
}
