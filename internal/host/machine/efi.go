//go:build linux

package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/guard"
)

// EFI reads and writes the EFI variables of this machine, of the vendor that the UEFI specification names for all global
// variables.
type EFI struct {
	// Folder has the variables. It is EFIFolder, except in tests.
	Folder string
}

const (
	// EFIFolder is where Linux shows EFI variables.
	EFIFolder = "/sys/firmware/efi/efivars"

	globalVendor = "-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	// nonVolatile, boot service and runtime access: the attributes of BootOrder and Boot####.
	attributes = 1 | 2 | 4
	// attributeSize is the size of the attributes, with which each file begins.
	attributeSize = 4
	// immutable is FS_IMMUTABLE_FL of linux/fs.h.
	immutable = 0x10
)

// ErrNoEFI is the error of a machine whose firmware is not UEFI.
var ErrNoEFI = errors.New("the firmware is not UEFI, or shows no variables")

// List has the names of the global variables.
func (e EFI) List() ([]string, error) {
	entries, err := os.ReadDir(e.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoEFI
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name, global := strings.CutSuffix(entry.Name(), globalVendor); global {
			names = append(names, name)
		}
	}
	return names, nil
}

// Read gives the content of a variable. The error wraps fs.ErrNotExist if there is none.
func (e EFI) Read(name string) ([]byte, error) {
	content, err := os.ReadFile(e.path(name))
	if err != nil {
		return nil, fmt.Errorf("read the EFI variable %s: %w", name, err)
	}
	if len(content) < attributeSize {
		return nil, fmt.Errorf("read the EFI variable %s: it has %d bytes, and %d are the fewest", name, len(content), attributeSize)
	}
	return content[attributeSize:], nil
}

// Write writes a variable of the boot order in one call, as efivarfs requires. The error wraps unix.ENOSPC if the firmware has no room.
func (e EFI) Write(name string, content []byte) error {
	path, err := e.changeable(name)
	if err != nil {
		return fmt.Errorf("write the EFI variable %q: %w", name, err)
	}
	whole := binary.LittleEndian.AppendUint32(nil, attributes)
	whole = append(whole, content...)
	if err := mutable(path); err != nil {
		return fmt.Errorf("write the EFI variable %s: %w", name, err)
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("write the EFI variable %s: %w", name, err)
	}
	n, err := unix.Write(fd, whole)
	if err == nil && n != len(whole) {
		err = fmt.Errorf("%d of %d bytes were written", n, len(whole))
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("write the EFI variable %s: %w", name, err)
	}
	return nil
}

// Delete removes a variable of the boot order. It is no error if there is none.
func (e EFI) Delete(name string) error {
	path, err := e.changeable(name)
	if err != nil {
		return fmt.Errorf("delete the EFI variable %q: %w", name, err)
	}
	if err = mutable(path); err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the EFI variable %s: %w", name, err)
	}
	return nil
}

// ofBootOrder has the names of the variables that say what boots. Others are the keys of Secure Boot, for example.
var ofBootOrder = regexp.MustCompile(`^Boot([0-9A-F]{4}|Order|Next)$`)

// changeable is the path of a variable that may be changed.
func (e EFI) changeable(name string) (string, error) {
	if !ofBootOrder.MatchString(name) {
		return "", errors.New("it is not one of the boot order, such as Boot0001 and BootOrder")
	}
	path := e.path(name)
	return path, guard.File(path)
}

func (e EFI) path(name string) string {
	return filepath.Join(e.Folder, filepath.Base(name)+globalVendor)
}

// mutable takes away the flag with which efivarfs protects variables.
func mutable(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil || flags&immutable == 0 {
		return nil // a file system without flags
	}
	return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags&^immutable)
}
