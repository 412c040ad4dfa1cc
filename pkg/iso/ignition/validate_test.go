package ignition_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

func dataURL(content string) string {
	return "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

func zipped(t testing.TB, content []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write(content))(t)
	must.Do(t, w.Close())
	return b.String()
}

// withFile is a config with one file of the given further fields.
func withFile(fields string) string {
	return `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/x",` + fields + `}]}}`
}

func TestValidateAcceptsEverySpecification(t *testing.T) {
	for _, version := range []string{"3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0"} {
		r, err := ignition.Validate("config.ign", []byte(`{"ignition":{"version":"`+version+`"}}`))
		if err != nil || r.Version != version || len(r.Entries) > 0 {
			t.Errorf("%s: %+v, %v", version, r, err)
		}
	}
}

func TestValidateNamesThePlace(t *testing.T) {
	for _, test := range []struct {
		name, config string
		want         ignition.Entry
	}{
		{"empty", "", ignition.Entry{Message: "the config is empty"}},
		{"no JSON", "{\n  \"ignition\": nothing\n}", ignition.Entry{Message: "invalid character", Line: 2, Column: 16}},
		{"broken off", "{\n  \"ignition\": {", ignition.Entry{Message: "unexpected end of JSON input", Line: 2, Column: 15}},
		{"no version", `{"ignition":{}}`, ignition.Entry{Message: "does not say which specification", Path: "ignition.version", Line: 1, Column: 14}},
		{"old version", "{\"ignition\":{\n\"version\":\"2.3.0\"}}", ignition.Entry{Message: "specification 2.3.0 is not understood, only 3.0.0 to 3.6.0", Path: "ignition.version", Line: 2, Column: 11}},
		{"version to come", `{"ignition":{"version":"3.9.0"}}`, ignition.Entry{Message: "specification 3.9.0 is not understood", Path: "ignition.version", Line: 1, Column: 24}},
		{"wrong type", "{\"ignition\":{\"version\":\"3.1.0\"},\n\"storage\":{\"files\":5}}", ignition.Entry{Message: "a value of this type (number) does not belong here", Path: "storage.files", Line: 2, Column: 20}},
		{"wrong type deep down", withFile(`"mode":"0644"`), ignition.Entry{Message: "a value of this type (string) does not belong here", Path: "storage.files.mode", Line: 1, Column: 82}},
		{"no object", `[]`, ignition.Entry{Message: "a value of this type (array) does not belong here", Line: 1, Column: 1}},
		{"mode", "{\"ignition\":{\"version\":\"3.1.0\"},\n\"storage\":{\"files\":[{\"path\":\"/a\",\n \"mode\":5000}]}}", ignition.Entry{Message: "illegal file mode", Path: "storage.files[0].mode", Line: 3, Column: 9}},
		{"relative path", "{\"ignition\":{\"version\":\"3.1.0\"},\n\"storage\":{\"files\":[{\"path\":\"a\"}]}}", ignition.Entry{Message: "path not absolute", Path: "storage.files[0].path", Line: 2, Column: 29}},
		{"data URL", withFile(`"contents":{"source":"data:;base64,!!!"}`), ignition.Entry{Path: "storage.files[0].contents.source", Line: 1, Column: 91}},
		{"not gzip", withFile(`"contents":{"compression":"gzip","source":"data:,hello"}`), ignition.Entry{Message: "decompress: ", Path: "storage.files[0].contents.source", Line: 1, Column: 112}},
		{"hash", withFile(`"contents":{"source":"data:,hello","verification":{"hash":"sha256-` + strings.Repeat("00", 32) + `"}}`), ignition.Entry{Message: "the content has sha256 2cf24dba", Path: "storage.files[0].contents.verification.hash", Line: 1, Column: 128}},
		{"config within", `{"ignition":{"version":"3.1.0","config":{"merge":[{"source":"` + dataURL(withFile(`"mode":5000`)) + `"}]}}}`, ignition.Entry{Message: "the config within:1:77: storage.files[0].mode: illegal file mode", Path: "ignition.config.merge[0].source", Line: 1, Column: 61}},
		{"two files of one path", `{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/a"},{"path":"/a"}]}}`, ignition.Entry{Message: "duplicate entry", Path: "storage.files[1]", Line: 1, Column: 68}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := ignition.Validate("x.ign", []byte(test.config))
			var invalid *ignition.Invalid
			if !errors.As(err, &invalid) || !r.Fatal() {
				t.Fatalf("error %v, report %+v", err, r)
			}
			got := r.Entries[slices.IndexFunc(r.Entries, func(e ignition.Entry) bool { return e.Severity == ignition.Error })]
			check.Contains(t, got.Message, test.want.Message, "message")
			test.want.Severity, test.want.Message = ignition.Error, got.Message
			check.Same(t, test.want, got)
			if !strings.HasPrefix(err.Error(), "x.ign:") {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestValidateWarns(t *testing.T) {
	for _, test := range []struct {
		name, config, text string
	}{
		{"nothing", withFile(`"mode":420`), ""},
		{"decimal 644", withFile(`"mode":644`), "x.ign:1:77: storage.files[0].mode: mode 644 is octal 01204; if 0644 is meant, write 420"},
		{"decimal 755", withFile(`"mode":755`), "write 493"},
		{"decimal 600", withFile(`"mode":600`), "write 384"},
		{"decimal 400", withFile(`"mode":400`), "write 256"},
		{"decimal 440", withFile(`"mode":440`), "write 288"},
		{"0600", withFile(`"mode":384`), ""},
		{"0755", withFile(`"mode":493`), ""},
		{"0777", withFile(`"mode":511`), ""},
		{"0400", withFile(`"mode":256`), ""},
		{"01777", withFile(`"mode":1023`), "setuid/setgid/sticky bits are not supported"},
		{"0640", withFile(`"mode":416`), ""},
		{"directory", `{"ignition":{"version":"3.2.0"},"storage":{"directories":[{"path":"/x","mode":700}]}}`, "storage.directories[0].mode: mode 700"},
		{"unknown key", withFile(`"mod":420`), "storage.files[0].mod: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := must.Get(ignition.Validate("x.ign", []byte(test.config)))(t)
			warnings := strings.Join(r.Warnings(), "\n")
			if test.text == "" && warnings != "" || !strings.Contains(warnings, test.text) {
				t.Errorf("warnings %q, want %q", warnings, test.text)
			}
		})
	}
}

func TestValidateReadsCompressedContent(t *testing.T) {
	good := withFile(`"contents":{"compression":"gzip","source":"` + dataURL(zipped(t, []byte("hello"))) +
		`","verification":{"hash":"sha256-2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}}`)
	if r, err := ignition.Validate("x.ign", []byte(good)); err != nil || len(r.Entries) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	bomb := withFile(`"contents":{"compression":"gzip","source":"` + dataURL(zipped(t, make([]byte, 64<<20+1))) + `"}`)
	check.Says(t, check.Err(ignition.Validate("x.ign", []byte(bomb))), "decompresses to more than", "a bomb")
}

func TestErrorsTellNoContent(t *testing.T) {
	config := withFile(`"contents":{"source":"data:,hunter2","verification":{"hash":"sha256-` + strings.Repeat("00", 32) + `"}}`)
	_, err := ignition.Validate("x.ign", []byte(config))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestMerge(t *testing.T) {
	base := `{"ignition":{"version":"3.1.0"},
		"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 A"]}]},
		"storage":{"files":[{"path":"/etc/a","mode":420,"contents":{"source":"data:,a"}},{"path":"/etc/b","contents":{"source":"data:,b"}}]},
		"systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"}]}}`
	override := `{"ignition":{"version":"3.2.0"},
		"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 B"]}]},
		"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,other"}},{"path":"/etc/c","contents":{"source":"data:,c"}}]},
		"systemd":{"units":[{"name":"a.service","enabled":false}]}}`
	merged := must.Get(ignition.Merge([]byte(base), []byte(override)))(t)
	var got struct {
		Ignition struct{ Version string }
		Passwd   struct {
			Users []struct{ SSHAuthorizedKeys []string }
		}
		Storage struct {
			Files []struct {
				Path     string
				Mode     int
				Contents struct{ Source string }
			}
		}
		Systemd struct {
			Units []struct {
				Enabled  bool
				Contents string
			}
		}
	}
	must.Do(t, json.Unmarshal(merged, &got))
	var files []string
	for _, f := range got.Storage.Files {
		files = append(files, fmt.Sprintf("%s %o %s", f.Path, f.Mode, f.Contents.Source))
	}
	check.Same(t, []string{"/etc/a 644 data:,other", "/etc/b 0 data:,b", "/etc/c 0 data:,c"}, files)
	check.Same(t, []string{"ssh-ed25519 A", "ssh-ed25519 B"}, got.Passwd.Users[0].SSHAuthorizedKeys)
	if u := got.Systemd.Units[0]; u.Enabled || !strings.Contains(u.Contents, "ExecStart") {
		t.Errorf("unit %+v", u)
	}
	if got.Ignition.Version != "3.2.0" {
		t.Errorf("specification %s: it must be the newest given, not newer", got.Ignition.Version)
	}
	for range 10 {
		again, err := ignition.Merge([]byte(base), []byte(override))
		if err != nil || !bytes.Equal(merged, again) {
			t.Fatalf("the same configs made another one, %v", err)
		}
	}
}

func TestMergeKeepsEachSpecification(t *testing.T) {
	for minor := range 7 {
		version := fmt.Sprintf("3.%d.0", minor)
		check.Contains(t, string(must.Get(ignition.Merge([]byte(`{"ignition":{"version":"3.0.0"}}`), []byte(`{"ignition":{"version":"`+version+`"}}`)))(t)), `"version":"`+version+`"`, version)
	}
}

func TestMergeOfOneIsThatOne(t *testing.T) {
	config := " {\"ignition\" : {\"version\":\"3.1.0\"}, \"unknown\": 1}\n"
	check.Equal(t, string(must.Get(ignition.Merge([]byte(config)))(t)), config)
}

// What is in order apart need not be together: the later content does not have the
// earlier one's hash.
func TestMergeChecksTheResult(t *testing.T) {
	hash := "sha256-2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	_, err := ignition.Merge(
		[]byte(withFile(`"contents":{"source":"data:,hello","verification":{"hash":"`+hash+`"}}`)),
		[]byte(withFile(`"contents":{"source":"data:,other"}`)))
	if err == nil || !strings.Contains(err.Error(), "the merged config:") || !strings.Contains(err.Error(), "the content has sha256") {
		t.Errorf("error %v", err)
	}
	_, err = ignition.Merge(
		[]byte(withFile(`"mode":420`)),
		[]byte(`{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/etc","target":"/usr/etc"}]}}`))
	check.Says(t, err, "the merged config:")
}

func TestMergeRefuses(t *testing.T) {
	if _, err := ignition.Merge(); err == nil {
		t.Error("nothing was merged")
	}
	_, err := ignition.Merge([]byte(withFile(`"mode":420`)), []byte(withFile(`"mode":5000`)))
	var invalid *ignition.Invalid
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "config 2:1:77: storage.files[0].mode") {
		t.Errorf("error %v", err)
	}
}

func TestCheckerTellsTheSame(t *testing.T) {
	var c ignition.Checker
	for _, config := range []string{withFile(`"mode":420`), withFile(`"mode":644`), withFile(`"mode":5000`), ""} {
		for _, name := range []string{"first", "second"} {
			want, wantErr := ignition.Validate(name, []byte(config))
			got, err := c.Validate(name, []byte(config))
			check.Same(t, want, got, cmpopts.EquateEmpty())
			if fmt.Sprint(wantErr) != fmt.Sprint(err) {
				t.Errorf("error %v, want %v", err, wantErr)
			}
		}
	}
	good, bad := []byte(withFile(`"mode":420`)), []byte(withFile(`"mode":5000`))
	want := must.Get(ignition.Merge(good, good))(t)
	if got, err := c.Merge(good, good); err != nil || !bytes.Equal(want, got) {
		t.Errorf("merged %s, %v, want %s", got, err, want)
	}
	check.Says(t, check.Err(c.Merge(good, bad)), "config 2:1:77")
	for i := range 200 {
		config := withFile(fmt.Sprintf(`"user":{"id":%d}`, i))
		must.Get(c.Validate("x", []byte(config)))(t)
	}
}

func FuzzValidateAndMerge(f *testing.F) {
	f.Add([]byte(withFile(`"mode":644,"contents":{"source":"data:,a"}`)))
	f.Add([]byte(`{"ignition":{"version":"3.1.0","config":{"merge":[{"source":"` + dataURL(withFile(`"mode":1`)) + `"}]}}}`))
	f.Add([]byte(`{"ignition":{"version":"9"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ignition.Validate("x", data)
		if (err != nil) != r.Fatal() {
			t.Fatalf("%v, %+v", err, r)
		}
		for _, e := range r.Entries {
			if e.Line < 0 || e.Line > bytes.Count(data, []byte{'\n'})+1 || e.Column < 0 || e.Column > len(data)+1 {
				t.Fatalf("place %+v", e)
			}
		}
		ignition.Secrets(data)
		if err != nil {
			return
		}
		once, err := ignition.Merge(data, data)
		if err != nil {
			return // two of a kind may contradict each other, as lists of files and links do
		}
		if again, err := ignition.Merge(data, data); err != nil || !bytes.Equal(once, again) {
			t.Fatalf("merged twice, %v: %s and %s", err, once, again)
		}
	})
}

// large is a config of the size that a discovery Ignition has.
func large() []byte {
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf(`{"path":"/etc/file%d","mode":420,"contents":{"source":%q}}`, i, dataURL(strings.Repeat("some content\n", 30))))
	}
	return []byte(`{"ignition":{"version":"3.1.0"},"storage":{"files":[` + strings.Join(files, ",") + `]}}`)
}

func BenchmarkValidate(b *testing.B) {
	config := large()
	b.ReportAllocs()
	for b.Loop() {
		must.Get(ignition.Validate("x", config))(b)
	}
}

func BenchmarkCheckerAgain(b *testing.B) {
	config := large()
	var c ignition.Checker
	b.ReportAllocs()
	for b.Loop() {
		must.Get(c.Validate("x", config))(b)
	}
}

func BenchmarkCheckerMerge(b *testing.B) {
	config, hostname := large(), []byte(strings.Replace(withFile(`"mode":420,"contents":{"source":"data:,host"}`), "3.2.0", "3.1.0", 1))
	var c ignition.Checker
	must.Get(c.Validate("x", config))(b)
	b.ReportAllocs()
	for b.Loop() {
		must.Get(c.Merge(config, hostname))(b)
	}
}

// TestManyErrors has a config with thousands of errors take no more than its size allows, and shows the first ones.
func TestManyErrors(t *testing.T) {
	files := func(item string, count int) []byte {
		return []byte(`{"ignition": {"version": "3.1.0"}, "storage": {"files": [` + item + strings.Repeat(","+item, count-1) + `]}}`)
	}
	for item, count := range map[string]int{"{}": 200_000, "null": 200_000} {
		r, err := ignition.Validate("large.ign", files(item, count))
		if len(r.Entries) != 1 || fmt.Sprint(err) != "large.ign: the config has more than 10000 values" {
			t.Errorf("%s: %d entries: %.200v", item, len(r.Entries), err)
		}
	}
	r, err := ignition.Validate("some.ign", files("{}", 300))
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(r.Entries) < 300 || len(lines) != 101 || !strings.HasSuffix(lines[100], fmt.Sprintf("some.ign: %d more problems are not shown", len(r.Entries)-100)) {
		t.Errorf("%d entries in %d lines: %s", len(r.Entries), len(lines), lines[len(lines)-1])
	}
	check.Do(t, check.Err(ignition.Validate("text.ign", []byte(`{"ignition": {"version": "3.1.0"}, "storage": {"files": [{"path": "/a", "contents": {"source": "data:,`+strings.Repeat(",", 20_000)+`"}}]}}`))), "what stands in texts counts")
}
