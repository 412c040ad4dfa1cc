package catalogue

import (
	"io/fs"
	"strings"
	"sync"
)

// operatorChecks are the two checks of each operator.
func operatorChecks(files fs.FS) ([]part, error) {
	operators, err := partsOf(files, "operators/operators.yaml")
	if err != nil {
		return nil, err
	}
	checks, err := partsOf(files, "operators/checks.yaml")
	if err != nil {
		return nil, err
	}
	var all []part
	for _, operator := range operators {
		words := sync.OnceValues(func() (*strings.Replacer, error) { return wordsOf(operator) })
		for _, check := range checks {
			check.key = strings.ReplaceAll(check.key, "<name>", operator.key)
			check.words = words
			all = append(all, check)
		}
	}
	return all, nil
}

// wordsOf are what an operator fills the texts of its two checks with.
func wordsOf(operator part) (*strings.Replacer, error) {
	f, err := operator.fields()
	if err != nil {
		return nil, err
	}
	f.require("product", "host", "cluster", "remedy", "cure")
	listed := f.text("listed")
	if listed == "" {
		listed = operator.key
	}
	words := []string{"<name>", operator.key, "<listed>", listed}
	for _, key := range []string{"product", "host", "cluster", "remedy", "cure"} {
		words = append(words, "<"+key+">", f.text(key))
	}
	return strings.NewReplacer(words...), f.done()
}
