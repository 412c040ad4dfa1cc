// Package versions is what the simulated assisted-service knows about OpenShift
// releases: which it can install, with which images and on which architectures,
// which operators and bundles it offers, how well each feature is supported,
// and what hardware each role needs.
//
// The tables are YAML. They are read when the first question is asked, and the same
// question has the same answer in every process.
package versions

import (
	"embed"
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

type tables struct {
	minors    []minor
	features  []feature
	operators []operator
	bundles   []Bundle
	hardware  []roleHardware
	service   serviceTable
}

var known = sync.OnceValue(func() *tables {
	t, err := readTables()
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return t
})

func readTables() (*tables, error) {
	t := &tables{}
	for name, into := range map[string]any{
		"openshift.yaml": &t.minors, "features.yaml": &t.features, "operators.yaml": &t.operators,
		"bundles.yaml": &t.bundles, "hardware.yaml": &t.hardware, "service.yaml": &t.service,
	} {
		text, err := files.ReadFile(name)
		if err == nil {
			err = yaml.UnmarshalStrict(text, into)
		}
		if err != nil {
			return nil, fmt.Errorf("read the table %s: %w", name, err)
		}
	}
	return t, nil
}
