package ignition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coreos/go-semver/semver"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/report"
)

// Merge makes one config of several by the rules of the specification: of two
// that speak of the same file, unit or user, the later one wins, field by field.
// The result follows the newest specification among the configs, not a newer one: an
// image reads it if it reads each of them. The same configs give the same bytes; a
// single one comes back as it is.
//
// A config with Errors is an *Invalid, in which configs are called "config 1" and
// so on. Warnings are not told: Validate has them.
func Merge(configs ...[]byte) ([]byte, error) { return merge(valid, configs) }

// merge merges configs that check finds valid, each under the name that it is
// given.
func merge(check func(name string, data []byte) (semver.Version, error), configs [][]byte) ([]byte, error) {
	if len(configs) == 0 {
		return nil, errors.New("merge Ignition configs: there are none")
	}
	var newest semver.Version
	for i, data := range configs {
		version, err := check(fmt.Sprintf("config %d", i+1), data)
		if err != nil {
			return nil, fmt.Errorf("merge Ignition configs: %w", err)
		}
		if newest.LessThan(version) {
			newest = version
		}
	}
	if len(configs) == 1 {
		return bytes.Clone(configs[0]), nil
	}
	s, err := specificationOf(newest)
	if err != nil {
		return nil, fmt.Errorf("merge Ignition configs: %w", err)
	}
	merged, err := s.merge(configs)
	if err != nil {
		return nil, err
	}
	if _, err := valid("the merged config", merged); err != nil {
		return nil, fmt.Errorf("merge Ignition configs: %w", err)
	}
	return merged, nil
}

// valid is Validate for who needs no report of what is in order: finding the
// places of things is most of its work.
func valid(name string, data []byte) (semver.Version, error) {
	if version, _, err := versionOf(data); err == nil {
		s, err := specificationOf(version)
		if err == nil && s.judge(data, false) < fatal && carriesWell(data) {
			return version, nil
		}
	}
	r, err := Validate(name, data)
	if err != nil {
		return semver.Version{}, err
	}
	version, err := semver.NewVersion(r.Version)
	if err != nil {
		return semver.Version{}, fmt.Errorf("%s: read its version: %w", name, err)
	}
	return *version, nil
}

// carriesWell tells whether what a config carries within itself is in order.
func carriesWell(data []byte) bool {
	var config types.Config
	if json.Unmarshal(data, &config) != nil {
		return false
	}
	var found report.Report
	checkResources(config, 0, &found)
	return !found.IsFatal()
}

// mergeAs merges in the types of one specification. The configs are valid, so that
// one of just this specification is read without applying the rules once more.
func mergeAs[Config any](
	translate func([]byte) (Config, report.Report, error),
	merge func(parent, child Config) Config,
	minor int64,
	configs [][]byte,
) ([]byte, error) {
	var merged Config
	for i, data := range configs {
		version, _, err := versionOf(data)
		var config Config
		switch {
		case err != nil:
		case version.Minor == minor:
			err = json.Unmarshal(data, &config)
		default:
			config, _, err = translate(data)
		}
		if err != nil {
			return nil, fmt.Errorf("merge Ignition configs: config %d: %w", i+1, err)
		}
		if i == 0 {
			merged = config
			continue
		}
		merged = merge(merged, config)
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("write the merged Ignition config: %w", err)
	}
	return data, nil
}
