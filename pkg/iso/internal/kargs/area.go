// Package kargs reads and edits the kernel arguments of a CoreOS live image. They
// stand in areas of fixed size inside the boot loaders' files, the same text in
// each: the arguments, a byte that ends them, and padding. /coreos/kargs.json says
// where the areas are; images older than that say it in the 32 KiB in front of the
// file system.
package kargs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	// Damage says where the files contradict each other or their format. Such an
	// image may boot with arguments that nobody wants; an edit needs Reset.
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

func (f File) place() string {
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
	if err := a.checkPlaces(); err != nil {
		return nil, err
	}
	for i := range a.Files {
		f := &a.Files[i]
		if f.content, err = readArea(r, f.Offset, f.Size); err != nil {
			return nil, fmt.Errorf("read the kernel arguments in %s: %w", f.place(), err)
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

// checkPlaces refuses areas of no use and those that share bytes, and sets Limit.
func (a *Area) checkPlaces() error {
	a.Limit = maxArguments
	for _, f := range a.Files {
		if f.Size < 2 || f.Size > maxArea {
			return fmt.Errorf("%s: an area of %d bytes for kernel arguments", f.place(), f.Size)
		}
		a.Limit = min(a.Limit, int(f.Size)-1)
	}
	sorted := slices.SortedFunc(slices.Values(a.Files), func(x, y File) int {
		return int(max(-1, min(1, x.Offset-y.Offset)))
	})
	for i := 1; i < len(sorted); i++ {
		before, f := sorted[i-1], sorted[i]
		if f.Offset-before.Offset < before.Size {
			return fmt.Errorf("the areas for kernel arguments in %s and %s overlap at byte %d", before.place(), f.place(), f.Offset)
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

// compare reads the arguments out of every file and notes what is wrong.
func (a *Area) compare() {
	for i, f := range a.Files {
		text, damage := f.arguments()
		if damage != "" {
			a.Damage = append(a.Damage, f.place()+": "+damage)
		}
		words := split(text)
		if i == 0 {
			a.Current = words
			continue
		}
		if !slices.Equal(words, a.Current) {
			a.Damage = append(a.Damage, fmt.Sprintf("%s holds other kernel arguments than %s", f.place(), a.Files[0].place()))
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
