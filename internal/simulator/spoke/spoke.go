// Package spoke makes an API server play an installed OpenShift cluster. It serves to try what is done after an
// installation: nodes are added, replaced and removed.
//
// SetUp writes the kinds, the objects of the operators, the nodes and the rights of kubelets. Run plays the
// operators: it looks at all objects again and again, and remembers nothing that it needs. Join plays a machine that
// boots its installed disk: its kubelet asks for certificates, which an approver of the cluster or the tested program
// approves. EVIDENCE.md says what each part is taken from.
package spoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Config says which cluster is played, on what.
type Config struct {
	// Kube is the API server, as an administrator (system:masters) of it. It has to run
	// the controllers that sign certificates and collect garbage.
	Kube *rest.Config
	// Clock is the time of the simulation.
	Clock clock.Clock
	// Stamps is the time that conditions of Nodes are dated by, for those who count how long one has
	// been so by another clock; nil is Clock.
	Stamps clock.Clock
	// Cluster is what was installed.
	Cluster Cluster
	// Approvers are those that approve requests of kubelets beside who is tested; none by default.
	Approvers Approvers
	// Trouble is what goes wrong.
	Trouble Trouble
	// Shared says that the nodes of many clusters are on the API server, of which none has operators:
	// only nodes and requests of kubelets are played.
	Shared bool
	// LeaseEvery is how often a kubelet renews its lease at most, in real time; a second and less if zero.
	LeaseEvery time.Duration
	// AnswerSoon is how long a kubelet waits at least for a certificate before it asks anew, in real time; two
	// minutes if zero. In simulated time it is never less than a quarter of an hour.
	AnswerSoon time.Duration
	// Logf takes a line about what happens; nil drops them. It never gets a secret.
	Logf func(format string, args ...any)
}

// Spoke is a cluster that is played. Its methods may be called side by side.
type Spoke struct {
	config  Config
	clock   clock.Clock
	cluster Cluster
	core    kubernetes.Interface
	objects dynamic.Interface
	logf    func(string, ...any)

	mu sync.Mutex
	// disks are what the kubelets of machines have left on their disks, by the machine's UUID.
	disks map[string]*disk
	// silent are the nodes of the installation whose machines do not run, by name.
	silent map[string]bool
	// running counts the calls of Join for a node, by its name. A machine may start again before its last call ends.
	running map[string]int
	// release is the version that the cluster has, releases are those of nodes that have another
	// one, configs the versions of rendered configs, by their names.
	release           string
	releases, configs map[string]string
	// joined says that the installation of a Joining cluster is over.
	joined bool
}

// New prepares a cluster. Nothing is written yet.
func New(config Config) (*Spoke, error) {
	switch {
	case config.Kube == nil:
		return nil, errors.New("prepare the simulated cluster: no API server")
	case config.Clock == nil:
		return nil, errors.New("prepare the simulated cluster: no clock")
	}
	cluster, err := config.Cluster.complete()
	if err != nil {
		return nil, fmt.Errorf("prepare the simulated cluster: %w", err)
	}
	config.Kube = unhurried(config.Kube)
	s := &Spoke{
		config: config, clock: config.Clock, cluster: cluster, logf: config.Logf,
		disks: map[string]*disk{}, silent: map[string]bool{}, running: map[string]int{},
		release: cluster.Version, releases: map[string]string{}, configs: map[string]string{}, joined: !cluster.Joining,
	}
	if s.config.Stamps == nil {
		s.config.Stamps = s.clock
	}
	if s.logf == nil {
		s.logf = func(string, ...any) {}
	}
	if s.core, err = kubernetes.NewForConfig(config.Kube); err != nil {
		return nil, fmt.Errorf("prepare the simulated cluster: make a client: %w", err)
	}
	if s.objects, err = dynamic.NewForConfig(config.Kube); err != nil {
		return nil, fmt.Errorf("prepare the simulated cluster: make a client: %w", err)
	}
	return s, nil
}

// unhurried is a config whose client waits for nothing but the API server.
func unhurried(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	return c
}

// Cluster is what is played, with what was left out of it filled in.
func (s *Spoke) Cluster() Cluster { return s.cluster }

func (s *Spoke) stamp() metav1.Time { return metav1.NewTime(s.config.Stamps.Now()) }

func (s *Spoke) versionOf(node string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.releases[node], s.release)
}

func (s *Spoke) atLeast(virtual, wall time.Duration) time.Duration {
	return clock.AtLeast(s.clock, virtual, wall)
}

// sleep lets some time of the simulation pass that takes no less than some real time, at the speed that the clock has
// by then: it may be slowed down meanwhile.
func (s *Spoke) sleep(ctx context.Context, virtual, wall time.Duration) error {
	for began := s.clock.Now(); ; {
		rest := s.atLeast(virtual, wall) - s.clock.Now().Sub(began)
		if rest <= 0 {
			return context.Cause(ctx)
		}
		if err := s.clock.Sleep(ctx, min(rest, virtual)); err != nil {
			return err
		}
	}
}

// timely does work that takes no time on the simulation's clock. It drops the log of the client.
func (s *Spoke) timely(ctx context.Context, do func(context.Context) error) error {
	defer clock.Freeze(s.clock)()
	return do(klog.NewContext(ctx, logr.Discard()))
}
