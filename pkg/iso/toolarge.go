package iso

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/embed"
)

// mostWeights is how many of the largest files a TooLargeError names.
const mostWeights = 3

// TooLargeError says that a config does not fit into the Ignition area.
type TooLargeError struct {
	// Need is how large the archive is, however compressed; Have is the room. Both in bytes.
	Need, Have int64
	// Largest are the files that weigh most before compression, the heaviest first.
	Largest []Weight
	// Why the area was not made larger.
	Why string
}

// Weight is a file and its size in bytes.
type Weight struct {
	Path  string
	Bytes int64
}

func (e *TooLargeError) Error() string {
	var named []string
	for _, w := range e.Largest {
		named = append(named, fmt.Sprintf("%s (%d bytes)", w.Path, w.Bytes))
	}
	return fmt.Sprintf("the Ignition archive has %d bytes, %d more than its area holds, and %s; the largest in it: %s",
		e.Need, e.Need-e.Have, e.Why, strings.Join(named, ", "))
}

func (b *Base) tooLarge(need int64, noGrow bool, members []embed.Member) *TooLargeError {
	why := "that area can not be made larger in this image"
	switch {
	case b.info.Arch == zseries:
		why = "on s390x that area can not be made larger"
	case noGrow:
		why = "it was asked not to make that area larger"
	}
	var weights []Weight
	for _, m := range members {
		if m.Name == configMember {
			weights = append(weights, configWeights(m.Data)...)
		} else {
			weights = append(weights, Weight{m.Name, int64(len(m.Data))})
		}
	}
	slices.SortStableFunc(weights, func(a, b Weight) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return &TooLargeError{Need: need, Have: b.area.length, Largest: weights[:min(len(weights), mostWeights)], Why: why}
}

// resource is a file's content in a config: the length of its URL is what it weighs there.
type resource struct {
	Source string `json:"source"`
}

// configWeights looks into a config: "config.ign is too large" would help nobody.
func configWeights(config []byte) []Weight {
	var parsed struct {
		Storage struct {
			Files []struct {
				Path     string     `json:"path"`
				Contents resource   `json:"contents"`
				Append   []resource `json:"append"`
			} `json:"files"`
		} `json:"storage"`
		Systemd struct {
			Units []struct {
				Name     string `json:"name"`
				Contents string `json:"contents"`
			} `json:"units"`
		} `json:"systemd"`
	}
	if err := json.Unmarshal(config, &parsed); err != nil {
		return []Weight{{configMember, int64(len(config))}}
	}
	var weights []Weight
	for _, f := range parsed.Storage.Files {
		size := len(f.Contents.Source)
		for _, a := range f.Append {
			size += len(a.Source)
		}
		weights = append(weights, Weight{f.Path, int64(size)})
	}
	for _, u := range parsed.Systemd.Units {
		weights = append(weights, Weight{u.Name, int64(len(u.Contents))})
	}
	if len(weights) == 0 {
		return []Weight{{configMember, int64(len(config))}}
	}
	return weights
}
