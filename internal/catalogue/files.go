package catalogue

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// texts are the files that README.md describes.
//
//go:embed validations states stages events operators paths.yaml
var texts embed.FS

// part is one key of a file, and what stands below it, which is read when somebody
// asks for it.
type part struct {
	file  string
	line  int // where it begins, from 1
	place int // among those of its file, from 1
	key   string
	read  func() (*yamltree.Node, error) // what stands below the key
	// words stand for the placeholders of its texts, nil where it has none.
	words func() (*strings.Replacer, error)
}

// partsOf cuts a file at its keys, which begin in the first column. Reading a whole
// file as YAML takes milliseconds, and most look-ups want one entry of it.
func partsOf(files fs.FS, file string) ([]part, error) {
	data, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, err
	}
	text := string(data)
	var parts []part
	var starts []int
	number, offset := 0, 0
	for line := range strings.Lines(text) {
		number++
		if !strings.ContainsRune(" #\r\n", rune(line[0])) {
			key, colon := strings.CutSuffix(strings.TrimSpace(line), ":")
			if !colon {
				return nil, fmt.Errorf("%s:%d: a key and a colon should stand here, and nothing behind them", file, number)
			}
			parts = append(parts, part{file: file, line: number, place: len(parts) + 1, key: key})
			starts = append(starts, offset)
		}
		offset += len(line)
	}
	starts = append(starts, offset)
	for i, p := range parts {
		parts[i].read = sync.OnceValues(func() (*yamltree.Node, error) { return p.parse(text[starts[i]:starts[i+1]]) })
	}
	return parts, nil
}

// parse reads the YAML of a part, which is one key with fields below it.
func (p part) parse(text string) (*yamltree.Node, error) {
	docs, problems := yamltree.Parse([]byte(text))
	var wrong []error
	for _, problem := range problems {
		wrong = append(wrong, p.wrong(problem.At, problem.Message))
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if len(docs) != 1 || len(docs[0].Entries) != 1 || docs[0].Entries[0].Value.Kind != yamltree.Map {
		return nil, p.wrong(yamltree.Place{Line: 1}, p.key+" has no fields")
	}
	return docs[0].Entries[0].Value, nil
}

// wrong is what is wrong at a place of a part.
func (p part) wrong(at yamltree.Place, message string) error {
	return fmt.Errorf("%s:%d: %s", p.file, p.line+at.Line-1, message)
}

// partsIn cuts all files of a folder.
func partsIn(files fs.FS, folder string) ([]part, error) {
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []part
	for _, name := range names {
		parts, err := partsOf(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}
