package spoke

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed kinds.yaml
var kindsFile []byte

type kindEntry struct {
	Group, Version, Kind, Plural, Scope string
	ShortNames                          []string
	// Needs is machineAPI for a kind that only clusters with the Machine API have.
	Needs string
	// Scale says that it has the subresource scale.
	Scale        bool
	Spec, Status map[string]string // the types of fields
	Columns      map[string]string // JSON paths
}

func readKinds(machineAPI bool) ([]kindEntry, error) {
	var all []kindEntry
	if err := yaml.UnmarshalStrict(kindsFile, &all); err != nil {
		return nil, fmt.Errorf("read kinds.yaml: %w", err)
	}
	return slices.DeleteFunc(all, func(k kindEntry) bool { return k.Needs == "machineAPI" && !machineAPI }), nil
}

func (k *kindEntry) definition() object {
	open := func(types map[string]string) fields {
		properties := fields{}
		for name, is := range types {
			properties[name] = schemaOf(is)
		}
		return fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties}
	}
	var columns []any
	for _, name := range slices.Sorted(maps.Keys(k.Columns)) {
		columns = append(columns, fields{"name": name, "type": "string", "jsonPath": k.Columns[name]})
	}
	subresources := fields{}
	if !k.statusless() {
		subresources["status"] = fields{}
	}
	if k.Scale {
		subresources["scale"] = fields{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
	}
	version := fields{
		"name": k.Version, "served": true, "storage": true, "subresources": subresources,
		"schema": fields{"openAPIV3Schema": fields{
			"type": "object", "properties": fields{"spec": open(k.Spec), "status": open(k.Status)},
		}},
	}
	if columns != nil {
		version["additionalPrinterColumns"] = columns
	}
	names := fields{"kind": k.Kind, "listKind": k.Kind + "List", "plural": k.Plural, "singular": strings.ToLower(k.Kind)}
	if len(k.ShortNames) > 0 {
		names["shortNames"] = texts(k.ShortNames)
	}
	return object{kind: kindCRD, name: k.Plural + "." + k.Group, fields: fields{
		"spec": fields{"group": k.Group, "scope": k.Scope, "names": names, "versions": []any{version}},
	}}
}

func (k *kindEntry) statusless() bool { return k.Kind == kindMachineConfig.name }

func schemaOf(is string) fields {
	switch is {
	case "object":
		return fields{"type": is, "x-kubernetes-preserve-unknown-fields": true}
	case "array":
		return fields{"type": is, "items": fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	case "texts":
		return fields{"type": "array", "items": fields{"type": "string"}}
	}
	return fields{"type": is}
}

// setUpKinds makes the cluster's kinds, as far as the API server does not have them, and waits until it serves them.
func (s *Spoke) setUpKinds(ctx context.Context) error {
	all, err := readKinds(s.cluster.MachineAPI)
	if err != nil {
		return err
	}
	for i := range all {
		if err := s.create(ctx, all[i].definition()); err != nil {
			return err
		}
	}
	for i := range all {
		if err := s.served(ctx, all[i].Plural+"."+all[i].Group); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spoke) served(ctx context.Context, name string) error {
	const often = 50 * time.Millisecond // of real time
	for {
		crd, err := s.objectsOf(kindCRD, "").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("wait for %s to be served: %w", name, err)
		}
		if apiobject.Condition(crd, "Established")["status"] == "True" {
			return nil
		}
		if err := s.clock.Sleep(ctx, s.atLeast(time.Millisecond, often)); err != nil {
			return fmt.Errorf("wait for %s to be served: %w", name, err)
		}
	}
}
