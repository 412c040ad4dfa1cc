package firstboot

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/vincent-petithory/dataurl"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func config(files ...string) []byte {
	return []byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[` + strings.Join(files, ",") + `]}}`)
}

func file(t testing.TB, path, content string) string {
	t.Helper()
	return string(must.Get(json.Marshal(map[string]any{
		"path": path, "contents": map[string]string{"source": dataurl.EncodeBytes([]byte(content))},
	}))(t))
}

func zipped(content []byte) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(content)
	_ = z.Close()
	return "data:;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestCheck(t *testing.T) {
	must.Do(t, Check(config()))
	for text, says := range map[string]string{
		"":                                   "is not a JSON object",
		"<html>":                             "is not a JSON object",
		"[]":                                 "is not a JSON object",
		"{}":                                 `version is ""`,
		`{"ignition":{"version":2}}`:         "is not a JSON object",
		`{"ignition":{"version":"2.2.0"}}`:   "not 3",
		`{"ignition":{"version":"3.0"}}`:     "not 3",
		`{"ignition":{"version":"3.999.0"}}`: "newest that is known",
		`{"ignition":{"version":"` + strings.Repeat("3", 500) + `"}}`: "...",
	} {
		check.Says(t, Check([]byte(text)), says, text)
	}
	check.Says(t, Check(make([]byte, MaxSize+1)), "are the most")
}

// TestFileUnpacksNoOther: a config may have many files that are small as they are sent, and fill the memory unpacked.
func TestFileUnpacksNoOther(t *testing.T) {
	bomb := zipped(make([]byte, 60<<20))
	var files []string
	for range 10 {
		files = append(files, `{"path":"/a","contents":{"compression":"gzip","source":"`+bomb+`"}}`)
	}
	files = append(files, file(t, DockerConfig, "{}"), `{"path":"/b","contents":{"compression":"gzip","source":"`+zipped([]byte("b"))+`"}}`,
		`{"path":"/c","contents":{"source":"https://example.com/c"}}`, `{"path":"/d","contents":{}}`)
	whole := config(files...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	content, found := File(whole, DockerConfig)
	runtime.ReadMemStats(&after)
	check.Equal(t, string(content)+strconv.FormatBool(found), "{}true")
	if used := after.TotalAlloc - before.TotalAlloc; used > 60<<20 {
		t.Errorf("it took %d bytes of memory", used)
	}
	content, found = File(whole, "/b")
	check.Equal(t, string(content)+strconv.FormatBool(found), "btrue")
	for _, path := range []string{"/c", "/d", "/none"} {
		_, found = File(whole, path)
		check.Equal(t, found, false, path)
	}
}

func clusterFile(t testing.TB, config string) string {
	t.Helper()
	manifest := must.Get(json.Marshal(map[string]any{"data": map[string]string{"install-config": config}}))(t)
	return file(t, clusterConfig, string(manifest))
}

func TestCheckCluster(t *testing.T) {
	ours := "baseDomain: example.com\nmetadata: {name: demo}\n"
	must.Do(t, CheckCluster(config(clusterFile(t, ours)), "demo", "example.com"))
	check.Says(t, CheckCluster(config(clusterFile(t, ours)), "other", "example.com"), `it is for the cluster "demo"`)
	check.Says(t, CheckCluster(config(clusterFile(t, ours)), "demo", "example.org"), `of the domain "example.com"`)
	check.Says(t, CheckCluster(config(clusterFile(t, "\t")), "demo", "example.com"), "read its file")
	check.Says(t, CheckCluster(config(file(t, clusterConfig, "- a")), "demo", "example.com"), "read its file")
	if err := CheckCluster(config(), "demo", "example.com"); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("got %v", err)
	}
}

func TestMergeHost(t *testing.T) {
	base := config(file(t, "/etc/both", "base"), file(t, "/etc/base", "base"))
	host := `{"ignition":{"version":"3.1.0","config":{"merge":[{"source":"http://x/config/master"}]}},` +
		`"storage":{"files":[` + file(t, "/etc/both", "host") + `]},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n"}]}}`
	merged := must.Get(MergeHost(base, []byte(host)))(t)
	for path, want := range map[string]string{"/etc/both": "host", "/etc/base": "base"} {
		content, found := File(merged, path)
		check.Equal(t, found, true)
		check.Equal(t, string(content), want)
	}
	check.Contains(t, string(merged), "a.service")
	if strings.Contains(string(merged), "http://x/config/master") {
		t.Error("the pointer is still there")
	}
	for text, says := range map[string]string{
		"x": "read the host's config", `{}`: "section ignition", `{"ignition":{"version":"2.0.0"}}`: "merge the host's config",
	} {
		_, err := MergeHost(base, []byte(text))
		check.Says(t, err, says)
	}
}

// TestMergeKeepsThePointerOfTheBase: bootkube's config of a single node points at a data URL.
func TestMergeKeepsThePointerOfTheBase(t *testing.T) {
	inner := config(file(t, encapsulated, `{"spec":{"osImageURL":"quay.io/x/os:1"}}`))
	base := `{"ignition":{"version":"3.2.0","config":{"merge":[{"compression":"gzip","source":"` + zipped(inner) + `"}]}}}`
	merged := must.Get(MergeHost([]byte(base), []byte(`{"ignition":{"version":"3.2.0"}}`)))(t)
	check.Equal(t, must.Get(CarriedOS(merged))(t).Image, "quay.io/x/os:1")
	check.Equal(t, must.Get(CarriedOS(inner))(t).Image, "quay.io/x/os:1")
	_, err := CarriedOS([]byte(`{"ignition":{"config":{"merge":[{"source":"data:;base64,H4sI"}]}}}`))
	check.Says(t, err, "decompress")
}

func TestPointer(t *testing.T) {
	pointer := func(source, ca string) string {
		return `{"ignition":{"version":"3.2.0","config":{"merge":[{},{"source":"` + source + `"}]},` +
			`"security":{"tls":{"certificateAuthorities":[` + ca + `]}}}}`
	}
	source, ca, err := Pointer([]byte(pointer("https://api-int:22623/config/master", `{"source":"data:;base64,Q0E="}`)))
	must.Do(t, err)
	check.Equal(t, source, "https://api-int:22623/config/master")
	check.Equal(t, string(ca), "CA")
	source, _, err = Pointer([]byte(pointer("data:,x", "")))
	must.Do(t, err)
	check.Equal(t, source, "data:,x")
	for text, says := range map[string]string{
		"x":                          "is not JSON",
		`{}`:                         "points nowhere",
		pointer("file:///etc/x", ""): `scheme "file"`,
		pointer("http:///x", ""):     `scheme "http"`,
		pointer("%zz", ""):           "no URL",
		pointer("https://x/y", ""):   "has no CA",
		pointer("https://x/y", `{"source":"http://evil/ca"}`): "not in the config itself",
		pointer("https://x/y", `{"source":"data:bad"}`):       "decode the data URL",
	} {
		_, _, err := Pointer([]byte(text))
		check.Says(t, err, says, text)
	}
}

func TestCarried(t *testing.T) {
	check.Equal(t, string(must.Get(Carried(zipped([]byte("content"))))(t)), "content")
	check.Equal(t, string(must.Get(Carried("data:,content"))(t)), "content")
	_, err := Carried(zipped(make([]byte, MaxSize+1)))
	check.Says(t, err, "decompresses to more than")
	_, err = Carried("data:;base64,H4sIAAAAAAAA/w==")
	check.Says(t, err, "decompress")
}

func TestReleaseOS(t *testing.T) {
	os := must.Get(ReleaseOS(config(file(t, encapsulated, `{"spec":{"osImageURL":"quay.io/x/os@sha256:b","kernelArguments":["a=b","c"]}}`))))(t)
	check.Equal(t, os.Image, "quay.io/x/os@sha256:b")
	check.Equal(t, strings.Join(os.KernelArguments, " "), "a=b c")
	for content, says := range map[string]string{
		"x":                                      "read the MachineConfig",
		"{}":                                     "no reference of a container image",
		`{"spec":{"osImageURL":"--privileged"}}`: "no reference of a container image",
		`{"spec":{"osImageURL":"x","kernelArguments":["a b"]}}`:    "is not one word",
		`{"spec":{"osImageURL":"x","kernelArguments":["--karg"]}}`: "is not one word",
	} {
		_, err := ReleaseOS(config(file(t, encapsulated, content)))
		check.Says(t, err, says, content)
	}
	_, err := ReleaseOS(config())
	check.Says(t, err, "has no file")
}

func TestReadInstallConfig(t *testing.T) {
	for text, want := range map[string]InstallConfig{
		"":                            {},
		"controlPlane: {replicas: 3}": {ControlPlane: 3},
		"controlPlane: {replicas: 2}\narbiter: {replicas: 1}": {ControlPlane: 2, Arbiters: 1},
		"baseDomain: example.com\nmetadata: {name: demo}": {
			Name: "demo", BaseDomain: "example.com",
		},
	} {
		check.Equal(t, must.Get(ReadInstallConfig(text))(t), want)
	}
	for text, says := range map[string]string{
		"controlPlane: {replicas: -1}":   "negative",
		"controlPlane: {replicas: many}": "not YAML of the expected form",
		"\t":                             "not YAML of the expected form",
		"a: &a [x,x]\nb: &b [*a,*a]\ncontrolPlane: *b": "not YAML of the expected form",
		strings.Repeat("#", maxInstallConfig+1):        "are the most",
	} {
		_, err := ReadInstallConfig(text)
		check.Says(t, err, says)
	}
	_, err := ReadClusterConfig(make([]byte, maxInstallConfig+1))
	check.Says(t, err, "are the most")
}

func FuzzBootstrapIgnition(f *testing.F) {
	f.Add(config(file(f, "/root/.docker/config.json", "{}"), clusterFile(f, "baseDomain: x\n")))
	f.Add([]byte(`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"data:,{}"}]}}}`))
	f.Add([]byte(`{"storage":{"files":[{"path":1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if Check(data) != nil {
			return
		}
		_, _ = File(data, DockerConfig)
		_ = CheckCluster(data, "demo", "example.com")
		if source, _, err := Pointer(data); err == nil && checkSource(source) != nil {
			t.Errorf("the source %q is taken", source)
		}
		if os, err := CarriedOS(data); err == nil && !imagePattern.MatchString(os.Image) {
			t.Errorf("the image %q is taken", os.Image)
		}
		if merged, err := MergeHost(config(), data); err == nil {
			must.Do(t, Check(merged))
		}
	})
}

func FuzzInstallConfig(f *testing.F) {
	f.Add("controlPlane: {replicas: 3}")
	f.Add("a: &a [*a]")
	f.Add("arbiter:\n  replicas: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadInstallConfig(text)
		if err == nil && (c.ControlPlane < 0 || c.Arbiters < 0) {
			t.Errorf("%+v", c)
		}
		_, _ = ReadClusterConfig([]byte(text))
	})
}
