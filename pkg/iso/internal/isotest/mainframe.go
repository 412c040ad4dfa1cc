package isotest

import (
	"encoding/binary"
	"fmt"
)

// s390x has no boot menu: firmware loads images/cdboot.img, which is kernel, arguments, initrd and Ignition area in one.
const (
	cdbootInitrdField = 66568 // u64, big-endian: where the initrd starts in cdboot.img; its size follows
	cdbootKargs       = 66688
	cdbootKargsSize   = 896
	cdbootInitrd      = 128 << 10
	initrdAddress     = 0x02000000 // where an LPAR or z/VM puts the initrd in memory
)

func mainframeFiles(l Layout, initrd []byte) []file {
	kernel := stuff("kernel", 100<<10)
	kargs := l.DefaultKargs()
	files := []file{
		{path: "images/pxeboot/kernel.img", data: kernel},
		{path: cdbootPath, data: cdboot(kernel, kargs, initrd)},
		{path: "images/initrd.addrsize", data: addrsize(len(initrd))},
		{path: "images/redhat.exec", data: []byte("/* */\n'CL RDR'\n'PURGE RDR ALL'\n'SPOOL PUNCH * RDR'\n")},
		{path: "images/cdboot.prm", data: []byte(kargs + "\n")},
		{path: "images/genericdvd.prm", data: []byte("rd.neednet=0 " + kargs + "\n")},
		{path: "images/generic.prm", data: []byte("rd.neednet=1 ignition.firstboot ignition.platform.id=metal\n")},
		{path: "generic.ins", data: fmt.Appendf(nil, "* minimal lpar ins file\nimages/pxeboot/kernel.img 0x00000000\nimages/pxeboot/initrd.img 0x%08x\n"+
			"images/genericdvd.prm 0x00010480\nimages/initrd.addrsize 0x00010408\n", initrdAddress)},
	}
	if l.IgnInfo {
		files = append(files, file{path: igninfoPath, data: indented(struct {
			File   string `json:"file"`
			Length int    `json:"length"`
			Offset int    `json:"offset"`
		}{cdbootPath, IgnitionAreaSize, cdbootInitrd + len(initrd)})})
	}
	if l.hasKargs() {
		entry := kargsFile{Path: cdbootPath, Offset: cdbootKargs}
		if l.KargsPadEnd {
			nul := "\x00"
			entry.Pad, entry.End = &nul, &nul
		}
		files = append(files, file{path: kargsPath, data: indented(kargsInfo{Default: kargs, Files: []kargsFile{entry}, Size: cdbootKargsSize})})
	}
	return files
}

func cdboot(kernel []byte, kargs string, initrd []byte) []byte {
	data := make([]byte, cdbootInitrd+len(initrd)+IgnitionAreaSize)
	copy(data, kernel)
	clear(data[cdbootKargs : cdbootKargs+cdbootKargsSize])
	copy(data[cdbootKargs:], kargs)
	binary.BigEndian.PutUint64(data[cdbootInitrdField:], cdbootInitrd)
	binary.BigEndian.PutUint64(data[cdbootInitrdField+8:], uint64(len(initrd)))
	copy(data[cdbootInitrd:], initrd)
	return data
}

func addrsize(initrd int) []byte {
	b := make([]byte, 16)
	binary.BigEndian.PutUint32(b[4:], initrdAddress)
	binary.BigEndian.PutUint32(b[12:], uint32(initrd))
	return b
}
