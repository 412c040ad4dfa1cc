package live

import (
	"cmp"
	"regexp"
	"strings"
)

// HostnameIn is the hostname that an Ignition config gives a machine. A unit that runs hostnamectl sets it,
// else the file /etc/hostname; it is empty without both. The scripts of units are read and not run. In a
// script METADATA_NAME is the value of the key name in the metadata of the machine's config drive.
func HostnameIn(metadata map[string]string, config []byte) (string, error) {
	s, err := readSystem(config)
	if err != nil {
		return "", err
	}
	for _, name := range s.order {
		if hostname := setBy(s.runs(s.started[name]), metadata); hostname != "" {
			return hostname, nil
		}
	}
	return strings.TrimSpace(s.files["/etc/hostname"]), nil
}

// runs is a unit's text with those of the files that it runs.
func (s *system) runs(unit string) string {
	text := unit
	for line := range strings.Lines(unit) {
		key, command, _ := strings.Cut(strings.TrimSpace(line), "=")
		if !strings.HasPrefix(key, "ExecStart") {
			continue
		}
		for word := range strings.FieldsSeq(command) {
			text += "\n" + s.files[strings.Trim(word, `'"`)]
		}
	}
	return text
}

var (
	setsHostname = regexp.MustCompile(`hostnamectl\s+(?:--\S+\s+)*(?:set-hostname|hostname)\s+['"]?([^\s'";]+)`)
	fromMetadata = regexp.MustCompile(`METADATA_([A-Z0-9_]+)`)
)

// setBy is the hostname that a script sets; "" where it sets none.
func setBy(script string, metadata map[string]string) string {
	call := setsHostname.FindStringSubmatch(script)
	if call == nil {
		return ""
	}
	if word := call[1]; !strings.ContainsAny(word, "$`") {
		return word
	}
	variable := fromMetadata.FindStringSubmatch(cmp.Or(firstWith(call[1], fromMetadata), script))
	if variable == nil {
		return ""
	}
	return metadataOf(metadata, variable[1])
}

// firstWith is a text that a pattern fits, or "".
func firstWith(text string, pattern *regexp.Regexp) string {
	if pattern.MatchString(text) {
		return text
	}
	return ""
}
