package model

import (
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/setting"
)

// Query is how a service is asked for the cluster that is desired.
func (d *Desired) Query() Query {
	query := Query{
		Name: d.Spec.Metadata.Name, BaseDomain: d.Spec.Spec.BaseDomain, Adopt: d.Options.Adopt, Run: d.Options.Run,
		InfraEnv: d.Spec.Spec.InfraEnv.Ref, Ignored: setting.IgnoredOf(d.Spec) != nil,
		Overridden: slices.Sorted(maps.Keys(d.Spec.Spec.Overrides.InfraEnv)),
	}
	if from := d.Spec.Spec.Import; from != nil {
		query.Imported = from.ClusterID
	}
	return query
}

// Query says which cluster to observe: by ID if that is known, else by name
// and base domain.
type Query struct {
	ID         string
	Name       string
	BaseDomain string
	Adopt      string // an id that may be taken over although it is not tagged
	Imported   string // what an installed cluster calls itself that is to be imported (spec.import.clusterID)
	Run        string // this run's mark
	InfraEnv   string // name or id of an InfraEnv that is not the cluster's own (spec.infraEnv.ref)
	// Ignored asks which validations may fail, of a service that shows that apart:
	// the file says it.
	Ignored bool
	// Overridden are the service's own names of fields of InfraEnvs that the file
	// gives in its words (spec.overrides.infraEnv).
	Overridden []string
	// Detail asks for everything to be read anew: inventories, manifests,
	// images. Otherwise the plane reads what may have changed.
	Detail bool
	// Poll is how often somebody wants to know what has changed, who has said so:
	// each observation asks then. Zero: as often as seems worth it.
	Poll time.Duration
}
