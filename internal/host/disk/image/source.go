//go:build linux

package image

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Source is where an image is read from.
type Source interface {
	// Open reads the image from its beginning. The size is that of the stream in bytes, and -1 if it is not known.
	Open(ctx context.Context) (stream io.ReadCloser, size int64, err error)
	// String names the source for a person. It has no secrets.
	String() string
}

// Image is an image of a disk, compressed or not.
type Image struct {
	Source Source
	// SHA256 is the digest of the stream as it is stored, in hexadecimal digits. "" if it is not known.
	SHA256 string
	// ContentSHA256 is the digest of the unpacked image. "" if it is not known.
	ContentSHA256 string
}

// File is an image in a file.
type File struct{ Path string }

// Open implements Source.
func (f File) Open(context.Context) (io.ReadCloser, int64, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, 0, fmt.Errorf("open the image: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open the image %s: it is not a file", f)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

func (f File) String() string { return escape.Word(f.Path) }

// Digest reads the file beside an image that has its digest, such as image.raw.gz.sha256 as sha256sum writes it. It is "" if
// there is no such file.
func (f File) Digest() (string, error) {
	const most = 4096
	path := f.Path + ".sha256"
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the digest of the image: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return "", fmt.Errorf("read the digest of the image: %w", err)
	}
	digest, err := parseDigest(string(content))
	if err != nil {
		return "", fmt.Errorf("read the digest of the image in %s: %w", escape.Word(path), err)
	}
	return digest, nil
}

// parseDigest reads the first word of a text: 64 hexadecimal digits.
func parseDigest(text string) (string, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.ToLower(strings.TrimSpace(word))
	if digest, err := hex.DecodeString(word); err != nil || len(digest) != 32 {
		return "", fmt.Errorf("%q is no SHA-256 digest of 64 hexadecimal digits", word)
	}
	return word, nil
}
