package iso9660

import (
	"bytes"
	"encoding/binary"
)

// BlockSize is the unit of places in partition tables.
const BlockSize = 512

const mbrCodeSize = 440

// MBRPartition is an entry of the MBR that is in use.
type MBRPartition struct {
	Number int // 1 to 4
	Active bool
	Type   byte
	First  int64 // block
	Blocks int64
}

// readPartitions reads the MBR and the GPT, if the system area has them.
func (v *Volume) readPartitions() error {
	m, err := v.read(0, BlockSize, "the first block")
	if err != nil {
		return err
	}
	if m[510] != 0x55 || m[511] != 0xAA {
		return nil
	}
	v.mbrHasCode = len(bytes.Trim(m[:mbrCodeSize], "\x00")) > 0
	for i := range 4 {
		e := m[446+16*i:]
		p := MBRPartition{
			Number: i + 1,
			Active: e[0] == 0x80,
			Type:   e[4],
			First:  int64(binary.LittleEndian.Uint32(e[8:])),
			Blocks: int64(binary.LittleEndian.Uint32(e[12:])),
		}
		if p.Blocks > 0 {
			v.MBR = append(v.MBR, p)
		}
	}
	return v.readGPT()
}
