package explain

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// TestFilesAreInOrder reads every entry of every file, and each file as a whole: what is
// read in parts has to be YAML as it stands.
func TestFilesAreInOrder(t *testing.T) {
	read := 0
	for _, kind := range Kinds() {
		x := must.Get(newIndex(texts, kind))(t)
		for _, r := range x.all {
			check.Do(t, check.Err(r.read()))
			read++
		}
	}
	if read < 200 {
		t.Errorf("only %d entries were read", read)
	}
	must.Do(t, fs.WalkDir(texts, ".", func(name string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		data, err := fs.ReadFile(texts, name)
		if err != nil {
			return err
		}
		docs, problems := yamltree.Parse(data)
		if len(problems) > 0 || len(docs) != 1 {
			t.Errorf("%s: %d documents, %v", name, len(docs), problems)
			return nil
		}
		var whole, inParts []string
		for _, e := range docs[0].Entries {
			whole = append(whole, e.Key)
		}
		parts, err := partsOf(texts, name)
		for _, p := range parts {
			inParts = append(inParts, p.key)
		}
		if diff := cmp.Diff(whole, inParts); diff != "" {
			t.Errorf("%s: keys (-whole +in parts):\n%s", name, diff)
		}
		return err
	}))
}

// TestReaderIsStrict changes one file at a time.
func TestReaderIsStrict(t *testing.T) {
	const (
		check = "host/a:\n  title: A\n  meaning: B.\n  cause: C.\n  check: D.\n  remedy: E.\n" +
			"  category: network\n  blocking: true\n  ignorable: false\n  cure: file\n"
		state    = "# states\n\nhost/a:\n  title: A\n  meaning: B.\n  neutral: Ready\n"
		stage    = "host/Starts:\n  title: A\n  meaning: B.\n"
		event    = "host/a:\n  title: A\n  meaning: B.\n  severity: info\n  watch: C.\n"
		operator = "lvm:\n  product: LVM\n  host: a disk\n  cluster: a version\n  remedy: Add it\n  cure: machine\n"
		paths    = "paths:\n  bootstrap: [Starts]\n  control-plane: [Starts]\n  worker: [Starts]\n  single-node: [Starts]\n  added: [Starts]\n"
	)
	good := map[string]string{
		"validations/a.yaml": check, "states/a.yaml": state, "stages/a.yaml": stage, "events/a.yaml": event, "paths.yaml": paths,
		"operators/operators.yaml": operator,
		"operators/checks.yaml":    strings.NewReplacer("host/a:", "host/<name>:", "cure: file", "cure: <cure>", "A", "<product>").Replace(check),
	}
	for _, tt := range []struct {
		name, file, text, want string
	}{
		{"as it should be", "states/a.yaml", state, ""},
		{"unknown field", "states/a.yaml", state + "  meening: C.\n", `states/a.yaml:7: host/a has the unknown field "meening"`},
		{"missing text", "states/a.yaml", strings.Replace(state, "  meaning: B.\n", "", 1), "states/a.yaml:3: host/a has no meaning"},
		{"missing remedy", "validations/a.yaml", strings.Replace(check, "  remedy: E.\n", "", 1), "validations/a.yaml:1: host/a has no remedy"},
		{"nothing said of blocking", "validations/a.yaml", strings.Replace(check, "  blocking: true\n", "", 1), "validations/a.yaml:1: host/a has no blocking"},
		{"empty text", "events/a.yaml", strings.Replace(event, "B.", `""`, 1), "events/a.yaml:3: meaning of host/a is empty, or has blanks or lines around it"},
		{"text that ends in a line break", "events/a.yaml", strings.Replace(event, "B.", "|\n    B.", 1), "events/a.yaml:3: meaning of host/a is empty, or has blanks or lines around it"},
		{"field twice", "states/a.yaml", state + "  title: B\n", `states/a.yaml:7: the key "title" appears here a second time, first in line 2`},
		{"entry twice in a file", "states/a.yaml", state + state, "states/a.yaml:9: the state host/a is explained a second time"},
		{"entry twice in two files", "states/b.yaml", state, "states/b.yaml:3: the state host/a is explained a second time"},
		{"operator's check twice", "validations/lvm.yaml", strings.Replace(check, "host/a", "host/lvm", 1), "operators/checks.yaml:1: the validation host/lvm is explained a second time"},
		{"no fields", "states/a.yaml", "host/a:\n", "states/a.yaml:1: host/a has no fields"},
		{"no key", "states/a.yaml", "- host/a\n", "states/a.yaml:1: expected a key and a colon, and nothing after them"},
		{"unknown subject", "states/a.yaml", strings.Replace(state, "host/", "hosts/", 1), `states/a.yaml:3: "hosts/a" should begin with host/, cluster/ or infraenv/`},
		{"unknown cure", "validations/a.yaml", strings.Replace(check, "file", "hope", 1), `validations/a.yaml:2: cure of host/a is "hope" and should be one of file, machine, wait`},
		{"unknown severity", "events/a.yaml", strings.Replace(event, "info", "bad", 1), `events/a.yaml:2: severity of host/a is "bad" and should be one of info, warning, error, critical`},
		{"yes for true", "states/a.yaml", state + "  terminal: yes\n", "states/a.yaml:7: terminal of host/a is text where it should be true or false"},
		{"no time", "stages/a.yaml", stage + "  budget: 30\n", "stages/a.yaml:4: budget of host/Starts is a number where it should be text"},
		{"time without a unit", "stages/a.yaml", stage + "  budget: long\n", `stages/a.yaml:2: budget of host/Starts is "long" and should be a time such as 90s, 30m or 1h30m`},
		{"negative number", "validations/a.yaml", check + "  debounce: -1\n", "validations/a.yaml:11: debounce of host/a should be 1 or more"},
		{"a list of maps", "validations/a.yaml", check + "  consequenceOf:\n    - host: a\n", "validations/a.yaml:12: consequenceOf of host/a has an entry that is a map"},
		{"no YAML", "states/a.yaml", state + "  field: a: b\n", "states/a.yaml:7: is not valid YAML: a second colon is in the value of field"},
		{"operator without its product", "operators/operators.yaml", strings.Replace(operator, "  product: LVM\n", "", 1), "operators/operators.yaml:1: lvm has no product"},
		{"operator with an unknown field", "operators/operators.yaml", operator + "  needs: luck\n", `operators/operators.yaml:7: lvm has the unknown field "needs"`},
		{"unknown path", "paths.yaml", paths + "  other: [Starts]\n", `paths.yaml:7: paths has the unknown field "other"`},
		{"missing path", "paths.yaml", strings.Replace(paths, "  worker: [Starts]\n", "", 1), "paths.yaml:1: paths has no worker"},
		{"unknown stage", "paths.yaml", strings.Replace(paths, "worker: [Starts]", "worker: [Ends]", 1), `paths.yaml: worker names the stage "Ends", which there is not`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			contents := maps.Clone(good)
			contents[tt.file] = tt.text
			files := fstest.MapFS{}
			for name, text := range contents {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if diff := cmp.Diff(tt.want, problems(files)); diff != "" {
				t.Errorf("what is wrong (-want +got):\n%s", diff)
			}
		})
	}
}

// problems says what is wrong with files, "" for nothing.
func problems(files fs.FS) string {
	var all []string
	for _, kind := range Kinds() {
		x, err := newIndex(files, kind)
		if err != nil {
			return err.Error()
		}
		for _, r := range x.all {
			if _, err := r.read(); err != nil {
				all = append(all, err.Error())
			}
		}
	}
	return strings.Join(all, "\n")
}
