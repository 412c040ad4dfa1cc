package mountinfo

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestParse(t *testing.T) {
	check.Slice(t, Parse(`36 35 8:1 / /with\040space\134x rw,noatime master:1 shared:2 - ext3 /dev/sda1 rw`+"\n"+
		"22 1 0:5 / /dev rw - devtmpfs devtmpfs rw\n"+
		"23 1 0:6 / /a - x y z - btrfs /dev/sd\\043b rw\n"+
		"24 1 8:2 / /part rw\n25 1 8:3 / /part\n26 1 8:4 / /no-source rw - ext4\n"+
		"short\n1 2 3 4\n\n"),
		[]Mount{
			{"8:1", `/with space\x`, "/dev/sda1"}, {"0:5", "/dev", "devtmpfs"}, {"0:6", "/a", "/dev/sd#b"},
			{"8:2", "/part", ""}, {"8:3", "/part", ""}, {"8:4", "/no-source", ""},
		})
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"/plain":             "/plain",
		`a\011b\012c\040d`:   "a\tb\nc d",
		`\043\134`:           `#\`,
		`\04`:                `\04`,
		`\999\777\+40`:       `\999\777\+40`,
		`\134040`:            `\040`,
		`ends with a slash\`: `ends with a slash\`,
	} {
		check.Equal(t, Unescape(text), want, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`36 35 98:0 / /with\040space\134 rw - ext3 /dev/sda1 rw` + "\n36 35 - - - - -\n")
	f.Add("36 35 98:0 /mnt1 /mnt2 rw - btrfs /dev/sda rw\n- - -\n")
	f.Fuzz(func(t *testing.T, content string) {
		found := Parse(content)
		if lines := strings.Count(content, "\n") + 1; len(found) > lines {
			t.Errorf("%d mounts in %d lines", len(found), lines)
		}
		for _, m := range found {
			if m.Number == "" || m.Point == "" {
				t.Errorf("%q gives %+v", content, m)
			}
		}
	})
}
