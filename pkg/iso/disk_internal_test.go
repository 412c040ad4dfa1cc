package iso

import (
	"io/fs"
	"strings"
	"testing"
)

// An image may lie on the disk that it was written to, which says no size of itself.
func TestSizeOfADisk(t *testing.T) {
	content := strings.NewReader("all that is on it")
	for name, c := range map[string]struct {
		mode fs.FileMode
		want int64 // -1: it is no place for an image
	}{
		"file":     {0o600, 5},
		"disk":     {fs.ModeDevice | 0o660, content.Size()},
		"terminal": {fs.ModeDevice | fs.ModeCharDevice | 0o620, -1},
		"folder":   {fs.ModeDir | 0o700, -1},
		"pipe":     {fs.ModeNamedPipe | 0o600, -1},
	} {
		size, err := sizeOf(content, c.mode, 5)
		if (err != nil) != (c.want < 0) || err == nil && size != c.want {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
	}
}
