// Package coreos knows coreos-installer: its arguments, and what it prints.
package coreos

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Options are what arguments of `coreos-installer install` say.
type Options struct {
	AppendKargs, DeleteKargs []string
	// NetworkDir is the folder with the keyfiles of NetworkManager to copy. "" if none are copied.
	NetworkDir    string
	ImageURL      string // "" if none is named
	ImageFile     string // "" if none is named
	FirstbootArgs string
	Platform      string
	Consoles      []Console
	// Child are the arguments that only coreos-installer understands. Then it has to write the disk.
	Child []string
	// Keep says that partitions of the disk are kept.
	Keep bool

	copyNetwork bool
}

// defaultNetworkDir is where NetworkManager has its keyfiles.
const defaultNetworkDir = "/etc/NetworkManager/system-connections/"

// argument is one that coreos-installer has.
type argument struct {
	long, short string
	flag        bool // it has no value
	child       bool // only coreos-installer understands it
	set         func(o *Options, value string) error
}

func arguments() []argument {
	ignored := func(*Options, string) error { return nil }
	keep := func(o *Options, _ string) error { o.Keep = true; return nil }
	return []argument{
		{long: "append-karg", set: func(o *Options, v string) error { return addKarg(&o.AppendKargs, v) }},
		{long: "delete-karg", set: func(o *Options, v string) error { return addKarg(&o.DeleteKargs, v) }},
		{long: "copy-network", short: "n", flag: true, set: func(o *Options, _ string) error { o.copyNetwork = true; return nil }},
		{long: "network-dir", set: func(o *Options, v string) error { return setPath(&o.NetworkDir, v) }},
		{long: "image-url", short: "u", set: func(o *Options, v string) error { o.ImageURL = v; return nil }},
		{long: "image-file", short: "f", set: func(o *Options, v string) error { return setPath(&o.ImageFile, v) }},
		{long: "firstboot-args", set: func(o *Options, v string) error { o.FirstbootArgs = v; return checkFirstboot(v) }},
		{long: "platform", short: "p", set: func(o *Options, v string) error { o.Platform = v; return checkWord(v) }},
		{long: "console", set: addConsole},
		{long: "insecure", flag: true, set: ignored}, // there is no signature that could be checked
		{long: "fetch-retries", set: ignored},        // a download has tries and a limit
		{long: "save-partlabel", child: true, set: keep},
		{long: "save-partindex", child: true, set: keep},
		{long: "architecture", short: "a", child: true, set: ignored},
		{long: "stream", short: "s", child: true, set: ignored},
		{long: "stream-base-url", child: true, set: ignored},
		{long: "offline", flag: true, child: true, set: ignored},
		{long: "preserve-on-error", flag: true, child: true, set: ignored},
		{long: "secure-ipl", flag: true, child: true, set: ignored},
	}
}

// Parse reads arguments as `coreos-installer install` does, without those that the installer adds: the Ignition config and
// the disk. Arguments that could name another disk or config are errors.
func Parse(args []string) (Options, error) {
	var o Options
	for len(args) > 0 {
		used, err := o.take(args)
		if err != nil {
			return Options{}, fmt.Errorf("read the arguments for coreos-installer: %w", err)
		}
		args = args[used:]
	}
	if o.ImageURL != "" && o.ImageFile != "" {
		return Options{}, fmt.Errorf("read the arguments for coreos-installer: --image-url and --image-file exclude each other")
	}
	switch {
	case !o.copyNetwork:
		o.NetworkDir = ""
	case o.NetworkDir == "":
		o.NetworkDir = defaultNetworkDir
	}
	return o, nil
}

// take reads the first argument, and its value. It returns how many words they are.
func (o *Options) take(args []string) (int, error) {
	word := args[0]
	if strings.ContainsRune(word, 0) {
		return 0, fmt.Errorf("%q has a zero byte", word)
	}
	known, value, inWord := find(word)
	if known == nil {
		if !strings.HasPrefix(word, "-") {
			return 0, fmt.Errorf("%q belongs to no argument: the disk is not chosen here", word)
		}
		return 0, fmt.Errorf("%q is not known", word)
	}
	used := 1
	switch {
	case known.flag && inWord:
		return 0, fmt.Errorf("--%s has no value", known.long)
	case !known.flag && !inWord:
		// A range of partitions such as -3 begins like an argument.
		if len(args) < 2 || strings.HasPrefix(args[1], "--") {
			return 0, fmt.Errorf("--%s needs a value", known.long)
		}
		used, value = 2, args[1]
	}
	if strings.ContainsRune(value, 0) {
		return 0, fmt.Errorf("the value of --%s has a zero byte", known.long)
	}
	if err := known.set(o, value); err != nil {
		return 0, fmt.Errorf("--%s: %w", known.long, err)
	}
	if known.child {
		o.Child = append(o.Child, args[:used]...)
	}
	return used, nil
}

// find finds the argument of a word such as --image-url=URL, -uURL or -n.
func find(word string) (known *argument, value string, inWord bool) {
	all := arguments()
	if long, isLong := strings.CutPrefix(word, "--"); isLong {
		name, value, inWord := strings.Cut(long, "=")
		i := slices.IndexFunc(all, func(a argument) bool { return a.long == name })
		if i < 0 {
			return nil, "", false
		}
		return &all[i], value, inWord
	}
	short, isShort := strings.CutPrefix(word, "-")
	i := slices.IndexFunc(all, func(a argument) bool { return a.short != "" && strings.HasPrefix(short, a.short) })
	if !isShort || i < 0 {
		return nil, "", false
	}
	rest := strings.TrimPrefix(short, all[i].short)
	return &all[i], strings.TrimPrefix(rest, "="), rest != ""
}

func addKarg(list *[]string, value string) error {
	karg := strings.TrimSpace(value)
	if karg == "" || strings.ContainsFunc(karg, isControl) {
		return fmt.Errorf("%q is no kernel argument", value)
	}
	*list = append(*list, karg)
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// setPath takes a path that means the same in any folder.
func setPath(field *string, value string) error {
	if !path.IsAbs(value) || path.Clean(value) != strings.TrimRight(value, "/") {
		return fmt.Errorf("%q is not an absolute path in its shortest form", value)
	}
	*field = value
	return nil
}

// checkFirstboot takes what GRUB can have in quotes.
func checkFirstboot(value string) error {
	if strings.ContainsFunc(value, isControl) || strings.ContainsAny(value, "\"\\$`") {
		return fmt.Errorf("%q has characters that GRUB would interpret", value)
	}
	return nil
}

// checkWord takes the name of a platform.
func checkWord(value string) error {
	if value == "" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%q is no name of small letters, digits and dashes", value)
	}
	return nil
}
