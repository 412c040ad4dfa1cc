// Package kargs reads and edits the kernel arguments of a CoreOS live image. They
// stand in areas of fixed size inside the boot loaders' files, the same text in
// each: the arguments, a byte that ends them, and padding. /coreos/kargs.json says
// where the areas are; images older than that say it in the 32 KiB in front of the
// file system.
package kargs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

const (
	// maxArguments is the longest command line that kernels of the architectures
	// with such areas take, without the zero that ends it (COMMAND_LINE_SIZE, 2048).
	maxArguments = 2047
	// maxArea bounds what is read of an image whose description is damaged.
	maxArea = 64 << 10
	// maxFiles likewise; no image has more than a handful.
	maxFiles = 64
)

// ErrNone says that an image has no areas for kernel arguments.
var ErrNone = errors.New("the image has no areas for kernel arguments")

// Area is the kernel arguments of one image, over all files that hold them.
type Area struct {
	// Default are the arguments that the image was built with.
	Default []string
	// Current are the arguments that stand there now, as the first file has them.
	Current []string
	// Limit is how many bytes the arguments may take, joined by single spaces.
	Limit int
	// Files are the places, in the order of the image's description.
	Files []File
	// Damage says where the files contradict each other or their format. Such an image may boot with arguments that
	// were never intended; an edit needs Reset.
	Damage []string
}

// File is one place that holds the arguments.
type File struct {
	// Path is the file within the image; empty where an old image names none.
	Path string
	// Offset is the first byte of the area within the image, Size its length.
	Offset, Size int64

	end, pad byte
	content  []byte
}

func (f File) position() string {
	if f.Path == "" {
		return fmt.Sprintf("the area at byte %d", f.Offset)
	}
	return f.Path
}

// Read finds the areas by the content of the image's kargs.json, or by the
// header of old images where json is empty, and reads them. locate says where
// in r a file of the image begins and how long it is.
//
// The error is ErrNone where the image has no areas. An area out of its file,
// overlapping areas and sizes that make no sense are errors that name the place.
func Read(r io.ReaderAt, locate func(path string) (off, size int64, err error), json []byte) (*Area, error) {
	var (
		a   *Area
		err error
	)
	if len(json) > 0 {
		a, err = describedByJSON(locate, json)
	} else {
		a, err = describedByHeader(r)
	}
	if err != nil {
		return nil, err
	}
	if err := a.checkPositions(); err != nil {
		return nil, err
	}
	for i := range a.Files {
		f := &a.Files[i]
		if f.content, err = readArea(r, f.Offset, f.Size); err != nil {
			return nil, fmt.Errorf("read the kernel arguments in %s: %w", f.position(), err)
		}
	}
	a.compare()
	return a, nil
}

func readArea(r io.ReaderAt, off, size int64) ([]byte, error) {
	b := make([]byte, size)
	if n, err := r.ReadAt(b, off); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%d bytes at byte %d: %w", size, off, err)
	}
	return b, nil
}

// checkPositions refuses areas of no use and those that share bytes, and sets Limit.
func (a *Area) checkPositions() error {
	a.Limit = maxArguments
	for _, f := range a.Files {
		if f.Size < 2 || f.Size > maxArea {
			return fmt.Errorf("%s: an area of %d bytes for kernel arguments", f.position(), f.Size)
		}
		a.Limit = min(a.Limit, int(f.Size)-1)
	}
	sorted := slices.SortedFunc(slices.Values(a.Files), func(x, y File) int {
		return int(max(-1, min(1, x.Offset-y.Offset)))
	})
	for i := 1; i < len(sorted); i++ {
		before, f := sorted[i-1], sorted[i]
		if f.Offset-before.Offset < before.Size {
			return fmt.Errorf("the areas for kernel arguments in %s and %s overlap at byte %d", before.position(), f.position(), f.Offset)
		}
	}
	arguments := strings.Join(a.Default, " ")
	if strings.ContainsFunc(arguments, func(c rune) bool { return c > 0x7f || !printable(byte(c)) }) {
		return errors.New("the image's default kernel arguments hold bytes that are no printable ASCII")
	}
	if n := len(arguments); n > a.Limit {
		return fmt.Errorf("the image's default kernel arguments take %d bytes, but its areas hold %d", n, a.Limit)
	}
	return nil
}

// compare reads the arguments out of every file and records what is wrong.
func (a *Area) compare() {
	for i, f := range a.Files {
		text, damage := f.arguments()
		if damage != "" {
			a.Damage = append(a.Damage, f.position()+": "+damage)
		}
		words := split(text)
		if i == 0 {
			a.Current = words
			continue
		}
		if !slices.Equal(words, a.Current) {
			a.Damage = append(a.Damage, fmt.Sprintf("%s holds other kernel arguments than %s", f.position(), a.Files[0].position()))
		}
	}
}

// arguments is the text in front of the end, and what is wrong with the area.
func (f File) arguments() (text, damage string) {
	before, after, ended := bytes.Cut(f.content, []byte{f.end})
	if !ended {
		return string(bytes.TrimRight(f.content, string(f.pad))), "nothing ends the kernel arguments"
	}
	if len(bytes.Trim(after, string([]byte{f.end, f.pad}))) > 0 {
		damage = "something other than padding follows the kernel arguments"
	}
	for _, c := range before {
		if !printable(c) {
			return string(before), "the kernel arguments hold bytes that are no printable ASCII"
		}
	}
	return string(before), damage
}

func (f File) filled(arguments string) []byte {
	b := bytes.Repeat([]byte{f.pad}, int(f.Size))
	copy(b, arguments)
	b[len(arguments)] = f.end
	return b
}

func printable(c byte) bool { return ' ' <= c && c <= '~' }

// split cuts a command line into arguments as the kernel does: at spaces that are
// not within double quotes.
func split(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return !quoted && (c == ' ' || '\t' <= c && c <= '\r')
	})
}

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
