package iso_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/iso"
)

// ipxeArguments reads a script's command as iPXE does, with no setting set: it joins lines at a
// backslash, ends the command at a word, and only then takes settings out. What it did not understand
// of the settings is left as it is.
func ipxeArguments(script, command string) []string {
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", "")) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != command {
			continue
		}
		for i, w := range words {
			if w == "&&" || w == "||" || w == ";" {
				words = words[:i]
				break
			}
			if strings.HasPrefix(w, "#") {
				words = words[:i]
				break
			}
		}
		for i := range words {
			words[i] = expandNothing(words[i])
		}
		return words[1:]
	}
	return nil
}

// expandNothing takes out settings from the inside, as often as there is one.
func expandNothing(word string) string {
	for {
		end := -1
		start := -1
		for i := range len(word) {
			if strings.HasPrefix(word[i:], "${") {
				start = i
			}
			if start >= 0 && word[i] == '}' {
				end = i
				break
			}
		}
		if end < 0 {
			return word
		}
		word = word[:start] + word[end+1:]
	}
}

func TestScriptHandsOnWhatMeansSomethingToIPXE(t *testing.T) {
	for _, kargs := range []string{
		"a=b ignition.firstboot",
		`dyndbg="file a +p ; file b +p"`,
		"a && b || c",
		"a # b #c d#e",
		`path=C:\`,
		`a\ b`,
		"#${a b",
		"cost=$5 {x} ${",
		"a\nshell",
	} {
		n := &iso.Netboot{Kargs: kargs}
		script := n.Script("http://h/k", "http://h/i", "")
		want := append([]string{"http://h/k", "initrd=initrd"}, strings.Fields(kargs)...)
		if got := ipxeArguments(script, "kernel"); !slices.Equal(got, want) {
			t.Errorf("%q: the kernel gets %q, want %q, of\n%s", kargs, got, want, script)
		}
		if !strings.HasSuffix(script, "\nboot\n") || strings.Count(script, "\n") != 4 {
			t.Errorf("%q: other commands in\n%s", kargs, script)
		}
	}
	n := &iso.Netboot{Kargs: "a"}
	if script := n.Script("${cwduri}k", "${cwduri}i", "${cwduri}r"); strings.Count(script, "${cwduri}") != 3 {
		t.Errorf("the script's own settings are gone:\n%s", script)
	}
}

func TestNetbootRefusesSettings(t *testing.T) {
	for name, refused := range map[string]bool{"x86_64-2023-07": true, "x86_64-2020-09": true, "s390x-2023-07": false} {
		base := open(t, layout(t, name))
		if _, err := base.Netboot(iso.Customization{Kargs: iso.KargEdit{Append: []string{"b=${", "c=$1", "d={e}"}}}); err != nil {
			t.Errorf("%s, without a setting: %v", name, err)
		}
		_, err := base.Netboot(iso.Customization{Kargs: iso.KargEdit{Append: []string{"ip=secret${net0/ip}"}}})
		if (err != nil) != refused {
			t.Errorf("%s: error %v", name, err)
		}
		if refused && (!strings.Contains(err.Error(), "kernel argument ip holds ${…}") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: error %v, want one that names the argument", name, err)
		}
	}
}
