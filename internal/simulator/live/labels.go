package live

import (
	"regexp"
	"strings"
)

// KubeletLabelsIn are the labels that a kubelet registers its node with. A unit of the Ignition config writes
// them to the kubelet's environment. The scripts of units are read and not run. In the value of a label
// METADATA_NAME is the value of the key name in the metadata of the machine's config drive. A label without a
// known value is left out.
func KubeletLabelsIn(metadata map[string]string, config []byte) (map[string]string, error) {
	s, err := readSystem(config)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, name := range s.order {
		written := writesLabels.FindStringSubmatch(s.runs(s.started[name]))
		if written == nil {
			continue
		}
		for pair := range strings.SplitSeq(written[1], ",") {
			label, value, is := strings.Cut(pair, "=")
			if variable := fromMetadata.FindStringSubmatch(value); variable != nil {
				value = metadataOf(metadata, variable[1])
				is = value != ""
			}
			if is && label != "" && !strings.Contains(label+value, "$") {
				labels[label] = value
			}
		}
	}
	return labels, nil
}

var writesLabels = regexp.MustCompile(`CUSTOM_KUBELET_LABELS=([^\s"'` + "`" + `]+)`)

// metadataOf is what metadata say under the name of a variable, as a script has it that makes variables of a config
// drive: upper case, without dashes. It is "" where they do not.
func metadataOf(metadata map[string]string, variable string) string {
	for key, value := range metadata {
		if strings.ReplaceAll(strings.ToUpper(key), "-", "_") == variable {
			return value
		}
	}
	return ""
}
