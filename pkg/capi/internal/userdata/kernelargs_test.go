package userdata_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
)

// arguments reads "+a -b =c": append, delete, replace.
func arguments(text string) []v1beta1.KernelArgument {
	operations := map[byte]v1beta1.KernelArgumentOperation{
		'+': v1beta1.KernelArgumentAppend, '-': v1beta1.KernelArgumentDelete, '=': v1beta1.KernelArgumentReplace,
	}
	var all []v1beta1.KernelArgument
	for _, word := range strings.Fields(text) {
		all = append(all, v1beta1.KernelArgument{Operation: operations[word[0]], Value: word[1:]})
	}
	return all
}

func TestInstallerArgs(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"+a=1 -b +c":       "--append-karg a=1 --delete-karg b --append-karg c",
		"+a +a":            "--append-karg a --append-karg a",
		"-a -a":            "--delete-karg a",
		"+a=1 -a=1":        "--delete-karg a=1",
		"-a=1 +a=1":        "--delete-karg a=1 --append-karg a=1",
		"=quiet":           "--delete-karg quiet --append-karg quiet",
		"+a=1 +a=2 =a=3":   "--delete-karg a --delete-karg a=3 --append-karg a=3",
		"=a=3 =a=4":        "--delete-karg a --delete-karg a=3 --delete-karg a=4 --append-karg a=4",
		"=mitigations=off": "--delete-karg mitigations --delete-karg mitigations=off --delete-karg mitigations=auto --delete-karg mitigations=auto,nosmt --append-karg mitigations=off",
	} {
		if diff := cmp.Diff(want, strings.Join(userdata.InstallerArgs(arguments(text)), " ")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// The installers apply the arguments of an image as the operations say.
func TestEffectOfInstallerArgs(t *testing.T) {
	const image = "rw ignition.platform.id=metal console=tty0 console=ttyS0,115200n8 mitigations=auto,nosmt root=UUID=1"
	for text, want := range map[string]string{
		"":                                 image,
		"+a=1 +a=2":                        image + " a=1 a=2",
		"-mitigations=auto,nosmt":          "rw ignition.platform.id=metal console=tty0 console=ttyS0,115200n8 root=UUID=1",
		"=console=ttyS1 +a":                "rw ignition.platform.id=metal mitigations=auto,nosmt root=UUID=1 console=ttyS1 a",
		"=console=ttyS1 +console=tty0":     "rw ignition.platform.id=metal mitigations=auto,nosmt root=UUID=1 console=ttyS1 console=tty0",
		"+console=x =console=tty0":         "rw ignition.platform.id=metal mitigations=auto,nosmt root=UUID=1 console=tty0",
		"=mitigations=auto -mitigations=x": "rw ignition.platform.id=metal console=tty0 console=ttyS0,115200n8 root=UUID=1 mitigations=auto",
		"+x -x":                            image,
		"+x -x +x":                         image + " x",
		"=rw":                              "ignition.platform.id=metal console=tty0 console=ttyS0,115200n8 mitigations=auto,nosmt root=UUID=1 rw",
	} {
		if diff := cmp.Diff(want, installKernelArguments(image, userdata.InstallerArgs(arguments(text)))); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// installKernelArguments does what coreos-installer and rpm-ostree do: they delete exactly
// the arguments that are named, then append.
func installKernelArguments(image string, args []string) string {
	kernel := strings.Fields(image)
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "--delete-karg" {
			kernel = slices.DeleteFunc(kernel, func(a string) bool { return a == args[i+1] })
		}
	}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "--append-karg" {
			kernel = append(kernel, args[i+1])
		}
	}
	return strings.Join(kernel, " ")
}
