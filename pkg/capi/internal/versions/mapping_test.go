package versions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// still is a clock that a test moves.
type still struct {
	clock.Clock

	at time.Time
}

func (s *still) Now() time.Time { return s.at }

func TestRule(t *testing.T) {
	for distribution, want := range map[string]string{
		"4.14.0": "v1.27.0", "4.20.5": "v1.33.0", "4.21.0-rc.1": "v1.34.0", "4.20.0-okd-scos.1": "v1.33.0", "5.0.1": "", "4.20": "", "": "", "x": "",
	} {
		got, err := KubernetesOf(distribution)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("OpenShift %q is made of Kubernetes %q, %v; want %q", distribution, got, err, want)
		}
	}
	for kubernetes, want := range map[string]string{"v1.33.5": "4.20", "1.27.0": "4.14", "v1.33.5+abc": "4.20", "v1.12.0": "", "v2.0.0": "", "1.33": "", "": ""} {
		got, err := DistributionOf(kubernetes)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Kubernetes %q is in OpenShift %q, %v; want %q", kubernetes, got, err, want)
		}
	}
}

func TestResolve(t *testing.T) {
	broken := errors.New("no route to host")
	payloads := map[string]Payload{
		image("4.20.5"): {Version: "4.20.5", Kubernetes: "1.33.5"}, image("4.20.6"): {Version: "4.20.6"}, image("\x1b[2J"): {Version: "\x1b[2J"}, image("4.20.7"): {Version: "4.20.7", Kubernetes: "x"},
		image("5.0.1"): {Version: "5.0.1", Kubernetes: "1.36.2"},
	}
	for _, c := range []struct {
		name     string
		asking   Asking
		has      string
		guessed  bool
		mismatch []string // what its text says
		wrong    string
	}{
		{name: "of the image", asking: Asking{Distribution: "4.20.5", Image: image("4.20.5")}, has: "v1.33.5"},
		{name: "of the image, as was asked for", asking: Asking{Distribution: "4.20.5", Kubernetes: "v1.33.5", Image: image("4.20.5"), Named: true}, has: "v1.33.5"},
		{name: "of the image, without the v", asking: Asking{Distribution: "4.20.5", Kubernetes: "1.33.5", Image: image("4.20.5")}, has: "v1.33.5"},
		{name: "of the image, where there is no rule", asking: Asking{Distribution: "5.0.1", Image: image("5.0.1")}, has: "v1.36.2"},
		{name: "another patch", asking: Asking{Distribution: "4.20.5", Kubernetes: "v1.33.4", Image: image("4.20.5")}, mismatch: []string{"version v1.33.4 and distributionVersion 4.20.5", "Write version: v1.33.5"}},
		{
			name: "another minor version", asking: Asking{Distribution: "4.20.5", Kubernetes: "v1.32.5"},
			mismatch: []string{"is made of Kubernetes v1.33. Write", "Kubernetes v1.32.5 is in OpenShift 4.19"},
		},
		{name: "the image of another release", asking: Asking{Distribution: "4.20.4", Image: image("4.20.5"), Named: true}, mismatch: []string{"is OpenShift 4.20.5, and distributionVersion is 4.20.4"}},
		{name: "the image of what is no version", asking: Asking{Distribution: "4.20.4", Image: image("\x1b[2J"), Named: true}, has: "v1.33.0", guessed: true},
		{name: "by the rule", asking: Asking{Distribution: "4.20.5"}, has: "v1.33.0", guessed: true},
		{name: "by the rule, with the patch that was asked for", asking: Asking{Distribution: "4.20.5", Kubernetes: "v1.33.7"}, has: "v1.33.7", guessed: true},
		{name: "an image that does not say", asking: Asking{Distribution: "4.20.6", Image: image("4.20.6")}, has: "v1.33.0", guessed: true},
		{name: "an image that says nonsense", asking: Asking{Distribution: "4.20.7", Image: image("4.20.7")}, has: "v1.33.0", guessed: true},
		{name: "an image that cannot be read", asking: Asking{Distribution: "4.20.8", Image: image("4.20.8")}, has: "v1.33.0", guessed: true},
		{name: "an image by its tag", asking: Asking{Distribution: "4.20.5", Image: "quay.io/a/b:4.20.5"}, has: "v1.33.0", guessed: true},
		{name: "no rule, and no image", asking: Asking{Distribution: "5.0.1"}, wrong: "only of OpenShift 4"},
		{name: "no rule, and no image, but an answer", asking: Asking{Distribution: "5.0.1", Kubernetes: "v1.36.0"}, has: "v1.36.0", guessed: true},
		{name: "no version", asking: Asking{Distribution: "4.20"}, wrong: "is no version"},
		{name: "no version of Kubernetes", asking: Asking{Distribution: "4.20.5", Kubernetes: "new"}, wrong: "is no version of Kubernetes"},
		{name: "no version of Kubernetes, beside an image", asking: Asking{Distribution: "4.20.5", Kubernetes: "new", Image: image("4.20.5")}, wrong: "is no version of Kubernetes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &Mapping{Clock: &still{at: at(0)}}
			c.asking.Read = func(_ context.Context, image string) (Payload, error) {
				if p, is := payloads[image]; is {
					return p, nil
				}
				return Payload{}, broken
			}
			got, err := m.Resolve(t.Context(), c.asking)
			switch mismatch, is := errors.AsType[*VersionMismatch](err); {
			case c.mismatch != nil && !is:
				t.Errorf("there is no mismatch: %+v, %v", got, err)
			case c.mismatch != nil:
				for _, text := range c.mismatch {
					if !strings.Contains(mismatch.Error(), text) {
						t.Errorf("%q does not say %q", mismatch.Error(), text)
					}
				}
			case c.wrong != "":
				if err == nil || is || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("the error is %v", err)
				}
			case err != nil || got.Kubernetes != c.has || got.Guessed != c.guessed:
				t.Errorf("it is %+v, %v; want %s", got, err, c.has)
			}
		})
	}
}

func TestImagesAreReadOnce(t *testing.T) {
	calls := 0
	var fault error
	watch := &still{at: at(0)}
	m := &Mapping{Clock: watch}
	read := func(context.Context, string) (Payload, error) {
		calls++
		if fault != nil {
			return Payload{}, fault
		}
		return Payload{Version: "4.20.5", Kubernetes: "1.33.5"}, nil
	}
	ask := func(want int, has string) {
		t.Helper()
		got, err := m.Resolve(t.Context(), Asking{Distribution: "4.20.5", Image: image("4.20.5"), Read: read})
		if err != nil || got.Kubernetes != has || (got.Trouble != nil) != (has == "v1.33.0") {
			t.Errorf("it is %+v, %v", got, err)
		}
		if calls != want {
			t.Errorf("it was read %d times, and should have been %d", calls, want)
		}
	}
	fault = errors.New("no route to host")
	ask(1, "v1.33.0")
	ask(1, "v1.33.0")
	watch.at = at(9)
	ask(1, "v1.33.0")
	watch.at, fault = at(10), nil
	ask(2, "v1.33.5")
	watch.at = at(9999)
	ask(2, "v1.33.5")
	if _, err := m.Resolve(t.Context(), Asking{Distribution: "4.20.5", Image: strings.Replace(image("4.20.5"), "quay.io", "mirror.example.com", 1), Read: read}); err != nil || calls != 2 {
		t.Errorf("the same image of a mirror was read again: %v", err)
	}
}

// TestWhatOthersCouldNotReadIsRead: a failure counts for the reader that had it, and a success for all readers.
func TestWhatOthersCouldNotReadIsRead(t *testing.T) {
	m := &Mapping{Clock: &still{at: at(0)}}
	refused := func(context.Context, string) (Payload, error) { return Payload{}, errors.New("unauthorized") }
	allowed := func(context.Context, string) (Payload, error) { return Payload{Kubernetes: "1.33.5"}, nil }
	for _, step := range []struct {
		by    string
		read  func(context.Context, string) (Payload, error)
		fails bool
	}{{"a", refused, true}, {"a", allowed, true}, {"b", allowed, false}, {"a", refused, false}} {
		got, err := m.Resolve(t.Context(), Asking{Distribution: "4.20.5", Image: image("4.20.5"), By: step.by, Read: step.read})
		if err != nil || (got.Trouble != nil) != step.fails {
			t.Errorf("%s: %+v, %v", step.by, got, err)
		}
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &Mapping{Clock: &still{at: at(0)}}
	asking := Asking{Distribution: "4.20.5", Image: image("4.20.5"), Read: func(ctx context.Context, _ string) (Payload, error) { cancel(); return Payload{}, ctx.Err() }}
	if _, err := m.Resolve(ctx, asking); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	asking.Read = func(context.Context, string) (Payload, error) { return Payload{Kubernetes: "1.33.5"}, nil }
	if got, err := m.Resolve(t.Context(), asking); err != nil || got.Kubernetes != "v1.33.5" {
		t.Errorf("what was cut off is remembered: %+v, %v", got, err)
	}
}

// TestARegistryThatHangsIsNotWaitedFor has one that answers nothing: the rule holds soon, and the next time at once.
// Others wait for less.
func TestARegistryThatHangsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Mapping{Clock: clock.Real()}
		asking := Asking{Distribution: "4.20.5", Kubernetes: "v1.33.4", Image: image("4.20.5"), Read: func(ctx context.Context, _ string) (Payload, error) {
			<-ctx.Done()
			return Payload{}, ctx.Err()
		}}
		for _, step := range []struct {
			by   string
			want time.Duration
		}{{"a", readingTakes}, {"a", 0}, {"b", readingTakesOthers}, {"b", 0}} {
			asking.By = step.by
			began, want := time.Now(), step.want
			got, err := m.Resolve(t.Context(), asking)
			if err != nil || !got.Guessed || got.Trouble == nil || got.Kubernetes != "v1.33.4" {
				t.Errorf("it is %+v, %v", got, err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("it took %s, and should have taken %s", took, want)
			}
		}
	})
}

func TestMappingIsSafe(t *testing.T) {
	m := &Mapping{Clock: &still{at: at(0)}}
	read := func(context.Context, string) (Payload, error) { return Payload{Kubernetes: "1.33.5"}, nil }
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			if _, err := m.Resolve(t.Context(), Asking{Distribution: "4.20.5", Image: "quay.io/openshift-release-dev/ocp-release@sha256:" + strings.Repeat("a", i%290+1), Read: read}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(m.read) > mostReadings {
		t.Errorf("%d images are remembered", len(m.read))
	}
}

// TestFailuresInMindAreFew: what could not be read of images does not grow with the images that users name.
func TestFailuresInMindAreFew(t *testing.T) {
	m := &Mapping{Clock: &still{}}
	for i := range 2 * mostReadings {
		m.remember(attempt{fmt.Sprint(i), "lab"}, Payload{}, errors.New("no route to host"), true)
	}
	if len(m.failed) > mostReadings || len(m.silent) > mostReadings || m.failed[attempt{fmt.Sprint(2*mostReadings - 1), "lab"}].err == nil {
		t.Errorf("%d failures and %d silent images are kept", len(m.failed), len(m.silent))
	}
}

func TestAtLeast(t *testing.T) {
	const kubelet = "v1.33.5+abc"
	for name, is := range map[string]bool{
		"this very kubelet":     AtLeast(kubelet, "v1.33.5"),
		"an older one":          AtLeast(kubelet, "1.33.0"),
		"a newer one":           !AtLeast(kubelet, "v1.33.6"),
		"nothing to compare by": !AtLeast(kubelet, ""),
		"nothing to compare":    !AtLeast("", "v1.33.6"),
	} {
		if !is {
			t.Error(name)
		}
	}
}

// image is the release image of a version.
func image(version string) string {
	return "quay.io/openshift-release-dev/ocp-release@sha256:" + strings.Repeat("0", 64-len(version)) + version
}

func at(minutes int) time.Time {
	return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}
