package objects

import "strings"

// The service's tags are one text with commas; each may hold letters, digits,
// underscores and spaces.
const (
	ownTag    = "oaictl"
	runPrefix = "oaictl_run_"
)

// runMark is a run's mark as it may stand in a tag.
func runMark(run string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '_' || (r >= '0' && r <= '9') || (r >= 'A' && r <= 'Z') || (r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, run), "_")
}

// WriteTags is the text that marks a cluster as ours, with the user's own tags
// behind.
func WriteTags(run string, users []string) string {
	tags := []string{ownTag}
	if mark := runMark(run); mark != "" {
		tags = append(tags, runPrefix+mark)
	}
	return strings.Join(append(tags, users...), ",")
}

// readTags takes a cluster's tags apart. ours is the mark of the run that asks:
// its own clusters come back with the mark as it was given, not as it had to
// be written.
func readTags(text, ours string) (owned bool, run string, users []string) {
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.TrimSpace(tag)
		mark, isRun := strings.CutPrefix(tag, runPrefix)
		switch {
		case tag == "":
		case tag == ownTag:
			owned = true
		case isRun && mark != "":
			run = mark
			if ours != "" && mark == runMark(ours) {
				run = ours
			}
		default:
			users = append(users, tag)
		}
	}
	return owned, run, users
}
