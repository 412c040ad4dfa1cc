package install_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// telling is a service that tells of changes, at times since it began.
type telling struct {
	*plane
	at    []time.Duration
	began time.Time
	asked []time.Duration // when it was looked at
}

func (s *telling) Changed(model.Query) <-chan struct{} {
	given := make(chan struct{})
	for _, at := range s.at {
		if left := at - time.Since(s.began); left > 0 {
			time.AfterFunc(left, func() { close(given) })
			break
		}
	}
	return given
}

// A run looks again at once when the service tells that something has changed, and not before
// what comes together has come.
func TestRunIsWoken(t *testing.T) {
	for name, test := range map[string]struct {
		at       []time.Duration
		interval time.Duration
		looks    int           // in the two minutes that it has
		within   time.Duration // of a change, the next look
	}{
		"told of nothing":                {looks: 18},
		"told once":                      {at: []time.Duration{63 * time.Second}, looks: 19, within: 100 * time.Millisecond},
		"told twice":                     {at: []time.Duration{63 * time.Second, 64 * time.Second}, looks: 20, within: 100 * time.Millisecond},
		"told often, and looked at once": {at: []time.Duration{63 * time.Second, 63*time.Second + 50*time.Millisecond}, looks: 19, within: 100 * time.Millisecond},
		"told, and asked not to hurry":   {at: []time.Duration{63 * time.Second}, interval: 30 * time.Second, looks: 5, within: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := readyWorld(t, sample(3, 0))
				w.observed.Cluster.State = model.ClusterPreparing
				s := &telling{plane: &plane{world: w, still: true}, at: test.at, began: time.Now()}
				s.observe = func(int) error {
					s.asked = append(s.asked, time.Since(s.began))
					return nil
				}
				_, err := install.New(s, install.WithTimeouts(2*time.Minute, time.Hour), install.WithPollInterval(test.interval)).Run(t.Context(), s.desired)
				if model.CodeOf(err) != model.CodeTimeout {
					t.Fatal(err)
				}
				if len(s.asked) != test.looks {
					t.Errorf("looks at %v, want %d", s.asked, test.looks)
				}
				for _, at := range test.at {
					next := 2 * time.Minute
					for _, look := range s.asked {
						if look > at {
							next = min(next, look)
						}
					}
					if next-at > test.within {
						t.Errorf("the change at %s is looked at at %s", at, next)
					}
				}
			})
		})
	}
}

// A service that tells of nothing is looked at from time to time.
func TestNothingIsToldByAServiceThatIsAsked(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	if changed := install.New(&plane{world: w}).Changed(w.desired, &w.observed); changed != nil {
		t.Error("there is something to wait for")
	}
}
