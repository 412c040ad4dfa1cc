// Package versions knows which version of Kubernetes a release of OpenShift contains. It checks whether a
// wanted version of Kubernetes and a wanted release of OpenShift belong together.
package versions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// kubernetesAhead is how many minor versions Kubernetes is ahead of OpenShift 4: 4.y is made of 1.(y+13).
const kubernetesAhead = 13

// ErrNoRule is wrapped in errors of versions that the rule says nothing of.
var ErrNoRule = errors.New("only of OpenShift 4 is known which Kubernetes it is made of, without reading its release image")

// KubernetesOf is the version of Kubernetes that a version of OpenShift is made of, by the rule: its
// patch is not known that way, and is 0.
func KubernetesOf(distribution string) (string, error) {
	v, err := parse(distribution)
	if err != nil {
		return "", err
	}
	if v.Major() != 4 {
		return "", fmt.Errorf("%s: %w", distribution, ErrNoRule)
	}
	return fmt.Sprintf("v1.%d.0", v.Minor()+kubernetesAhead), nil
}

// DistributionOf is the minor version of OpenShift that is made of a version of Kubernetes, by the
// rule: 4.20 of v1.33.5.
func DistributionOf(kubernetes string) (string, error) {
	v, err := version.ParseSemantic(kubernetes)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is no version of Kubernetes such as v1.33.5", kubernetes)
	case v.Major() != 1 || v.Minor() < kubernetesAhead:
		return "", fmt.Errorf("%s: %w", kubernetes, ErrNoRule)
	}
	return fmt.Sprintf("4.%d", v.Minor()-kubernetesAhead), nil
}

// VersionMismatch says that what is wanted is not of one release. It is an error.
type VersionMismatch struct {
	// Distribution, Kubernetes and Image are what is wanted; what was not given is "".
	Distribution, Kubernetes, Image string
	// Has is the version of Kubernetes that Distribution is made of, ImageIs the version of
	// OpenShift in Image, where that is what differs.
	Has, ImageIs string
	// Guessed says that Has is known by the rule only, without its patch.
	Guessed bool
}

func (m *VersionMismatch) Error() string {
	if m.ImageIs != "" {
		return fmt.Sprintf("the release image %s is OpenShift %s, and distributionVersion is %s: write distributionVersion: %s, or "+
			"name the image of %s",
			m.Image, m.ImageIs, m.Distribution, m.ImageIs, m.Distribution)
	}
	text := fmt.Sprintf("version %s and distributionVersion %s are not of one release: OpenShift %s is made of Kubernetes ", m.Kubernetes,
		m.Distribution, m.Distribution)
	if m.Guessed {
		minorOnly, _ := strings.CutSuffix(m.Has, ".0")
		text += minorOnly + ". Write a version of that, or leave version out"
	} else {
		text += m.Has + ". Write version: " + m.Has + ", or leave it out"
	}
	if is, err := DistributionOf(m.Kubernetes); err == nil && m.Guessed {
		text += fmt.Sprintf("; Kubernetes %s is in OpenShift %s", m.Kubernetes, is)
	}
	return text
}

// Payload is what a release image says of itself.
type Payload struct {
	// Version of OpenShift, and of Kubernetes; "" where the image does not say.
	Version, Kubernetes string
}

// Asking is what is to be of one release.
type Asking struct {
	// Distribution is the version of OpenShift.
	Distribution string
	// Kubernetes is its version, "" where it was left out.
	Kubernetes string
	// Image is the release image by its digest, "" where it is not known.
	Image string
	// Named says that a user has named the image. Without it the image follows from Distribution.
	Named bool
	// By is who reads it. Another reader may read what this one could not: it has other registries and pull secrets.
	By string
	// Read reads that image; nil where it cannot be read.
	Read func(ctx context.Context, image string) (Payload, error)
}

// Resolved is one release.
type Resolved struct {
	// Kubernetes is its version, as v1.33.5.
	Kubernetes string
	// Guessed says that the release image could not be read: the patch of Kubernetes is then what
	// was asked for, else 0.
	Guessed bool
	// Trouble is why it could not be read, nil where no image was known.
	Trouble error
}

// Mapping finds the version of Kubernetes in a release. What was read of an image is kept: an image by its digest is
// the same for ever, and for every reader. It is safe for concurrent use.
type Mapping struct {
	// Clock is what waits between attempts are measured by.
	Clock clock.Clock

	mu     sync.Mutex
	read   map[string]Payload   // by the digest
	failed map[attempt]failure  // of those who could not read it lately
	silent map[string]time.Time // when the last wait for an image was in vain, by its digest
}

// attempt is who could not read which image.
type attempt struct{ digest, by string }

type failure struct {
	err error
	at  time.Time
}

const (
	// againAfter is how long an image that could not be read is left alone.
	againAfter = 10 * time.Minute
	// mostReadings is how many images are kept in mind, and how many that could not be read.
	mostReadings = 256
	// readingTakes is how long reading an image may take, in real time: a reconcile waits for it, and can use the rule
	// instead. After a wait in vain, other readers wait for less: they may have a mirror, which answers at once.
	readingTakes, readingTakesOthers = 10 * time.Second, 2 * time.Second
)

// Resolve finds the version of Kubernetes in a release, and holds what is asked for against it: what is
// not of one release is a *VersionMismatch. An image that cannot be read within some seconds is no error:
// then the rule holds, and the image is left alone for a while.
func (m *Mapping) Resolve(ctx context.Context, a Asking) (Resolved, error) {
	if _, err := parse(a.Distribution); err != nil {
		return Resolved{}, err
	}
	payload, trouble := m.payload(ctx, a)
	if cause := context.Cause(ctx); cause != nil {
		return Resolved{}, cause
	}
	if _, err := parse(payload.Version); a.Named && err == nil && payload.Version != a.Distribution {
		return Resolved{}, &VersionMismatch{Distribution: a.Distribution, Kubernetes: a.Kubernetes, Image: a.Image, ImageIs: payload.Version}
	}
	if payload.Kubernetes != "" {
		has, err := plainKubernetes(payload.Kubernetes)
		if err == nil {
			return exactly(a, has)
		}
		trouble = err
	}
	r, err := byRule(a)
	r.Trouble = trouble
	return r, err
}

// exactly holds what is asked for against what the release image says.
func exactly(a Asking, has string) (Resolved, error) {
	if a.Kubernetes == "" {
		return Resolved{Kubernetes: has}, nil
	}
	wanted, err := plainKubernetes(a.Kubernetes)
	if err != nil {
		return Resolved{}, err
	}
	if wanted != has {
		return Resolved{}, &VersionMismatch{Distribution: a.Distribution, Kubernetes: a.Kubernetes, Image: a.Image, Has: has}
	}
	return Resolved{Kubernetes: has}, nil
}

// byRule holds what is asked for against the rule.
func byRule(a Asking) (Resolved, error) {
	has, err := KubernetesOf(a.Distribution)
	if a.Kubernetes == "" {
		return Resolved{Kubernetes: has, Guessed: true}, err
	}
	wanted, wrong := plainKubernetes(a.Kubernetes)
	if wrong != nil {
		return Resolved{}, wrong
	}
	if err == nil {
		is, _ := version.ParseSemantic(has)
		asked, _ := version.ParseSemantic(wanted)
		if is.Major() != asked.Major() || is.Minor() != asked.Minor() {
			return Resolved{}, &VersionMismatch{Distribution: a.Distribution, Kubernetes: a.Kubernetes, Image: a.Image, Has: has, Guessed: true}
		}
	}
	return Resolved{Kubernetes: wanted, Guessed: true}, nil // where there is no rule, nothing says that it is wrong
}

// payload is what an image says, from memory where it was read before.
func (m *Mapping) payload(ctx context.Context, a Asking) (Payload, error) {
	_, digest, is := strings.Cut(a.Image, "@sha256:")
	if a.Read == nil || !is {
		return Payload{}, nil
	}
	payload, takes, err := m.remembered(attempt{digest, a.By})
	if takes == 0 {
		return payload, err
	}
	soon, cancel := context.WithTimeout(ctx, takes)
	defer cancel()
	payload, err = a.Read(soon, a.Image)
	if ctx.Err() != nil {
		return Payload{}, err
	}
	late := soon.Err() != nil
	if err != nil {
		err = fmt.Errorf("read the release image %s: %w", a.Image, err)
	}
	m.remember(attempt{digest, a.By}, payload, err, late)
	return payload, err
}

// remembered is what an image says, or why it could not be read lately; else how long reading it may take now.
func (m *Mapping) remembered(who attempt) (Payload, time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if payload, is := m.read[who.digest]; is {
		return payload, 0, nil
	}
	now := m.Clock.Now()
	if failed, is := m.failed[who]; is && now.Sub(failed.at) < againAfter {
		return Payload{}, 0, failed.err
	}
	if at, is := m.silent[who.digest]; is && now.Sub(at) < againAfter {
		return Payload{}, readingTakesOthers, nil
	}
	return Payload{}, readingTakes, nil
}

// remember keeps what was read, or why it could not be read; a failure is forgotten after a while.
func (m *Mapping) remember(who attempt, payload Payload, err error, late bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Clock.Now()
	if err == nil {
		if m.read == nil || len(m.read) >= mostReadings {
			m.read = map[string]Payload{}
		}
		m.read[who.digest] = payload
		return
	}
	if m.failed == nil {
		m.failed, m.silent = map[attempt]failure{}, map[string]time.Time{}
	}
	maps.DeleteFunc(m.failed, func(_ attempt, f failure) bool { return now.Sub(f.at) >= againAfter })
	maps.DeleteFunc(m.silent, func(_ string, at time.Time) bool { return now.Sub(at) >= againAfter })
	if len(m.failed) >= mostReadings {
		clear(m.failed)
	}
	m.failed[who] = failure{err, now}
	if len(m.silent) >= mostReadings {
		clear(m.silent)
	}
	if late {
		m.silent[who.digest] = now
	}
}

// parse reads a semantic version, with or without a leading v.
func parse(text string) (*version.Version, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no version such as 4.20.5", text)
	}
	return v, nil
}

// plainKubernetes is a version with a leading v, and without what kubelets of OpenShift say of their build.
func plainKubernetes(text string) (string, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return "", fmt.Errorf("%q is no version of Kubernetes such as v1.33.5", text)
	}
	return "v" + v.WithBuildMetadata("").String(), nil
}

// AtLeast reports whether a kubelet's version is a version of Kubernetes, or newer.
func AtLeast(kubelet, kubernetes string) bool {
	is, err := version.ParseSemantic(kubelet)
	if err != nil {
		return false
	}
	wanted, err := version.ParseSemantic(kubernetes)
	return err == nil && is.AtLeast(wanted)
}
