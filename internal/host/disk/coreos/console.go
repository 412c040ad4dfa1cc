package coreos

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Console is a console of kernel and boot loader.
type Console struct {
	// Device is such as tty0, or ttyS0 for a serial one.
	Device string
	// Port is the number of a serial port, -1 if the console is not serial. The fields below belong to serial ports.
	Port       int
	Speed      int
	Parity     byte // n, o or e
	WordLength int
}

var serial = regexp.MustCompile(`^((?:ttyS|ttyAMA)([0-9]{1,3}))(?:,([0-9]{1,7})(?:([noe])([5-8])?)?)?$`)

func addConsole(o *Options, value string) error {
	console, err := parseConsole(value)
	o.Consoles = append(o.Consoles, console)
	return err
}

func parseConsole(text string) (Console, error) {
	if slices.Contains([]string{"tty0", "hvc0", "ttysclp0"}, text) {
		return Console{Device: text, Port: -1}, nil
	}
	match := serial.FindStringSubmatch(text)
	if match == nil {
		return Console{}, fmt.Errorf("%q is no console such as tty0 or ttyS0,115200n8", text)
	}
	const defaultSpeed, defaultLength = 9600, 8
	console := Console{Device: match[1], Speed: defaultSpeed, Parity: 'n', WordLength: defaultLength}
	// The pattern has digits only, and not too many.
	for _, number := range []struct {
		text  string
		field *int
	}{{match[2], &console.Port}, {match[3], &console.Speed}, {match[5], &console.WordLength}} {
		if value, err := strconv.Atoi(number.text); err == nil {
			*number.field = value
		}
	}
	if match[4] != "" {
		console.Parity = match[4][0]
	}
	return console, nil
}

// Karg is the kernel argument, such as console=ttyS0,115200n8.
func (c Console) Karg() string {
	if c.Port < 0 {
		return "console=" + c.Device
	}
	return fmt.Sprintf("console=%s,%d%c%d", c.Device, c.Speed, c.Parity, c.WordLength)
}

// Grub has the commands that make GRUB use the consoles.
func Grub(consoles []Console) []string {
	var commands, terminals []string
	for _, c := range consoles {
		if c.Port < 0 {
			terminals = append(terminals, "console")
			continue
		}
		parity := map[byte]string{'n': "no", 'o': "odd", 'e': "even"}[c.Parity]
		commands = append(commands, fmt.Sprintf("serial --unit=%d --speed=%d --word=%d --parity=%s", c.Port, c.Speed, c.WordLength, parity))
		terminals = append(terminals, "serial")
	}
	slices.Sort(terminals)
	terminals = slices.Compact(terminals)
	for _, direction := range []string{"input", "output"} {
		command := "terminal_" + direction
		for _, terminal := range terminals {
			command += " " + terminal
		}
		commands = append(commands, command)
	}
	return commands
}
