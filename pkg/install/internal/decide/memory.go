package decide

import (
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// reconsiderAfter is how long after a permanent refusal the same call is tried again where no user runs the command
// again: the cause, a quota or a permission, may have been cured, and no event reports that.
const reconsiderAfter = 10 * time.Minute

// rests reports whether what was refused is not to be tried at present.
func rests(r model.Refusal, unattended bool, now time.Time) bool {
	if r.Permanent {
		return !unattended || now.Before(r.Last.Add(reconsiderAfter))
	}
	return now.Before(r.Until)
}
