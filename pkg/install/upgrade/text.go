package upgrade

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// workingPrefix begins what the cluster version operator says of an update that goes on:
//
//	Working towards 4.20.5: 706 of 903 done (78% complete), waiting on machine-config
const workingPrefix = "Working towards "

// counts is how much of that is done.
var counts = regexp.MustCompile(`^\d+ of \d+ done \((\d+)% complete\)(?:, )?`)

// progress is how far the cluster is on its way, and a text that does not change more often than
// that and the operators that are waited for.
func (q *question) progress() (percent *int32, text string) {
	told, to := oneLine(q.cv.Conditions[conditionProgressing].Message), q.target.name()
	rest, working := strings.CutPrefix(told, workingPrefix+to)
	switch {
	case !strings.Contains(told, to), working && rest != "" && rest[0] != ':':
		return nil, "Update to " + to + " begins"
	case !working:
		return nil, told
	}
	rest = strings.TrimSpace(strings.TrimPrefix(rest, ":"))
	text = "Update to " + to + " is under way"
	if found := counts.FindStringSubmatch(rest); found != nil {
		if done, err := strconv.ParseInt(found[1], 10, 32); err == nil {
			percent = new(int32(min(done, 100)))
			text = fmt.Sprintf("Update to %s is %d%% complete", to, *percent)
		}
		rest = rest[len(found[0]):]
	}
	if rest != "" {
		text += ", " + rest
	}
	return percent, text
}

// longest is how much of what a cluster says is passed on.
const longest = 700

// unsaid takes the place of a message that the cluster does not give.
const unsaid = "it does not say why"

// says is why a condition has its status, as far as the cluster gives a reason.
func (c condition) says() string { return cmp.Or(oneLine(c.Message), oneLine(c.Reason), unsaid) }

// oneLine is a text of the cluster, fit for a condition's message: without secrets, and without characters that steer a terminal.
func oneLine(text string) string {
	if len(text) > longest*longest {
		text = text[:longest*longest] // far more than is passed on, however much of it is space
	}
	text = escape.Word(redact.Text(strings.TrimRight(strings.Join(strings.Fields(text), " "), ".")))
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
