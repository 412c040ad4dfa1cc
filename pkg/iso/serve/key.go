package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// keyBytes is the length of a key that LoadKey makes; minKey is what New takes.
const (
	keyBytes = 32
	minKey   = 16
)

// LoadKey reads the key of a cluster's URLs from a file, which it makes if it is missing. A file that others can read
// is refused: with the key every URL can be computed.
func LoadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, keyBytes)
	rand.Read(key)
	if err := writeOnce(path, []byte(hex.EncodeToString(key)+"\n")); err != nil {
		return nil, fmt.Errorf("keep the key of the media URLs: %w", err)
	}
	return readKey(path) // another process may have been first
}

func readKey(path string) ([]byte, error) {
	data, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("read the key of the media URLs: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) < minKey {
		return nil, fmt.Errorf("read the key of the media URLs: %s does not hold at least %d bytes in hexadecimal; remove it to get a new key "+
			"(all URLs change)", path, minKey)
	}
	return key, nil
}

// readPrivate reads a small file, if only its owner can read it.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	// Windows keeps no such bits: access lists of the folder decide there.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %04o); chmod 600 it", path, info.Mode().Perm())
	}
	return os.ReadFile(path)
}

// writeOnce makes a private file with its content at once, unless it is there.
func writeOnce(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err = os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// idBytes is how much of the HMAC an id shows: 80 bits, 16 characters.
const idBytes = 10

// namer makes ids, and finds them in a time that reveals nothing of those it knows.
type namer struct {
	key  []byte
	seal []byte // of this process alone
}

func newNamer(key []byte) namer {
	seal := make([]byte, sha256.Size)
	rand.Read(seal) // never fails: crypto/rand ends the program instead
	return namer{key, seal}
}

// id is what a name is called in URLs, another one in each class.
func (n namer) id(class class, name string) string {
	mac := hmac.New(sha256.New, n.key)
	mac.Write([]byte("oaictl media " + string(class) + "\x00" + name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:idBytes]))
}

// sealed is what an id is looked up by: how long that takes says something about this digest, which cannot be computed
// without the key, and nothing about the id.
func (n namer) sealed(id string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, n.seal)
	mac.Write([]byte(id))
	return [sha256.Size]byte(mac.Sum(nil))
}

func sameID(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
