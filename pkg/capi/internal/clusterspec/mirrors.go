package clusterspec

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// mirrorsOf reads mirrors from a registries.conf: containers-registries.conf(5), version 2.
func mirrorsOf(text string) ([]spec.Mirror, error) {
	registries, err := release.ParseRegistries([]byte(text))
	if err != nil {
		return nil, err
	}
	var out []spec.Mirror
	for _, r := range registries {
		m := spec.Mirror{Source: cmp.Or(r.Location, r.Prefix)}
		for _, target := range r.Mirrors {
			m.Mirrors = append(m.Mirrors, target.Location)
			m.Insecure = m.Insecure || target.Insecure
		}
		if len(m.Mirrors) > 0 {
			out = append(out, m)
		}
	}
	return out, nil
}

// ownedBy reports whether an object of a kind of Cluster API owns another.
func ownedBy(owners []metav1.OwnerReference, kind string) bool {
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Kind == kind })
}
