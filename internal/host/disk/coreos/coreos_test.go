package coreos

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Options{
		"": {},
		"--append-karg ip=52-54-00-00-00-01:dhcp": {AppendKargs: []string{"ip=52-54-00-00-00-01:dhcp"}},
		"--append-karg=a=b --append-karg  --delete-karg=console=tty0 --append-karg c": {
			AppendKargs: []string{"a=b", "c"}, DeleteKargs: []string{"console=tty0"},
		},
		"--copy-network":                          {NetworkDir: defaultNetworkDir},
		"-n":                                      {NetworkDir: defaultNetworkDir},
		"--network-dir /etc/keyfiles":             {},
		"-n --network-dir /etc/keyfiles":          {NetworkDir: "/etc/keyfiles"},
		"--image-url https://a/b.raw.gz":          {ImageURL: "https://a/b.raw.gz"},
		"-u https://a/b?x=y":                      {ImageURL: "https://a/b?x=y"},
		"-uhttps://a/b":                           {ImageURL: "https://a/b"},
		"--image-file /run/a.raw":                 {ImageFile: "/run/a.raw"},
		"--insecure --fetch-retries infinite":     {},
		"--firstboot-args rd.neednet=1":           {FirstbootArgs: "rd.neednet=1"},
		"--platform vmware":                       {Platform: "vmware"},
		"-p=vmware":                               {Platform: "vmware"},
		"--save-partindex 5- --save-partlabel da": {Keep: true, Child: []string{"--save-partindex", "5-", "--save-partlabel", "da"}},
		"--save-partindex -3 -n":                  {Keep: true, NetworkDir: defaultNetworkDir, Child: []string{"--save-partindex", "-3"}},
		"--save-partlabel=a,b":                    {Keep: true, Child: []string{"--save-partlabel=a,b"}},
		"--offline":                               {Child: []string{"--offline"}},
		"--console tty0 --console ttyS1,115200e7 --console ttyAMA0": {Consoles: []Console{
			{Device: "tty0", Port: -1}, {"ttyS1", 1, 115200, 'e', 7}, {"ttyAMA0", 0, 9600, 'n', 8},
		}},
	} {
		// Two spaces are an empty value.
		args := strings.Split(strings.ReplaceAll(text, "  ", " "), " ")
		if text == "" {
			args = nil
		}
		if strings.Contains(text, "--append-karg  ") {
			args = []string{"--append-karg=a=b", "--delete-karg=console=tty0", "--append-karg", " c "}
		}
		got, err := Parse(args)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Options{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"/dev/sdb"}, "the disk is not chosen here"},
		{[]string{"--copy-network", "/dev/sdb"}, "the disk is not chosen here"},
		{[]string{""}, "belongs to no argument"},
		{[]string{"-"}, "is not known"},
		{[]string{"--"}, "is not known"},
		{[]string{"--ignition-file", "/a"}, "is not known"},
		{[]string{"-i/a"}, "is not known"},
		{[]string{"-I", "https://a/b"}, "is not known"},
		{[]string{"--config-file", "/a"}, "is not known"},
		{[]string{"--append-karg"}, "needs a value"},
		{[]string{"--append-karg", "--delete-karg"}, "needs a value"},
		{[]string{"--append-karg", " "}, "is no kernel argument"},
		{[]string{"--append-karg", "a\noptions b"}, `"a\noptions b"`},
		{[]string{"--append-karg", "a\x00b"}, "zero byte"},
		{[]string{"--append-karg\x00"}, "zero byte"},
		{[]string{"--copy-network=yes"}, "has no value"},
		{[]string{"--image-file", "../a"}, "absolute path"},
		{[]string{"--image-file", "/a/../b"}, "absolute path"},
		{[]string{"--network-dir", "a"}, "absolute path"},
		{[]string{"--image-url", "https://a", "--image-file", "/a"}, "exclude each other"},
		{[]string{"--platform", "a b"}, "small letters"},
		{[]string{"--firstboot-args", `a" b`}, "GRUB would interpret"},
		{[]string{"--console", "console=tty0"}, "is no console"},
		{[]string{"--console", "ttyS0,9600x8"}, "is no console"},
	} {
		if _, err := Parse(test.args); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

func TestGrub(t *testing.T) {
	var consoles []Console
	for _, text := range []string{"tty0", "ttyS0,115200n8", "ttyS1,9600o7"} {
		console, err := parseConsole(text)
		if err != nil || console.Karg() != "console="+text {
			t.Errorf("%s is %s, %v", text, console.Karg(), err)
		}
		consoles = append(consoles, console)
	}
	want := []string{
		"serial --unit=0 --speed=115200 --word=8 --parity=no", "serial --unit=1 --speed=9600 --word=7 --parity=odd",
		"terminal_input console serial", "terminal_output console serial",
	}
	if got := Grub(consoles); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestProgress(t *testing.T) {
	output := "Installing Red Hat CoreOS 9.6 x86_64 (512-byte sectors)\n" +
		"> Read disk 0 B/3.9 GiB (0%)   \r> Read disk 100.2 MiB/3.9 GiB (2%)   \r\n> Read disk 101 MiB/3.9 GiB (2%)   \r" +
		"Read disk 3.9 GiB/3.9 GiB (100%)\n\nRead disk 1 GiB (900%)\nWriting Ignition config\nInstall complete.\nno end"
	for size := 1; size < len(output); size += 7 {
		var percents []int
		var lines []string
		p := Progress{Percent: func(n int) { percents = append(percents, n) }, Line: func(s string) { lines = append(lines, s) }}
		for part := range slices.Chunk([]byte(output), size) {
			if n, err := p.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(percents, []int{0, 2, 100}) {
			t.Errorf("parts of %d: %v", size, percents)
		}
		if len(lines) != 3 || lines[2] != "Install complete." {
			t.Errorf("parts of %d: %q", size, lines)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--append-karg a\x1f-n")
	f.Add("--console\x1fttyS0,115200n8\x1f--save-partindex\x1f-3")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\x1f")
		o, err := Parse(args)
		if err != nil {
			return
		}
		for _, karg := range append(o.AppendKargs, o.DeleteKargs...) {
			if strings.ContainsFunc(karg, isControl) {
				t.Errorf("the kernel argument is %q", karg)
			}
		}
	})
}

func FuzzProgress(f *testing.F) {
	f.Add([]byte("Read disk 1 (2%)\r(100%)\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		p := Progress{Percent: func(n int) {
			if n < 0 || n > 100 {
				t.Errorf("%d %%", n)
			}
		}}
		if n, err := p.Write(output); n != len(output) || err != nil {
			t.Errorf("%d of %d bytes, %v", n, len(output), err)
		}
		if len(p.rest) > longestLine {
			t.Errorf("%d bytes are kept", len(p.rest))
		}
	})
}
