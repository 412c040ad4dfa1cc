package liveimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// streamStep is how many bytes are written between two looks at ctx.
const streamStep = 4 << 20

// Output says where an image goes, and how.
type Output struct {
	Path  string // - for standard output
	Force bool
	Sync  bool
}

// Declare declares the flags of an image that is written.
func (o *Output) Declare(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Path, "output", "o", "", "`OUT`, the image to write, - for standard output")
	flags.BoolVar(&o.Sync, "fsync", false, "wait until the image is on the disk")
	flags.BoolVar(&o.Force, "force", false, "overwrite OUT")
}

// WriteImage writes a file whole or not at all, or a stream; for a stream it returns nothing.
func WriteImage(ctx context.Context, a *app.App, image *overlay.Image, to Output) ([]output.Download, error) {
	if to.Path == app.StdoutName {
		shown := NewMeter(a, "writing to standard output")
		defer shown.End()
		return nil, streamImage(ctx, image, "standard output", a.IO.Out, shown)
	}
	if info, err := os.Stat(to.Path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		shown := NewMeter(a, "writing "+to.Path)
		defer shown.End()
		return nil, writeDevice(ctx, image, to.Path, shown)
	}
	return writeFile(ctx, a, image, to)
}

func writeFile(ctx context.Context, a *app.App, image *overlay.Image, to Output) ([]output.Download, error) {
	shown := NewMeter(a, "writing "+to.Path)
	defer shown.End()
	if _, err := image.WriteFile(ctx, to.Path, overlay.WriteOptions{Overwrite: to.Force, Sync: to.Sync, Progress: shown.Show}); err != nil {
		return nil, outputFault(ctx, to.Path, err)
	}
	return []output.Download{{File: to.Path, Bytes: image.Size()}}, nil
}

// CheckOutput refuses an output that cannot be, before anything is read.
func CheckOutput(a *app.App, flag string, to Output) error {
	switch {
	case to.Path == "":
		return app.Usagef("it is not said where the image goes: give %s OUT, - for standard output", flag)
	case to.Path == app.StdoutName && a.IO.OutTTY:
		return app.Usagef("standard output is a terminal; redirect it, or give %s a file", flag)
	case to.Path == app.StdoutName && to.Sync:
		return app.Usagef("--fsync is for a file, not for standard output")
	}
	if to.Path == app.StdoutName {
		return nil
	}
	return checkPath(to.Path, to.Force)
}

// checkPath refuses what exists, unless it is to be overwritten; links are followed.
func checkPath(path string, force bool) error {
	info, err := os.Stat(path) // whether it can be made is found when it is
	if err != nil {
		if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return app.NotWritten(path, errLinkNowhere)
		}
		return nil
	}
	return checkThere(path, info.Mode(), force)
}

func checkThere(path string, mode fs.FileMode, force bool) error {
	switch {
	case mode.IsDir():
		return app.NotWritten(path, app.ErrIsFolder)
	case force:
		return nil
	case mode.IsRegular():
		return existsFault(path)
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return &model.Fault{
			Code: model.CodeUsage, Op: "write", On: path, Permanent: true, Err: errors.New("it is a disk, and all that is on it would be lost"),
			Next: "see with lsblk that it is the right one, and give --force",
		}
	}
	return nil
}

var errLinkNowhere = errors.New("it is a link to something that is not there")

func existsFault(path string) error {
	return &model.Fault{
		Code: model.CodeUsage, Op: "write", On: path, Permanent: true, Err: errors.New("there is such a file already"),
		Next: "overwrite it with --force, or name another",
	}
}

func outputFault(ctx context.Context, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, overlay.ErrSameFile):
		return &model.Fault{
			Code: model.CodeUsage, Op: "write", On: path, Permanent: true, Next: "name another file",
			Err: errors.New("it is the image that is read from, which is never changed"),
		}
	case errors.Is(err, fs.ErrExist):
		return existsFault(path)
	}
	fault := &model.Fault{Code: model.CodeFailure, Op: "could not write", On: path, Err: err, Permanent: true, Next: app.WriteAdvice(err)}
	if cause, is := errors.AsType[syscall.Errno](err); is {
		fault.Err = cause // the path stands before it
	}
	return fault
}

func writeDevice(ctx context.Context, image *overlay.Image, path string, shown *Meter) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return outputFault(ctx, path, err)
	}
	failed := streamImage(ctx, image, path, file, shown)
	if err := file.Close(); failed == nil && err != nil {
		failed = outputFault(ctx, path, err)
	}
	return failed
}

func streamImage(ctx context.Context, image *overlay.Image, name string, w io.Writer, shown *Meter) error {
	for done := int64(0); done < image.Size(); {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, err := image.WriteRange(w, done, min(streamStep, image.Size()-done))
		done += n
		if err != nil {
			if system, is := errors.AsType[*fs.PathError](err); is && system.Op == "write" {
				return outputFault(ctx, name, err)
			}
			return fmt.Errorf("write to %s: %w", name, err)
		}
		shown.Show(done, image.Size())
	}
	return nil
}

// File is a file of a folder of results.
type File struct {
	Name    string
	Image   *overlay.Image
	Content []byte // where there is no image
}

// WriteFiles writes all files into a folder or, where one fails, none that is new.
func WriteFiles(ctx context.Context, a *app.App, dir string, force bool, files []File) (written []output.Download, err error) {
	if !force {
		for _, f := range files {
			if _, err := os.Lstat(filepath.Join(dir, f.Name)); err == nil {
				return nil, existsFault(filepath.Join(dir, f.Name))
			}
		}
	}
	if dir, err = app.Folder(dir); err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Image == nil {
			f.Image = overlay.Bytes(f.Content)
		}
		file, err := writeFile(ctx, a, f.Image, Output{Path: filepath.Join(dir, f.Name), Force: force})
		if err != nil {
			for _, w := range written {
				if !force {
					_ = os.Remove(w.File) // the error is worth more than what is left
				}
			}
			return nil, err
		}
		written = append(written, file...)
	}
	return written, nil
}

// The names of the files of a network boot.
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
		return "", app.Usagef("--url is not the http or https URL of a folder")
	}
	return strings.TrimRight(text, "/"), nil
}

// Beside is the URL of a file in a folder; without the folder's, as iPXE finds it.
func Beside(folder, name string) string {
	if folder == "" {
		return ScriptFolder + name
	}
	return folder + "/" + name
}

// NetbootFiles are all but the root filesystem. where and rootfs are URLs.
func NetbootFiles(n *iso.Netboot, where, rootfs string) ([]File, error) {
	files := []File{
		{Name: kernelName, Image: n.Kernel},
		{Name: initrdName, Image: n.Initrd},
	}
	if n.Ins == "" {
		script := n.Script(Beside(where, kernelName), Beside(where, initrdName), rootfs)
		return append(files, File{Name: scriptName, Content: []byte(script)}), nil
	}
	// There is no iPXE that could fill in its own address.
	if where == "" {
		return nil, app.Usagef("s390x needs --url: its parameters name the root filesystem's whole URL")
	}
	return append(files,
		File{Name: addrSizeName, Content: n.AddrSize},
		File{Name: insName, Content: []byte(n.Ins)},
		File{Name: parameterName, Content: ParameterFile(n, rootfs)},
	), nil
}

// ParameterFile is s390x's generic.prm, which names the whole URL of the root filesystem.
func ParameterFile(n *iso.Netboot, rootfs string) []byte {
	parameters := n.Kargs
	if rootfs != "" {
		parameters = "coreos.live.rootfs_url=" + rootfs + " " + parameters
	}
	return []byte(parameters + "\n")
}
