package release

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/pelletier/go-toml/v2"
)

// Registry is one [[registry]] of a registries.conf, version 2.
type Registry struct {
	// Prefix of references: "quay.io/openshift-release-dev", or "*.example.com".
	// Location if empty.
	Prefix string `toml:"prefix"`
	// Location replaces the prefix of what is pulled from the source itself.
	Location string `toml:"location"`
	Insecure bool   `toml:"insecure"`
	// Blocked says that nothing is pulled from the source.
	Blocked bool `toml:"blocked"`
	// DigestOnly says that mirrors are asked for digests only.
	DigestOnly bool     `toml:"mirror-by-digest-only"`
	Mirrors    []Mirror `toml:"mirror"`
}

// Mirror is one [[registry.mirror]].
type Mirror struct {
	Location string `toml:"location"`
	Insecure bool   `toml:"insecure"`
	// From is "all" (or empty), "digest-only" or "tag-only".
	From string `toml:"pull-from-mirror"`
}

// ParseRegistries reads a registries.conf (containers-registries.conf(5)). Other things
// in it are passed over.
func ParseRegistries(data []byte) ([]Registry, error) {
	var file struct {
		Registries []Registry `toml:"registry"`
	}
	if err := unmarshal(data, &file); err != nil {
		if at, is := errors.AsType[*toml.DecodeError](err); is {
			line, column := at.Position()
			return nil, fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(at.Error(), "toml: "))
		}
		return nil, err
	}
	for i := range file.Registries {
		if err := file.Registries[i].check(); err != nil {
			return nil, fmt.Errorf("[[registry]] number %d: %w", i+1, err)
		}
	}
	return file.Registries, nil
}

// unmarshal recovers: the decoder panics at [[registry.0]] before any [[registry]].
func unmarshal(data []byte, into any) (err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("it cannot be read: %v", trouble)
		}
	}()
	return toml.Unmarshal(data, into)
}

func (r *Registry) check() error {
	if r.Prefix == "" {
		r.Prefix = r.Location
	}
	if r.Prefix == "" {
		return errors.New("it has neither prefix nor location")
	}
	for i, m := range r.Mirrors {
		switch m.From {
		case "", "all", "digest-only", "tag-only":
		default:
			return fmt.Errorf("mirror %s: pull-from-mirror is %q, and not all, digest-only or tag-only", m.Location, m.From)
		}
		if m.Location == "" {
			return fmt.Errorf("mirror number %d has no location", i+1)
		}
	}
	return nil
}

// covers reports whether a reference falls under the prefix, and how much of it that takes.
func (r *Registry) covers(ref string) (length int, ok bool) {
	prefix := r.Prefix
	if below, wild := strings.CutPrefix(prefix, "*"); wild {
		host, _, _ := strings.Cut(ref, "/")
		return len(host), strings.HasSuffix(host, below) && len(host) > len(below)
	}
	if !strings.HasPrefix(ref, prefix) {
		return 0, false
	}
	rest := ref[len(prefix):]
	return len(prefix), rest == "" || strings.ContainsRune("/:@", rune(rest[0]))
}

type source struct {
	image    string
	insecure bool
	ref      name.Reference
}

// sourcesOf are where an image is tried, in order: the mirror that was named, those of
// the registry with the longest prefix, and the source.
func sourcesOf(image name.Reference, o Options) ([]source, error) {
	var places []source
	add := func(ref string, insecure bool) error {
		options := []name.Option{}
		if insecure {
			options = append(options, name.Insecure)
		}
		if err := tooLong(ref); err != nil {
			return err
		}
		parsed, err := name.ParseReference(ref, options...)
		if err != nil {
			return err
		}
		places = append(places, source{image: parsed.Name(), insecure: insecure, ref: parsed})
		return nil
	}
	whole := image.Name()
	suffix := strings.TrimPrefix(whole, image.Context().Name())
	if o.Mirror != "" {
		mirror := o.Mirror
		if last := mirror[strings.LastIndex(mirror, "/")+1:]; !strings.ContainsAny(last, ":@") {
			mirror += suffix
		}
		if err := add(mirror, insecureAt(o.Registries, mirror)); err != nil {
			return nil, fmt.Errorf("use the mirror: %w", err)
		}
	}
	registry, taken := longest(o.Registries, whole)
	if registry == nil {
		return places, add(whole, false)
	}
	_, digest := image.(name.Digest)
	for _, m := range registry.Mirrors {
		if m.From == "digest-only" && !digest || m.From == "tag-only" && digest || registry.DigestOnly && m.From == "" && !digest {
			continue
		}
		if err := add(m.Location+whole[taken:], m.Insecure); err != nil {
			return nil, fmt.Errorf("use the mirror %s: %w", m.Location, err)
		}
	}
	if registry.Blocked {
		if len(places) == 0 {
			return nil, fmt.Errorf("registries.conf blocks %s and names no mirror for it", registry.Prefix)
		}
		return places, nil
	}
	source := whole
	if registry.Location != "" && !strings.HasPrefix(registry.Prefix, "*") {
		source = registry.Location + whole[taken:]
	}
	return places, add(source, registry.Insecure)
}

// longest is the registry whose prefix takes most of a reference, or nil.
func longest(registries []Registry, ref string) (registry *Registry, taken int) {
	most := -1
	for i := range registries {
		r := &registries[i]
		length, ok := r.covers(ref)
		if !ok {
			continue
		}
		exact := len(r.Prefix) // "*.example.com" gives way to what names the host
		if strings.HasPrefix(r.Prefix, "*") {
			exact = 0
		}
		if exact > most {
			registry, taken, most = r, length, exact
		}
	}
	return registry, taken
}

// insecureAt reports whether registries.conf calls a mirror or registry of ref insecure.
func insecureAt(registries []Registry, ref string) bool {
	for _, r := range registries {
		for _, m := range r.Mirrors {
			if at := (Registry{Prefix: m.Location}); m.Insecure {
				if _, ok := at.covers(ref); ok {
					return true
				}
			}
		}
		if _, ok := r.covers(ref); ok && r.Insecure {
			return true
		}
	}
	return false
}
