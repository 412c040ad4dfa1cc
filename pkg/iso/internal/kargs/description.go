package kargs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// defaultPad and defaultEnd are meant where kargs.json does not say otherwise, as
// it does since 2023-07.
const (
	defaultPad = '#'
	defaultEnd = '\n'
)

// description is kargs.json.
type description struct {
	Default string `json:"default"`
	Size    int64  `json:"size"`
	Files   []struct {
		Path   string  `json:"path"`
		Offset int64   `json:"offset"`
		Pad    *string `json:"pad"`
		End    *string `json:"end"`
	} `json:"files"`
}

func describedByJSON(locate func(string) (int64, int64, error), data []byte) (*Area, error) {
	var d description
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read kargs.json: %w", err)
	}
	if len(d.Files) == 0 || len(d.Files) > maxFiles {
		return nil, fmt.Errorf("read kargs.json: it names %d files", len(d.Files))
	}
	a := &Area{Default: split(d.Default)}
	for i, file := range d.Files {
		f := File{Path: file.Path, Size: d.Size}
		if file.Path == "" {
			return nil, fmt.Errorf("read kargs.json: files[%d]: no path", i)
		}
		start, length, err := locate(file.Path)
		if err != nil {
			return nil, fmt.Errorf("read kargs.json: files[%d]: %w", i, err)
		}
		if d.Size < 0 || file.Offset < 0 || d.Size > length || file.Offset > length-d.Size || start > math.MaxInt64-length {
			return nil, fmt.Errorf("read kargs.json: files[%d]: %d bytes at byte %d are not within the %d of %s",
				i, d.Size, file.Offset, length, file.Path)
		}
		f.Offset = start + file.Offset
		if f.pad, err = single(file.Pad, defaultPad); err != nil {
			return nil, fmt.Errorf("read kargs.json: files[%d].pad: %w", i, err)
		}
		if f.end, err = single(file.End, defaultEnd); err != nil {
			return nil, fmt.Errorf("read kargs.json: files[%d].end: %w", i, err)
		}
		if printable(f.end) {
			return nil, fmt.Errorf("read kargs.json: files[%d].end: %q may stand in an argument", i, f.end)
		}
		a.Files = append(a.Files, f)
	}
	return a, nil
}

func single(text *string, otherwise byte) (byte, error) {
	switch {
	case text == nil:
		return otherwise, nil
	case len(*text) != 1:
		return 0, fmt.Errorf("%q is not one byte", *text)
	}
	return (*text)[0], nil
}

// The header of images before kargs.json: 72 bytes in front of that of the
// Ignition area, at the end of the ISO 9660 system area. Numbers are little endian,
// offsets count from the start of the image, and 0 ends their list.
const (
	headerOffset  = 32672
	headerMagic   = "coreKarg"
	headerOffsets = 6
)

type header struct {
	Magic   [8]byte
	Length  uint64
	Default uint64
	Areas   [headerOffsets]uint64
}

func describedByHeader(r io.ReaderAt) (*Area, error) {
	var h header
	raw := make([]byte, binary.Size(h))
	if n, err := r.ReadAt(raw, headerOffset); n < len(raw) {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, ErrNone
		}
		return nil, fmt.Errorf("read the header of the kernel argument areas at byte %d: %w", headerOffset, err)
	}
	if _, err := binary.Decode(raw, binary.LittleEndian, &h); err != nil {
		return nil, fmt.Errorf("read the header of the kernel argument areas at byte %d: %w", headerOffset, err)
	}
	if string(h.Magic[:]) != headerMagic {
		return nil, ErrNone
	}
	if h.Length < 2 || h.Length > maxArea {
		return nil, fmt.Errorf("the header at byte %d speaks of kernel argument areas of %d bytes", headerOffset, h.Length)
	}
	a := &Area{}
	for _, off := range h.Areas {
		if off == 0 {
			break
		}
		if off > math.MaxInt64-maxArea {
			return nil, fmt.Errorf("the header at byte %d speaks of a kernel argument area at byte %d", headerOffset, off)
		}
		a.Files = append(a.Files, File{Offset: int64(off), Size: int64(h.Length), pad: defaultPad, end: defaultEnd})
	}
	if len(a.Files) == 0 {
		return nil, ErrNone
	}
	return a, a.readDefault(r, h)
}

// readDefault reads the copy of the default arguments that old images keep.
func (a *Area) readDefault(r io.ReaderAt, h header) error {
	if h.Default == 0 {
		return nil
	}
	if h.Default > math.MaxInt64-maxArea {
		return fmt.Errorf("the header at byte %d speaks of default kernel arguments at byte %d", headerOffset, h.Default)
	}
	content, err := readArea(r, int64(h.Default), int64(h.Length))
	if err != nil {
		return fmt.Errorf("read the default kernel arguments: %w", err)
	}
	text, _, _ := bytes.Cut(content, []byte{defaultEnd})
	a.Default = split(string(bytes.TrimRight(text, string(rune(defaultPad)))))
	return nil
}
