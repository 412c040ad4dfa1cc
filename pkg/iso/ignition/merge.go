package ignition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_0"
	"github.com/coreos/ignition/v2/config/v3_1"
	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/vcontext/report"
)

// Merge makes one config of several by the rules of the specification: of two
// that speak of the same file, unit or user, the later one wins, field by field.
// The result follows the newest specification among the configs, not a newer one: an
// image reads it if it reads each of them. The same configs give the same bytes; a
// single one comes back as it is.
//
// A config with Errors is an *Invalid, in which configs are called "config 1" and
// so on.
func Merge(configs ...[]byte) ([]byte, error) {
	if len(configs) == 0 {
		return nil, errors.New("merge Ignition configs: there are none")
	}
	minor := int64(0)
	for i, c := range configs {
		if _, err := Validate(fmt.Sprintf("config %d", i+1), c); err != nil {
			return nil, fmt.Errorf("merge Ignition configs: %w", err)
		}
		version, _, err := util.GetConfigVersion(c)
		if err != nil {
			return nil, fmt.Errorf("merge Ignition configs: config %d: %w", i+1, err)
		}
		minor = max(minor, version.Minor)
	}
	if len(configs) == 1 {
		return bytes.Clone(configs[0]), nil
	}
	return mergers()[minor](configs)
}

// mergers merge configs of up to the specification 3.N, by N.
func mergers() []func([][]byte) ([]byte, error) {
	return []func([][]byte) ([]byte, error){
		merger(v3_0.ParseCompatibleVersion, v3_0.Merge),
		merger(v3_1.ParseCompatibleVersion, v3_1.Merge),
		merger(v3_2.ParseCompatibleVersion, v3_2.Merge),
		merger(v3_3.ParseCompatibleVersion, v3_3.Merge),
		merger(v3_4.ParseCompatibleVersion, v3_4.Merge),
		merger(v3_5.ParseCompatibleVersion, v3_5.Merge),
		merger(v3_6.ParseCompatibleVersion, v3_6.Merge),
	}
}

func merger[Config any](
	parse func([]byte) (Config, report.Report, error),
	merge func(parent, child Config) Config,
) func([][]byte) ([]byte, error) {
	return func(configs [][]byte) ([]byte, error) {
		var merged Config
		for i, data := range configs {
			config, _, err := parse(data)
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
		if _, err := Validate("the merged config", data); err != nil {
			return nil, fmt.Errorf("merge Ignition configs: %w", err)
		}
		return data, nil
	}
}
