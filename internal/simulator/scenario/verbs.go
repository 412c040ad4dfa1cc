package scenario

import (
	_ "embed"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed verbs.yaml
var verbs []byte

// vocabulary is verbs.yaml.
type vocabulary struct {
	Types map[string]struct {
		Is    string   `json:"is"`
		Words []string `json:"words"`
	} `json:"types"`
	Service fields `json:"service"`
	Hosts   fields `json:"hosts"`
}

// fields are those of the rules for one half of the simulator, with their types.
type fields struct {
	Match map[string]string            `json:"match"`
	At    map[string]string            `json:"at"`
	Verbs map[string]map[string]string `json:"verbs"`
}

var known = sync.OnceValue(func() vocabulary {
	words, err := readVocabulary()
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return words
})

func readVocabulary() (words vocabulary, err error) {
	return words, yaml.UnmarshalStrict(verbs, &words)
}
