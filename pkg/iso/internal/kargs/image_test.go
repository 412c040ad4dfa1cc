package kargs_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"

	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
)

const (
	defaults = "coreos.liveiso=rhcos-9.4 ignition.firstboot ignition.platform.id=metal"
	areaSize = 300
)

// image is a fake: boot menus at fixed places, each with an area in its middle.
type image struct {
	data  []byte
	files map[string][2]int64
	json  string
}

func (im *image) locate(path string) (off, size int64, err error) {
	f, found := im.files[path]
	if !found {
		return 0, 0, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return f[0], f[1], nil
}

func (im *image) read() (*kargs.Area, error) {
	return kargs.Read(bytes.NewReader(im.data), im.locate, []byte(im.json))
}

func (im *image) write(patches []kargs.Patch) {
	for _, p := range patches {
		copy(im.data[p.Offset:], p.Data)
	}
}

func area(text string, end, pad byte) []byte {
	b := bytes.Repeat([]byte{pad}, areaSize)
	copy(b, text)
	b[len(text)] = end
	return b
}

const (
	grubOffset     = 40_000
	isolinuxOffset = 50_000
	inFile         = 100
)

func newImage() *image {
	im := &image{
		data: bytes.Repeat([]byte{'.'}, 60_000),
		files: map[string][2]int64{
			"EFI/redhat/grub.cfg":   {grubOffset, 1000},
			"isolinux/isolinux.cfg": {isolinuxOffset, 1000},
		},
		json: `{"default":"` + defaults + `","size":300,"files":[
			{"path":"EFI/redhat/grub.cfg","offset":100},{"path":"isolinux/isolinux.cfg","offset":100,"pad":"#","end":"\n"}]}` + "    \n",
	}
	copy(im.data[grubOffset+inFile:], area(defaults, '\n', '#'))
	copy(im.data[isolinuxOffset+inFile:], area(defaults, '\n', '#'))
	return im
}

// mainframe is an s390x image: one file, and zeros around the arguments.
func mainframe() *image {
	im := newImage()
	im.files = map[string][2]int64{"images/cdboot.img": {grubOffset, 1000}}
	im.json = `{"default":"` + defaults + `","size":300,"files":[{"path":"images/cdboot.img","offset":100,"pad":"\u0000","end":"\u0000"}]}`
	copy(im.data[grubOffset+inFile:], area(defaults, 0, 0))
	return im
}

// legacy is an image from before kargs.json.
func legacy(offsets ...uint64) *image {
	im := newImage()
	im.json, im.files = "", nil
	header := []byte("coreKarg")
	for _, n := range append([]uint64{areaSize, 55_000}, offsets...) {
		header = binary.LittleEndian.AppendUint64(header, n)
	}
	copy(im.data[32672:32672+72], make([]byte, 72))
	copy(im.data[32672:], header)
	copy(im.data[55_000:], area(defaults, '\n', '#'))
	return im
}

func legacyUsual() *image { return legacy(grubOffset+inFile, isolinuxOffset+inFile) }
