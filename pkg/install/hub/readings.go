package hub

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// readings are what the objects of a kind said when they were last read. They are read anew once they have changed.
type readings[T any] struct {
	mu   sync.Mutex
	last map[string]reading[T] // by the UID of the object
}

type reading[T any] struct {
	version string // of the object, and of what else was read for it
	said    T
}

// round reads objects once, and forgets those that it did not read.
type round[T any] struct {
	of        *readings[T]
	last, now map[string]reading[T]
}

func (r *readings[T]) round() *round[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &round[T]{of: r, last: r.last, now: map[string]reading[T]{}}
}

// read is what an object says: as last time where it has the same version, else read by a function, which says whether
// that lasts as long as the version.
func (r *round[T]) read(u *unstructured.Unstructured, version string, read func() (said T, lasts bool, err error)) (T, error) {
	uid := string(u.GetUID())
	if last, known := r.last[uid]; known && last.version == version {
		r.now[uid] = last
		return last.said, nil
	}
	said, lasts, err := read()
	if err == nil && lasts && uid != "" && version != "" {
		r.now[uid] = reading[T]{version, said}
	}
	return said, err
}

// end makes the next round start from this one.
func (r *round[T]) end() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.last = r.now
}

// readHost is an Agent as a host at a moment. The texts of checks are the same for most hosts, and kept once.
func readHost(hosts *round[model.Host], texts *hubapi.Texts, u *unstructured.Unstructured, now time.Time) (model.Host, error) {
	return hosts.read(u, u.GetResourceVersion(), func() (model.Host, bool, error) {
		host, err := ReadAgent(u, now)
		host.Validations = slices.Clip(host.Validations)
		for i := range host.Validations {
			v := &host.Validations[i]
			v.ID, v.Category, v.Status, v.Message = texts.Same(v.ID), texts.Same(v.Category), texts.Same(v.Status), texts.Same(v.Message)
		}
		refusal := func(v model.Validation) bool { return v.ID == explain.SpecSynced } // which time makes a standing one
		return host, !slices.ContainsFunc(host.Validations, refusal), err
	})
}

// readInfraEnv is infraEnvOf with its NMStateConfigs among those of a namespace.
func readInfraEnv(envs *round[model.InfraEnv], u *unstructured.Unstructured, configs []*unstructured.Unstructured,
	cluster string) (model.InfraEnv, error) {
	own := selectedBy(u, configs)
	version := u.GetResourceVersion()
	for _, config := range own {
		if version != "" {
			version = strings.Join([]string{version, config.GetName(), config.GetResourceVersion()}, " ")
		}
	}
	env, err := envs.read(u, version, func() (model.InfraEnv, bool, error) {
		env, err := infraEnvOf(u, own, cluster)
		return env, true, err
	})
	env.Settings = maps.Clone(env.Settings) // to which those of its cluster are added
	return env, err
}
