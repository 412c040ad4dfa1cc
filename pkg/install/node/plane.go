// Package node is the plane of the installed cluster itself: it watches its Nodes and the
// requests of their kubelets for certificates, approves those that a decision has found to be
// proven, and marks nodes. What is decided stands elsewhere.
package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Config is what a Plane needs.
type Config struct {
	// Kubeconfig gives a kubeconfig of the installed cluster's administrator, and says where it
	// is from. It is asked again where the credentials are refused. An error is told as why the
	// cluster cannot be read.
	Kubeconfig func(ctx context.Context, cluster model.ClusterRef) (data []byte, from string, err error)
	// Connection makes the way to the cluster of a kubeconfig, or refuses that. Nil takes every kubeconfig that client-go does.
	Connection func(kubeconfig []byte) (*rest.Config, error)
	// Clock is the machine's own if nil.
	Clock install.Clock
	// Log is called with every call of the API server. It may be nil.
	Log func(install.Call)
}

// Plane looks at installed clusters, one after the other or one for good, and acts on them. It
// implements install.Nodes and is safe for concurrent use. Close ends its watches.
type Plane struct {
	config Config
	clock  install.Clock

	mu     sync.Mutex
	at     *connection // nil before the first look
	from   string      // where the kubeconfig is from
	failed time.Time   // when a cluster could not be looked at last, and why; nil: it was
	why    error
	pause  time.Duration // how long it is not tried again from then on
	spoke  *model.Spoke
	closed bool
}

var _ install.Nodes = (*Plane)(nil)

// New returns a Plane.
func New(config Config) *Plane {
	p := &Plane{config: config, clock: config.Clock}
	if p.clock == nil {
		p.clock = clock.Real()
	}
	return p
}

// Close ends all watches.
func (p *Plane) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.disconnect()
}

func (p *Plane) disconnect() {
	if p.at != nil {
		p.at.stop()
		p.at = nil
	}
}

// How long it is not tried to reach a cluster that could not be reached, at least and at most. One that does not even
// refuse is waited for each time: that takes a share of the time, and not all of it.
const (
	againAfter   = 5 * time.Second
	againAtMost  = time.Minute
	againPerWait = 3
)

// Observe looks at the installed cluster of an observation. That it does not answer is said in
// Spoke.Trouble, beside what was seen before.
func (p *Plane) Observe(ctx context.Context, desired *model.Desired, observed *model.Observed) (*model.Spoke, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var (
		removal *model.Removal
		ofEtcd  etcdWanted
	)
	if desired != nil {
		removal, ofEtcd = desired.Options.Remove, wantsEtcd(desired)
	}
	spoke, err := p.look(ctx, observed, removal, ofEtcd)
	if context.Cause(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return p.troubled(err, observed.At), nil
	}
	p.spoke = spoke
	return spoke, nil
}

// wantsEtcd says whether the members of etcd are to be looked at.
func wantsEtcd(desired *model.Desired) etcdWanted {
	switch {
	case desired.Options.WatchEtcd:
		return etcdWatched
	case desired.Options.Remove != nil || addsVoters(desired):
		return etcdPolled
	}
	return etcdUnwanted
}

// addsVoters reports whether hosts are added that etcd runs on.
func addsVoters(desired *model.Desired) bool {
	return desired.Options.AddNodes && desired.Spec != nil && slices.ContainsFunc(desired.Spec.Spec.Hosts, func(h spec.Host) bool {
		return h.Role == spec.ControlPlane || h.Role == spec.Arbiter
	})
}

func (p *Plane) look(ctx context.Context, observed *model.Observed, removal *model.Removal, ofEtcd etcdWanted) (*model.Spoke, error) {
	if p.closed {
		return nil, errors.New("the plane was closed")
	}
	if p.at != nil && p.at.cluster != observed.Cluster.ID {
		p.disconnect()
		p.spoke, p.why = nil, nil
	}
	began := p.clock.Now()
	if p.why != nil && began.Sub(p.failed) < p.pause {
		return nil, p.why
	}
	p.why = nil
	if p.at == nil {
		if err := p.connect(ctx, observed.Cluster.ClusterRef); err != nil {
			return nil, err
		}
	}
	spoke, err := p.at.look(ctx, observed.At, removal, ofEtcd)
	if err == nil {
		return spoke, nil
	}
	if kindOf(err) == model.TroubleCredentials || p.at.polled.IsZero() {
		p.disconnect() // there may be another kubeconfig by now
	}
	if context.Cause(ctx) == nil {
		p.failed, p.why = p.clock.Now(), err
		p.pause = min(max(againAfter, againPerWait*p.failed.Sub(began)), againAtMost)
	}
	return nil, err
}

// noAccess is the error of a cluster of which there is no kubeconfig.
type noAccess struct{ error }

func (n noAccess) Unwrap() error { return n.error }

func (p *Plane) connect(ctx context.Context, cluster model.ClusterRef) error {
	data, from, err := p.config.Kubeconfig(ctx, cluster)
	if fault, is := errors.AsType[*model.Fault](err); is && !fault.Permanent && fault.Code != model.CodeNotFound {
		return err // it passes
	}
	if err != nil {
		return noAccess{err}
	}
	p.from = from
	at, err := connect(ctx, data, &p.config, p.clock)
	if err != nil {
		return noAccess{fmt.Errorf("the kubeconfig %s cannot be used: %s", from, redact.Text(err.Error()))}
	}
	at.cluster, at.from = cluster.ID, from
	p.at = at
	return nil
}

// troubled is what was seen before, with why nothing is seen now.
func (p *Plane) troubled(err error, now time.Time) *model.Spoke {
	spoke := model.Spoke{}
	if p.spoke != nil {
		spoke = *p.spoke
	}
	spoke.From = p.from
	if spoke.Trouble == "" {
		spoke.Since = now
	}
	if spoke.Trouble != err.Error() {
		spoke.Trouble, spoke.TroubleKind = redact.Text(err.Error()), kindOf(err)
	}
	p.spoke = &spoke
	return p.spoke
}

func kindOf(err error) model.TroubleKind {
	var (
		none     noAccess
		mistrust *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &none):
		return model.TroubleNoKubeconfig
	case errors.As(err, &mistrust), apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return model.TroubleCredentials
	}
	return model.TroubleUnreachable
}

// Changed is closed once a Node or a request is other than the last Observe has shown it.
func (p *Plane) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		return nil // nothing is seen that could
	}
	return p.at.changed()
}

// Act carries out an action, and does not wait for what it starts.
func (p *Plane) Act(ctx context.Context, desired *model.Desired, observed *model.Observed, action model.Action) error {
	p.mu.Lock()
	at := p.at
	p.mu.Unlock()
	if at != nil && observed.Cluster != nil && at.cluster != observed.Cluster.ID {
		at = nil
	}
	if at == nil {
		return &model.Fault{Code: model.CodeFailure, Op: "act on", On: action.Name, Err: errors.New("the installed cluster cannot be reached")}
	}
	ctx, cancel := context.WithTimeout(withoutLogging(ctx), callTimeout)
	defer cancel()
	switch action.Kind {
	case model.ApproveRequest:
		return at.approve(ctx, action)
	case model.UpdateNode:
		return at.updateNode(ctx, action)
	}
	if err := at.link(ctx, action, observed); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if removal := desired.Options.Remove; removal != nil {
		if err := at.remove(ctx, action, removal, observed); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return &model.Fault{Code: model.CodeFailure, Op: string(action.Kind), On: action.Name, Permanent: true,
		Err: errors.New("this action is not supported on nodes")}
}
