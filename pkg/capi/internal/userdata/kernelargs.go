package userdata

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// InstallerArgs are the arguments of coreos-installer that change the kernel arguments of
// the installed system. The service takes those that append and delete, and both it and
// rpm-ostree delete before they append. So an argument that is appended and then deleted or
// replaced is not appended at all, and a replacement deletes the argument with the values
// that system images have for it, and appends it with the new one.
func InstallerArgs(arguments []v1beta1.KernelArgument) []string {
	type change struct{ flag, value string }
	const add, remove = "--append-karg", "--delete-karg"
	var changes []change
	forget := func(is func(argument string) bool) {
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.flag == add && is(c.value) })
	}
	for _, argument := range arguments {
		switch argument.Operation {
		case v1beta1.KernelArgumentAppend:
			changes = append(changes, change{add, argument.Value})
		case v1beta1.KernelArgumentDelete:
			forget(func(a string) bool { return a == argument.Value })
			changes = append(changes, change{remove, argument.Value})
		case v1beta1.KernelArgumentReplace:
			key := keyOf(argument.Value)
			forget(func(a string) bool { return keyOf(a) == key })
			for _, present := range ofImages(key, argument.Value) {
				changes = append(changes, change{remove, present})
			}
			changes = append(changes, change{add, argument.Value})
		}
	}
	var args []string
	seen := map[change]bool{}
	for _, c := range changes {
		if c.flag == remove && seen[c] {
			continue
		}
		seen[c] = true
		args = append(args, c.flag, c.value)
	}
	return args
}

func keyOf(argument string) string {
	key, _, _ := strings.Cut(argument, "=")
	return key
}

// ofImages are the forms of an argument that an image may have, by its key: without a value,
// with the new one, and with those that RHEL, CentOS and Fedora CoreOS have on bare metal.
func ofImages(key, argument string) []string {
	forms := []string{key}
	if argument != key {
		forms = append(forms, argument)
	}
	for _, value := range imageValues[key] {
		if form := key + "=" + value; form != argument {
			forms = append(forms, form)
		}
	}
	return forms
}

// imageValues are the values that images have for arguments on bare metal, by key.
var imageValues = map[string][]string{
	"console":                          {"tty0", "ttyS0", "ttyS0,115200n8", "ttyAMA0", "ttyAMA0,115200n8", "hvc0", "ttysclp0"},
	"ignition.platform.id":             {"metal"},
	"mitigations":                      {"auto", "auto,nosmt"},
	"systemd.unified_cgroup_hierarchy": {"0", "1"},
}

// taken is what the service takes as a value among the arguments of the installer.
var taken = regexp.MustCompile(`^[A-Za-z0-9@!#$%*()_+,./:;<='"{}\[\]-]+$`)

func checkKernelArguments(arguments []v1beta1.KernelArgument, errs *[]error) {
	for i, argument := range arguments {
		field := fmt.Sprintf("spec.kernelArguments[%d]", i)
		switch argument.Operation {
		case v1beta1.KernelArgumentAppend, v1beta1.KernelArgumentDelete, v1beta1.KernelArgumentReplace:
		default:
			*errs = append(*errs, fmt.Errorf("%s.operation: %q is not append, delete or replace", field, argument.Operation))
		}
		if !taken.MatchString(argument.Value) || strings.HasPrefix(argument.Value, "-") {
			*errs = append(*errs, fmt.Errorf("%s.value: the service does not take %q: it takes no blanks, and of the other characters letters, "+
				"digits and @!#$%%*()_+,./:;<='\"{}[]-, no - at the start", field, argument.Value))
		}
	}
}
