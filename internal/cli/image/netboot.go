package image

import (
	"net/url"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/iso"
)

// What the files of a network boot are called in a folder.
const (
	kernelName = "kernel"
	initrdName = "initrd"
	scriptName = "ipxe"
	RootfsName = "rootfs.img"
	// s390x knows the others by these.
	addrSizeName  = "initrd.addrsize"
	insName       = "generic.ins"
	parameterName = "generic.prm"
)

// ScriptFolder is the folder that an iPXE script was fetched from, as iPXE has it.
const ScriptFolder = "${cwduri}"

// FolderURL is the URL of a folder without its last slash, "" for none.
func FolderURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", base.Usagef("--url is not the http or https URL of a folder")
	}
	return strings.TrimRight(text, "/"), nil
}

// Beside is the URL of a file in a folder: of one whose URL is not known, as iPXE
// finds it.
func Beside(folder, name string) string {
	if folder == "" {
		return ScriptFolder + name
	}
	return folder + "/" + name
}

// NetbootFiles are the files of one machine, all but the root filesystem. where is
// the URL of their folder, rootfs that of the root filesystem.
func NetbootFiles(n *iso.Netboot, where, rootfs string) ([]File, error) {
	files := []File{
		{Name: kernelName, Image: n.Kernel},
		{Name: initrdName, Image: n.Initrd},
	}
	if n.Ins == "" {
		script := n.Script(Beside(where, kernelName), Beside(where, initrdName), rootfs)
		return append(files, File{Name: scriptName, Content: []byte(script)}), nil
	}
	// No iPXE there that could tell where it is.
	if where == "" {
		return nil, base.Usagef("s390x needs --url: its parameters name the root filesystem's whole URL")
	}
	return append(files,
		File{Name: addrSizeName, Content: n.AddrSize},
		File{Name: insName, Content: []byte(n.Ins)},
		File{Name: parameterName, Content: ParameterFile(n, rootfs)},
	), nil
}

// ParameterFile is s390x's generic.prm, whose kernel arguments name the whole URL of
// the root filesystem, "" where it is none of its own.
func ParameterFile(n *iso.Netboot, rootfs string) []byte {
	parameters := n.Kargs
	if rootfs != "" {
		parameters = "coreos.live.rootfs_url=" + rootfs + " " + parameters
	}
	return []byte(parameters + "\n")
}
