package ignition

import (
	"strings"
	"testing"
)

// samples break a rule each, or none.
func samples() map[string]verdict {
	in := func(rest string) string { return `{"ignition":{"version":"3.2.0"}` + rest + `}` }
	storage := func(s string) string { return in(`,"storage":{` + s + `}`) }
	return map[string]verdict{
		in(""): clean,
		in(`,"systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Service]\nExecStart=/bin/true\n"}]}`): remarks,
		in(`,"systemd":{"units":[{"name":"a.service","contents":"[Unit"}]}`):                                           fatal,
		in(`,"systemd":{"units":[{"name":"a.service"},{"name":"a.service"}]}`):                                         fatal,
		in(`,"systemd":{"units":[{"name":"a.service","dropins":[{"name":"x.conf"},{"name":"x.conf"}]}]}`):              fatal,
		in(`,"unknown":1`): remarks,
		in(`,"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["a","a"]}]}`):                                              fatal,
		in(`,"passwd":{"users":[{"name":"core","groups":["a","b"]}]}`):                                                         clean,
		storage(`"files":[{"path":"/a"},{"path":"/b","mode":420}]`):                                                            clean,
		storage(`"files":[{"path":"/a"}],"links":[{"path":"/a","target":"b"}]`):                                                fatal,
		storage(`"files":[{"path":"/a","append":[{"source":"data:,a"},{"source":"data:,a"}]}]`):                                clean,
		storage(`"files":[{"path":"/a/b"}],"links":[{"path":"/a","target":"c"}]`):                                              fatal,
		storage(`"files":[{"path":"a"}]`):                                                                                      fatal,
		storage(`"files":[{"path":"/a","mode":2000}]`):                                                                         remarks,
		storage(`"files":[{"path":"/a","contents":{"source":"ftp://x"}}]`):                                                     fatal,
		storage(`"files":[{"path":"/a","contents":{"source":"http://x","verification":{"hash":"md5-00"}}}]`):                   fatal,
		storage(`"files":[{"path":"/a","user":{"id":1,"name":"x"}}]`):                                                          fatal,
		storage(`"luks":[{"name":"a","device":"/dev/a","clevis":{"tang":[{"url":"http://x"}]}}]`):                              fatal,
		storage(`"disks":[{"device":"/dev/a","partitions":[{"number":1,"label":"a"},{"number":1,"label":"b"}]}]`):              fatal,
		storage(`"raid":[{"name":"a","level":"raid1","devices":["/dev/a","/dev/b"],"options":["--x","--x"]}]`):                 clean,
		storage(`"filesystems":[{"device":"/dev/a","format":"xfs","path":"/a"},{"device":"/dev/b","format":"none"}]`):          fatal,
		`{"ignition":{"version":"3.2.0","proxy":{"httpProxy":"ftp://x"}}}`:                                                     fatal,
		`{"ignition":{"version":"3.4.0"},"kernelArguments":{"shouldExist":["a"],"shouldNotExist":["a"]}}`:                      fatal,
		`{"ignition":{"version":"3.6.0"},"storage":{"files":[{"path":"/a","mode":2000}]}}`:                                     clean,
		`{"ignition":{"version":"3.1.0","config":{"merge":[{"source":"http://x","httpHeaders":[{"name":"a","value":"b"}]}]}}}`: clean,
	}
}

func TestJudgesSamples(t *testing.T) {
	for config, want := range samples() {
		if got := agree(t, []byte(config)); got != want {
			t.Errorf("%s: verdict %d, want %d", config, got, want)
		}
	}
}

// agree compares the verdict with the library's own report.
func agree(t *testing.T, data []byte) verdict {
	t.Helper()
	version, _, err := versionOf(data)
	if err != nil {
		return fatal
	}
	s, err := specificationOf(version)
	if err != nil {
		return fatal
	}
	got := s.judge(data, true)
	found, err := s.check(data)
	if bad := err != nil || found.IsFatal(); bad != (got == fatal) || bad != (s.judge(data, false) == fatal) {
		t.Fatalf("verdict %d, the library says %v, %v: %s", got, found, err, data)
	}
	for _, e := range found.Entries {
		// A key in other letters of case is accepted as the one that is meant, by Ignition, too; the library's report
		// calls it unused nevertheless.
		if got == clean && !strings.HasPrefix(e.Message, "unused key") {
			t.Fatalf("nothing was found, but the library says %v: %s", e, data)
		}
	}
	return got
}

func FuzzJudge(f *testing.F) {
	for config := range samples() {
		f.Add([]byte(config))
	}
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}
