// Package clusterloop keeps, for each Cluster of Cluster API, one observation of its installation, its memory, and the
// plan that follows from both. All reconcilers of the Cluster's objects share them: each carries out the actions of its
// own scope, and none reads the service by itself. A change wakes the reconcilers that it concerns.
package clusterloop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Key is the namespace and name of a Cluster.
type Key = types.NamespacedName

// Config says how installations are reached, and which callbacks get changes.
type Config struct {
	// Connect is the service that installs the clusters of a namespace. What it returns is closed at the end of Start.
	// A service that reports changes, and so watches, is also closed once its namespace has had no installation for a
	// while: Connect is called again when it is needed next.
	Connect func(namespace string) (install.Backend, error)
	// Desire is what a Cluster shall become, from its objects, given the last observation of it (nil
	// at first). ErrNotYet in its error says that there is nothing to be installed yet, and ErrGone
	// beside it that there is no such Cluster any more: it is forgotten then. A desired state beside an
	// error is only enough to observe by.
	Desire func(ctx context.Context, cluster Key, observed *model.Observed) (*model.Desired, error)
	// Mark is a digest of the objects of a Cluster, and differs once Desire may return something else; if it is nil,
	// Desire is called each time.
	Mark func(ctx context.Context, cluster Key) (uint64, error)
	// Nodes is the plane of an installed cluster's own API server; nil looks at none.
	Nodes func(cluster Key) install.Nodes
	// Clock is what waits are measured by.
	Clock install.Clock
	// Forget is called when a Cluster is gone, or was not asked for in a while: what is kept of it is dropped. It may
	// be nil.
	Forget func(cluster Key)
	// Wake is called when something has changed that concerns some scopes of a Cluster. It must not block.
	Wake func(cluster Key, scopes []model.Scope)
	// Log has what ends a look at a Cluster that should not: its zero value drops it.
	Log logr.Logger
}

// ErrNotYet is wrapped where a Cluster has nothing to be installed yet.
var ErrNotYet = errors.New("there is nothing to install yet")

// ErrGone is wrapped beside ErrNotYet where there is no Cluster.
var ErrGone = errors.New("it is gone")

// errEnded says that Start has ended: callers that still work get it.
var errEnded = errors.New("the controllers are stopping: they continue after their next start")

// Refusal is what is wrong with the objects of a Cluster: only a change of them cures it.
type Refusal struct{ Problems []string }

func (r *Refusal) Error() string { return strings.Join(r.Problems, "; ") }

// IsRefusal reports whether an error says what is wrong with the objects of a Cluster.
func IsRefusal(err error) bool {
	_, is := errors.AsType[*Refusal](err)
	return is
}

// Set is the installations of all Clusters. It is safe for concurrent use.
type Set struct {
	config Config

	mu       sync.Mutex
	life     context.Context // of the loops; nil before Start
	ended    bool            // no loop is begun, and no service connected to, any more
	loops    sync.WaitGroup
	services map[string]*connection // by namespace
	of       map[Key]*installation
}

// connection is a service that is reached for a namespace.
type connection struct {
	service install.Backend
	used    time.Time // last asked for
}

// New makes an empty set. Until Start, a change wakes no reconciler.
func New(config Config) *Set {
	return &Set{config: config, services: map[string]*connection{}, of: map[Key]*installation{}}
}

// installation is that of one Cluster.
type installation struct {
	set   *Set
	key   Key
	nodes install.Nodes
	stop  context.CancelFunc // ends its loop; nil while it has none

	loop    *install.Loop
	service install.Backend
	used    time.Time // last asked for; set.mu is held for it

	looking lock // held while it is observed and decided on, which may take long

	mu      sync.Mutex // of what follows; a view and what belongs to it change only while looking is held, too
	view    *View
	changed uint64 // how often something was written, or has changed
	seen    uint64 // how often it had when the view was made
	mark    uint64 // of the objects that the view's desired state is of
	acting  map[model.Scope]lock
	leftOut map[string]leftOut // by the names of hosts
	looked  time.Time          // when that was made, in real time
	waited  time.Time          // when the installed cluster itself was waited for last

	told map[model.Scope]uint64 // the fingerprint of each scope when it was last reported; only the loop uses it
}

// View is the installation of a Cluster as it is now. An installed cluster that did not answer lately is not waited for.
// Where it is not known what is desired of it, the view says what was observed, and its error is NoPlan.
func (s *Set) View(ctx context.Context, cluster Key) (*View, error) {
	i, err := s.get(cluster)
	if err != nil {
		return nil, err
	}
	return i.look(ctx)
}

// Last is the view that was made last, nil where there is none. It makes no request.
func (s *Set) Last(cluster Key) *View {
	s.mu.Lock()
	i := s.of[cluster]
	s.mu.Unlock()
	if i == nil {
		return nil
	}
	return i.last()
}

// last is the view that was made last, nil where there is none.
func (i *installation) last() *View {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.view
}

// Service is the service that installs the clusters of a namespace.
func (s *Set) Service(namespace string) (install.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, fmt.Errorf("connect to the service for namespace %s: %w", namespace, errEnded)
	}
	now := s.config.Clock.Now()
	if have, there := s.services[namespace]; there {
		have.used = now
		return have.service, nil
	}
	service, err := s.config.Connect(namespace)
	if err != nil {
		return nil, fmt.Errorf("connect to the service for namespace %s: %w", namespace, err)
	}
	s.services[namespace] = &connection{service: service, used: now}
	return service, nil
}

func (s *Set) get(cluster Key) (*installation, error) {
	service, err := s.Service(cluster.Namespace)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.of[cluster]
	if i == nil {
		i = &installation{
			set: s, key: cluster, service: service, looking: newLock(),
			told: map[model.Scope]uint64{}, acting: map[model.Scope]lock{}, leftOut: map[string]leftOut{},
		}
		options := []install.Config{{Clock: s.config.Clock, Timeout: -1, UserTimeout: -1}}
		if s.config.Nodes != nil {
			if i.nodes = s.config.Nodes(cluster); i.nodes != nil {
				options = append(options, install.Config{Nodes: i.nodes})
			}
		}
		i.loop = install.New(service, options...).NewLoop()
		s.of[cluster] = i
		s.begin(i)
	}
	i.used = s.config.Clock.Now()
	return i, nil
}

// Forget ends the loop of a Cluster that is gone, and drops what is known of it.
func (s *Set) Forget(cluster Key) {
	s.mu.Lock()
	i := s.of[cluster]
	s.mu.Unlock()
	if i != nil {
		s.drop(i)
	}
}

// drop is Forget of an installation that may have been forgotten meanwhile.
func (s *Set) drop(i *installation) {
	s.mu.Lock()
	known, stop := s.of[i.key] == i, i.stop
	if known {
		delete(s.of, i.key)
	}
	s.mu.Unlock()
	if !known {
		return
	}
	if stop != nil {
		stop()
	}
	if s.config.Forget != nil {
		s.config.Forget(i.key)
	}
	if closer, has := i.nodes.(interface{ Close() }); has {
		closer.Close()
	}
}

// Changed says that something outside has changed, so that the next View looks anew.
func (s *Set) Changed(cluster Key) {
	s.mu.Lock()
	i := s.of[cluster]
	s.mu.Unlock()
	if i != nil {
		i.mu.Lock()
		i.changed++
		i.mu.Unlock()
	}
}
