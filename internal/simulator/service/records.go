package service

import (
	"cmp"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// records are the objects that the service keeps.
type records struct {
	clusters  collection[model.Cluster]
	infraEnvs collection[model.InfraEnv]
	hosts     collection[model.Host]           // by infra-env id/host id
	gone      map[string]*model.PrintedCluster // clusters that were deleted, as they were last
}

// collection keeps objects by their keys, in the order in which they were made.
type collection[T any] struct {
	byKey map[string]*T
	keys  []string
}

// of is the object of a key, or nil.
func (c *collection[T]) of(key string) *T { return c.byKey[key] }

func (c *collection[T]) add(key string, object *T) {
	if c.byKey == nil {
		c.byKey = map[string]*T{}
	}
	c.byKey[key] = object
	c.keys = append(c.keys, key)
}

func (c *collection[T]) drop(key string) {
	delete(c.byKey, key)
	c.keys = slices.DeleteFunc(c.keys, func(k string) bool { return k == key })
}

func (c *collection[T]) inOrder() []*T {
	list := make([]*T, 0, len(c.keys))
	for _, key := range c.keys {
		list = append(list, c.byKey[key])
	}
	return list
}

func (r *records) getCluster(id string) (*model.Cluster, error) {
	return r.storedCluster(id, "Failed to get cluster "+id+": record not found")
}

// storedCluster is getCluster for those operations that tell of the database what it is that is not there.
func (r *records) storedCluster(id, refusal string) (*model.Cluster, error) {
	if c := r.clusters.of(id); c != nil {
		return c, nil
	}
	return nil, wire.NotFound("%s", refusal)
}

func (r *records) getInfraEnv(id string) (*model.InfraEnv, error) {
	if e := r.infraEnvs.of(id); e != nil {
		return e, nil
	}
	return nil, wire.NotFound("record not found")
}

func (r *records) getHost(infraEnvID, id string) (*model.Host, error) {
	if h := r.hosts.of(infraEnvID + "/" + id); h != nil {
		return h, nil
	}
	return nil, wire.NotFound("failed to get host %s in infra_env %s: record not found", id, infraEnvID)
}

func (r *records) hostsOfInfraEnv(id string) []*model.Host {
	return slices.DeleteFunc(r.hosts.inOrder(), func(h *model.Host) bool { return h.InfraEnvID != id })
}

func (r *records) dropHost(h *model.Host) {
	key := h.InfraEnvID + "/" + h.ID
	r.hosts.drop(key)
	if c := h.Cluster; c != nil {
		c.Deleted[key] = h
	}
	h.Leave()
}

func (r *records) goneInOrder(withHosts bool) []model.PrintedCluster {
	var list []model.PrintedCluster
	for _, last := range r.gone {
		w := *last
		if !withHosts {
			w.PrintedHosts, w.HostNetworks = []model.PrintedHost{}, nil
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b model.PrintedCluster) int {
		return cmp.Or(time.Time(a.CreatedAt).Compare(time.Time(b.CreatedAt)), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Handlers of operations on one object, by its id in the path; refused where there is none.

func (r *records) ofCluster(handle func(*wire.Call, *model.Cluster) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Cluster, error) { return r.getCluster(c.PathValue("cluster_id")) }, handle)
}

func (r *records) ofStored(refusal string, handle func(*wire.Call, *model.Cluster) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Cluster, error) { return r.storedCluster(c.PathValue("cluster_id"), refusal) }, handle)
}

func (r *records) ofInfraEnv(handle func(*wire.Call, *model.InfraEnv) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.InfraEnv, error) { return r.getInfraEnv(c.PathValue("infra_env_id")) }, handle)
}

func (r *records) ofHost(handle func(*wire.Call, *model.Host) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Host, error) {
		return r.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	}, handle)
}

func about[T any](find func(*wire.Call) (*T, error), handle func(*wire.Call, *T) (wire.Reply, error)) wire.Handler {
	return func(c *wire.Call) (wire.Reply, error) {
		found, err := find(c)
		if err != nil {
			return wire.Reply{}, err
		}
		return handle(c, found)
	}
}

// source is where times, ids and secrets come from. The same seed gives the same ids and secrets.
type source struct {
	clock   clock.Clock
	random  *rand.Rand
	entropy io.Reader
}

func newSource(c clock.Clock, number int64) *source {
	var seed [32]byte
	for i := range 8 {
		seed[i] = byte(number >> (8 * i))
	}
	bytes := rand.NewChaCha8(seed)
	return &source{clock: c, random: rand.New(bytes), entropy: bytes}
}

func (s *source) now() time.Time { return s.clock.Now().UTC() }

func (s *source) since(at model.Millis) time.Duration { return s.now().Sub(time.Time(at)) }

func (s *source) newID() string {
	id, err := uuid.NewRandomFromReader(s.entropy)
	if err != nil { // a deterministic source never fails
		return uuid.NewString()
	}
	return id.String()
}

func (s *source) newSecret() []byte {
	key := make([]byte, 32)
	_, _ = s.entropy.Read(key) // a deterministic source never fails
	return key
}

// newPassword makes a password as the installer does: four groups of five.
func (s *source) newPassword() string {
	const letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789"
	var b []byte
	for i := range 4 {
		if i > 0 {
			b = append(b, '-')
		}
		for range 5 {
			b = append(b, letters[s.random.IntN(len(letters))])
		}
	}
	return string(b)
}
