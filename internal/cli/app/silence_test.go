package app

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// answering is a server that takes so long for each request, zero: for ever, or refuses it.
type answering []time.Duration

const refuses = -1

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	takes := (*a)[0]
	*a = (*a)[1:]
	switch takes {
	case refuses:
		return nil, errors.New("connection refused")
	case 0:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	time.Sleep(takes)
	return &http.Response{StatusCode: http.StatusOK}, nil
}

// TestSilence reports once that a server leaves requests unanswered, soon at a terminal, and that it answers again.
// Each request is given up after 30 seconds and tried again.
func TestSilence(t *testing.T) {
	const quick, slow = time.Second, 7 * time.Second
	for name, test := range map[string]struct {
		terminal bool
		takes    answering
		told     []string // with the seconds
	}{
		"quick answers":             {true, answering{quick, quick, quick, quick, quick, quick, quick}, nil},
		"a slow one at a terminal":  {true, answering{quick, slow, quick}, []string{"6s the service a has not answered for 5s; still waiting", "8s the service a answers again"}},
		"a slow one elsewhere":      {false, answering{quick, slow, quick}, nil},
		"frozen at a terminal":      {true, answering{0, 0, quick}, []string{"5s the service a has not answered for 5s; still waiting", "1m1s the service a answers again"}},
		"frozen elsewhere":          {false, answering{0, 0, quick}, []string{"30s the service a has not answered for 30s; still waiting", "1m1s the service a answers again"}},
		"not there, as others tell": {true, answering{refuses, refuses, quick}, nil},
		"frozen twice, told each time": {true, answering{0, quick, 0, quick}, []string{
			"5s the service a has not answered for 5s; still waiting", "31s the service a answers again",
			"36s the service a has not answered for 5s; still waiting", "1m2s the service a answers again",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := New(identity{}, streams.Streams{ErrTTY: test.terminal}, streams.Env{})
				began := time.Now()
				var told []string
				defer a.TellSilence(func(s Silence) { told = append(told, time.Since(began).String()+" "+s.Text) })()
				over := a.silenceOf("the service a").over(&test.takes)
				for len(test.takes) > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://a/", nil))(t)
					if answer, err := over.RoundTrip(r); err == nil && answer.StatusCode != http.StatusOK {
						t.Error(answer.Status)
					}
					cancel()
				}
				time.Sleep(time.Minute) // nothing is asked any more
				synctest.Wait()
				check.Slice(t, told, test.told, "told")
			})
		})
	}
}
