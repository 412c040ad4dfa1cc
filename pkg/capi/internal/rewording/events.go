package rewording

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// longestEvent is how many bytes the note of an event may have: an API server refuses a longer one.
const longestEvent = 1024

// Recorder records events whose notes every API server takes.
type Recorder struct{ events.EventRecorder }

// Eventf records an event, with its note cut where it is too long.
func (r Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", Short(fmt.Sprintf(note, args...), longestEvent))
}
