// Package hostfile writes files on the machine. A file is whole or absent: it is written under another name first.
package hostfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/oaictl/oaictl/internal/host/guard"
)

// Files are the files below a folder. All paths are absolute, and are taken below Root.
type Files struct {
	// Root is "" for the machine's own files.
	Root string
}

// Path is where a path is found. It is never above Root; links in the path may lead elsewhere.
func (f Files) Path(path string) string { return filepath.Join("/", f.Root, filepath.Join("/", path)) }

// Write writes a file with these permissions, and makes its folder where it is missing. Secrets have 0600.
func (f Files) Write(path string, content []byte, perm fs.FileMode) error {
	return f.Save(path, bytes.NewReader(content), perm)
}

// Save writes a file with what content gives, as Write does. It writes no file if content fails.
func (f Files) Save(path string, content io.Reader, perm fs.FileMode) error {
	path = f.Path(path)
	if err := f.write(path, content, perm); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (f Files) write(path string, content io.Reader, perm fs.FileMode) error {
	if err := guard.File(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	const folders = 0o755
	if err := os.MkdirAll(filepath.Dir(path), folders); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	err = errors.Join(err, file.Chmod(perm), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// Overwrite replaces the content of a file that is there, in place. It is for files that containers have as mounts, which no
// other file can replace. A reader may see a part.
func (f Files) Overwrite(path string, content []byte) error {
	path = f.Path(path)
	if err := f.overwrite(path, content); err != nil {
		return fmt.Errorf("overwrite %s: %w", path, err)
	}
	return nil
}

func (Files) overwrite(path string, content []byte) error {
	if err := guard.File(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New("there is no such regular file"))
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// Append opens a file to add to its end, such as a log. It makes the file with these permissions if there is none.
func (f Files) Append(path string, perm fs.FileMode) (*os.File, error) {
	path = f.Path(path)
	if err := guard.File(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is not a regular file", path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, perm)
}

// Create makes an empty file to write to and to read from, and its folder where it is missing. Unlike Write, it leaves part
// of a file if the writer does not reach its end. A file that was there is replaced.
func (f Files) Create(path string, perm fs.FileMode) (*os.File, error) {
	path = f.Path(path)
	if err := guard.File(path); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("make %s: it is there and is not a regular file", path)
	}
	const folders = 0o755
	if err := os.MkdirAll(filepath.Dir(path), folders); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(perm); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// MakeFolder makes a folder and those above it.
func (f Files) MakeFolder(path string, perm fs.FileMode) error {
	path = f.Path(path)
	if err := guard.File(path); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return os.MkdirAll(path, perm)
}

// largest bounds a file that is read at once: an Ignition config has some megabytes.
const largest = 256 << 20

// Read reads a regular file. What else has the name is an error: the image of a disk may have a pipe there, which nothing
// would ever be written to.
func (f Files) Read(path string) ([]byte, error) {
	path = f.Path(path)
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file", path)
	}
	if info.Size() > largest {
		return nil, fmt.Errorf("read %s: it has %d bytes, and at most %d are read at once", path, info.Size(), largest)
	}
	return io.ReadAll(io.LimitReader(file, largest)) // a file of /proc has no size
}

// List has the names of the regular files in a folder.
func (f Files) List(path string) ([]string, error) {
	entries, err := os.ReadDir(f.Path(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Exists reports whether there is such a file or folder.
func (f Files) Exists(path string) bool {
	_, err := os.Stat(f.Path(path))
	return err == nil
}

// Remove removes a file. It is no error if there is none.
func (f Files) Remove(path string) error {
	path = f.Path(path)
	err := guard.File(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// Dial connects to the datagram socket of a program, from a socket at path that the program may answer to even if it runs
// as another user. The folder of path decides who else reaches it. Closing the connection removes path.
func (f Files) Dial(program, path string) (net.Conn, error) {
	program, path = f.Path(program), f.Path(path)
	if err := guard.File(path); err != nil {
		return nil, fmt.Errorf("make the socket %s: %w", path, err)
	}
	const kind = "unixgram"
	connection, err := net.DialUnix(kind, &net.UnixAddr{Name: path, Net: kind}, &net.UnixAddr{Name: program, Net: kind})
	if err != nil {
		// The socket is there if only its connection failed.
		return nil, errors.Join(err, f.forget(path))
	}
	const all = 0o666
	if err := os.Chmod(path, all); err != nil {
		return nil, errors.Join(err, connection.Close(), f.forget(path))
	}
	return &dialled{connection, func() error { return f.forget(path) }}, nil
}

// forget removes a file that need not be there.
func (Files) forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dialled is a connection whose own socket is a file.
type dialled struct {
	*net.UnixConn
	remove func() error
}

func (d *dialled) Close() error { return errors.Join(d.UnixConn.Close(), d.remove()) }
