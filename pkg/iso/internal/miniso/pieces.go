package miniso

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/iso/internal/unxz"
)

// Piece is a stretch of the minimal ISO: Data where that is set, else Length bytes of the full ISO
// from Full on.
type Piece struct {
	Data         []byte
	Full, Length int64 // bytes
}

// Pieces returns the minimal ISO from its first byte to its last, for a full ISO of fullSize bytes.
// Whether that is the right full ISO only the digest of the result tells.
func (r *Recipe) Pieces(fullSize int64) ([]Piece, error) {
	rest, err := unxz.Bytes(r.Packed, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("unpacking what is not shared: %w", err)
	}
	var pieces []Piece
	var at int64
	for i, e := range r.Table {
		if gap := e.start() - at; gap > 0 {
			if gap > int64(len(rest)) {
				return nil, fmt.Errorf("table entry %d needs %d bytes before it, and only %d are packed", i+1, gap, len(rest))
			}
			pieces = append(pieces, Piece{Data: rest[:gap:gap]})
			rest = rest[gap:]
		}
		full := int64(e.Full) * Sector
		if full+int64(e.Length) > fullSize {
			return nil, fmt.Errorf("table entry %d needs bytes %d to %d of an image of %d bytes", i+1, full, full+int64(e.Length), fullSize)
		}
		if e.Length > 0 {
			pieces = append(pieces, Piece{Full: full, Length: int64(e.Length)})
		}
		at = e.end()
	}
	if len(rest) > 0 {
		pieces = append(pieces, Piece{Data: rest})
	}
	return pieces, nil
}
