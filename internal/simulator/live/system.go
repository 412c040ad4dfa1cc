package live

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
)

// system is what an Ignition config makes of a machine, as far as the simulator shows it.
type system struct {
	started map[string]string // text by unit, of those that are started
	order   []string          // their names, as they are first met
	files   map[string]string // content by path
}

func readSystem(config []byte) (*system, error) {
	s := &system{started: map[string]string{}, files: map[string]string{}}
	if err := s.read(config, 0); err != nil {
		return nil, fmt.Errorf("read its Ignition: %w", err)
	}
	return s, nil
}

// read takes over a config, after those that are merged into it.
func (s *system) read(config []byte, depth int) error {
	const deepest = 4
	var parsed types.Config
	if err := json.Unmarshal(config, &parsed); err != nil {
		return err
	}
	for _, source := range append(parsed.Ignition.Config.Merge, parsed.Ignition.Config.Replace) {
		content, found, err := content(source)
		if err != nil {
			return fmt.Errorf("decode a config that is merged: %w", err)
		}
		if !found || depth == deepest {
			continue
		}
		if err := s.read(content, depth+1); err != nil {
			return err
		}
	}
	for _, file := range parsed.Storage.Files {
		content, found, err := content(file.Contents)
		if err != nil {
			return fmt.Errorf("decode the file %s: %w", file.Path, err)
		}
		if found {
			s.files[file.Path] = string(content)
		}
	}
	for _, unit := range parsed.Systemd.Units {
		if started := util.IsTrue(unit.Enabled) && !util.IsTrue(unit.Mask); !started || util.NilOrEmpty(unit.Contents) {
			continue
		}
		if !slices.Contains(s.order, unit.Name) {
			s.order = append(s.order, unit.Name)
		}
		s.started[unit.Name] = *unit.Contents
	}
	return nil
}

// content is the content of a data URL. Other URLs are not fetched.
func content(r types.Resource) (data []byte, found bool, err error) {
	if r.Source == nil || !strings.HasPrefix(*r.Source, "data:") {
		return nil, false, nil
	}
	decoded, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, false, err
	}
	if util.NilOrEmpty(r.Compression) {
		return decoded.Data, true, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(decoded.Data))
	if err != nil {
		return nil, false, err
	}
	const most = 16 << 20
	data, err = io.ReadAll(io.LimitReader(packed, most))
	return data, err == nil, err
}
