package nmstate

import (
	"slices"
	"testing"
)

// tables.yaml is decoded strictly; what its entries say of each other has to fit.
func TestTables(t *testing.T) {
	for name, option := range tables().BondOptions {
		kinds := 0
		for _, is := range []bool{len(option.Words) > 0, len(option.Range) == 2, option.List == "mac" || option.List == "ipv4"} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("bond option %s is not one of words, range and list", name)
		}
		for _, mode := range option.Modes {
			if !slices.Contains(tables().BondModes, mode) {
				t.Errorf("bond option %s: %s is no mode", name, mode)
			}
		}
	}
	for name, feature := range tables().FeatureNames {
		if !slices.Contains(tables().Features, feature) {
			t.Errorf("%s stands for %s, which is no feature", name, feature)
		}
	}
}
