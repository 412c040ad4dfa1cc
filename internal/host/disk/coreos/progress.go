package coreos

import (
	"bytes"
	"regexp"
	"strconv"
)

// Progress reads the progress from what coreos-installer prints, such as
// "Read disk 1.2 GiB/3.9 GiB (30%)", on lines that end with \n or \r.
type Progress struct {
	// Percent is called when the percentage changed.
	Percent func(percent int)
	// Line is called with each other line. May be nil.
	Line func(line string)

	rest []byte
	last int // the percentage that was reported, plus one
}

// longestLine is how much of a line is kept.
const longestLine = 4096

var percentage = regexp.MustCompile(`\(([0-9]{1,3})%\)\s*$`)

// Write implements io.Writer. It never fails.
func (p *Progress) Write(output []byte) (int, error) {
	size := len(output)
	for {
		end := bytes.IndexAny(output, "\r\n")
		if end < 0 {
			break
		}
		p.keep(output[:end])
		p.line()
		output = output[end+1:]
	}
	p.keep(output)
	return size, nil
}

func (p *Progress) keep(part []byte) {
	p.rest = append(p.rest, part[:min(len(part), longestLine-len(p.rest))]...)
}

// line takes the line that is in rest.
func (p *Progress) line() {
	line := bytes.TrimSpace(p.rest)
	p.rest = p.rest[:0]
	if len(line) == 0 {
		return
	}
	match := percentage.FindSubmatch(line)
	if match == nil {
		if p.Line != nil {
			p.Line(string(line))
		}
		return
	}
	percent, err := strconv.Atoi(string(match[1]))
	if err != nil || percent > 100 || p.last == percent+1 {
		return
	}
	p.last = percent + 1
	p.Percent(percent)
}
