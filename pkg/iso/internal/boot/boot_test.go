package boot

import (
	"testing"
)

// TestPristine holds the image that everything else stands on: it boots as it is.
func TestPristine(t *testing.T) {
	needTools(t)
	made := makeLive(t)
	for _, w := range allWays() {
		t.Run(string(w), func(t *testing.T) {
			told := boot(t, w.start(t, made.path)...)
			if told.live != markerText || len(told.files) != 0 || len(told.errors) != 0 {
				t.Errorf("it reports %+v", told)
			}
		})
	}
}
