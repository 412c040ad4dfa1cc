package live

import (
	"cmp"
	"regexp"
	"strings"
)

// HostnameIn is what a machine calls itself that runs with these configs: by a unit that has
// hostnamectl set it, else by the file /etc/hostname; "" where neither is there. What a unit
// runs is read and not run: a script that names METADATA_NAME sets what the metadata of the
// machine's config drive, by their own keys, say of name.
func HostnameIn(metadata map[string]string, configs ...[]byte) (string, error) {
	s, err := readSystem(configs)
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
