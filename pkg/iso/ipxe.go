package iso

import (
	"fmt"
	"strings"
)

// unset is an iPXE setting that nobody sets: iPXE puts nothing in its place, but only after it has
// looked for the words that mean something to it.
const unset = "${none}"

// Script is the iPXE script that boots the machine from these URLs, in which iPXE's own settings
// (${cwduri}) keep their meaning. Kernel arguments reach the kernel as they are; those that name a
// setting of iPXE were refused by Netboot.
func (n *Netboot) Script(kernelURL, initrdURL, rootfsURL string) string {
	args := []string{"initrd=initrd"}
	if rootfsURL != "" {
		args = append(args, rootfsArgument+"="+rootfsURL)
	}
	for word := range strings.FieldsSeq(n.Kargs) {
		args = append(args, ipxeWord(word))
	}
	// The name given to the initrd is what the EFI stub of the kernel finds it by.
	return "#!ipxe\n" +
		"initrd --name initrd " + initrdURL + "\n" +
		"kernel " + kernelURL + " " + strings.Join(args, " ") + "\n" +
		"boot\n"
}

// ipxeWord writes a word so that iPXE hands it on: alone, these end a command, a "#" begins a comment,
// and a backslash at the end of the line joins it to the next one. iPXE has no quotes. It looks at
// words before it puts in settings (core/exec.c, image/script.c).
func ipxeWord(word string) string {
	if word == "&&" || word == "||" || word == ";" || strings.HasPrefix(word, "#") {
		word = unset + word
	}
	if strings.HasSuffix(word, `\`) {
		word += unset
	}
	return word
}

// checkIPXE refuses arguments in which iPXE would put a setting of its own. It looks again at what it
// has put in, so that no way of writing them keeps it from that. Only the name is told: the value may
// be a secret.
func checkIPXE(args string) error {
	for word := range strings.FieldsSeq(args) {
		if _, rest, found := strings.Cut(word, "${"); found && strings.Contains(rest, "}") {
			name, _, _ := strings.Cut(word, "=")
			return fmt.Errorf("kernel argument %s holds ${…}, in the place of which iPXE puts a setting of its own", name)
		}
	}
	return nil
}
