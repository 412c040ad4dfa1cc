package versions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

func TestResolve(t *testing.T) {
	const none = "no release image found for openshiftVersion: "
	tests := []struct {
		name, version, arch string
		want, url, cpu      string
		fails               string
	}{
		{name: "newest of the line", version: "4.21", want: "4.21.28", cpu: "x86_64", url: "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64"},
		{name: "exact", version: "4.20.7", arch: "x86_64", want: "4.20.7", cpu: "x86_64", url: "quay.io/openshift-release-dev/ocp-release:4.20.7-x86_64"},
		{name: "older lines", version: "4.19", want: "4.19.42", cpu: "x86_64", url: "quay.io/openshift-release-dev/ocp-release:4.19.42-x86_64"},
		{name: "arm images carry uname's name", version: "4.20", arch: "arm64", want: "4.20.33", cpu: "arm64", url: "quay.io/openshift-release-dev/ocp-release:4.20.33-aarch64"},
		{name: "multi by version", version: "4.21-multi", arch: "multi", want: "4.21.28-multi", cpu: "multi", url: "quay.io/openshift-release-dev/ocp-release:4.21.28-multi"},
		{name: "multi by architecture", version: "4.21.28", arch: "multi", want: "4.21.28-multi", cpu: "multi", url: "quay.io/openshift-release-dev/ocp-release:4.21.28-multi"},
		{name: "a release candidate", version: "4.22", want: "4.22.0-rc.4", cpu: "x86_64", url: "quay.io/openshift-release-dev/ocp-release:4.22.0-rc.4-x86_64"},
		{name: "a patch level not out yet", version: "4.21.29", fails: none + "'4.21.29' and CPU architecture 'x86_64'"},
		{name: "no such line", version: "4.99", fails: "Openshift version 4.99 for CPU architecture x86_64 is not supported: " + none + "'4.99' and CPU architecture 'x86_64'"},
		{name: "not a version", version: "latest", fails: none + "'latest' and CPU architecture 'x86_64'"},
		{name: "uname's architecture", version: "4.21", arch: "aarch64", fails: "Requested CPU architecture aarch64 is not available"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := versions.Resolve(tt.version, tt.arch)
			if tt.fails != "" {
				var unsupported *versions.UnsupportedError
				if !errors.As(err, &unsupported) || !hasSuffix(err.Error(), tt.fails) {
					t.Fatalf("Resolve(%q, %q) error = %v, want ...%s", tt.version, tt.arch, err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Version != tt.want || got.URL != tt.url || got.CPUArchitecture != tt.cpu {
				t.Errorf("Resolve(%q, %q) = %+v", tt.version, tt.arch, got)
			}
			if back, ok := versions.ReleaseByURL(got.URL); !ok || !cmp.Equal(back, got) {
				t.Errorf("ReleaseByURL(%q) = %+v, %v, want %+v", got.URL, back, ok, got)
			}
		})
	}
}

func hasSuffix(text, end string) bool {
	return len(text) >= len(end) && text[len(text)-len(end):] == end
}

func TestReleaseByURLKnowsOnlyItsOwn(t *testing.T) {
	for _, url := range []string{
		"", "example.com/foo/ocp:4.21.7-x86_64",
		"quay.io/openshift-release-dev/ocp-release:4.21-x86_64",
		"quay.io/openshift-release-dev/ocp-release:4.21.28-arm64",
		"quay.io/openshift-release-dev/ocp-release:4.21.28",
		"quay.io/openshift-release-dev/ocp-release:4.21.028-x86_64",
		"quay.io/openshift-release-dev/ocp-release:4.21.99-x86_64",
	} {
		if got, ok := versions.ReleaseByURL(url); ok {
			t.Errorf("ReleaseByURL(%q) = %+v", url, got)
		}
	}
}

func TestReleaseByImage(t *testing.T) {
	for image, want := range map[string]string{
		"quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64":                            "4.21.28 x86_64",
		"quay.io/openshift-release-dev/ocp-release:4.20.3-multi":                              "4.20.3-multi multi",
		"registry.example.com:5000/ocp/release:4.19.19-aarch64":                               "4.19.19 arm64",
		"registry.example.com:5000/ocp/release:4.21.28-x86_64@sha256:" + "00":                 "4.21.28 x86_64",
		"registry.example.com:5000/ocp/release":                                               "",
		"quay.io/okd/scos-release:4.19.0-okd-scos.19":                                         "4.19.0-okd-scos.19 x86_64",
		"quay.io/okd/scos-release:4.99.0-okd-scos.19":                                         "",
		"quay.io/okd/scos-release:okd-scos.19":                                                "",
		"quay.io/openshift-release-dev/ocp-release:4.99.0-x86_64":                             "",
		"quay.io/openshift-release-dev/ocp-release@sha256:0123456789012345678901234567890123": "",
	} {
		have := ""
		if release, ok := versions.ReleaseByImage(image); ok {
			have = release.Version + " " + release.CPUArchitecture
		}
		if have != want {
			t.Errorf("%s: have %q, not %q", image, have, want)
		}
	}
}

// TestDigestOf: an image that is named by its digest is the one that the digest was asked for.
func TestDigestOf(t *testing.T) {
	for image, url := range map[string]string{
		"quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64": "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64",
		"mirror.example.com:5000/ocp/release:4.19.19-aarch64":      "quay.io/openshift-release-dev/ocp-release:4.19.19-aarch64",
		"quay.io/okd/scos-release:4.19.0-okd-scos.19":              "quay.io/okd/scos-release:4.19.0-okd-scos.19",
		"quay.io/openshift-release-dev/ocp-release:4.99.0-x86_64":  "",
		"mirror.example.com:5000/ocp/release":                      "",
	} {
		digest := versions.DigestOf(image)
		if url == "" {
			if digest != "" {
				t.Errorf("%s has the digest %s", image, digest)
			}
			continue
		}
		tagged, _ := versions.ReleaseByImage(image)
		named, known := versions.ReleaseByImage(strings.TrimSuffix(image, image[strings.LastIndex(image, ":"):]) + "@" + digest)
		if !known || named.URL != url || named.Version != tagged.Version || named.CPUArchitecture != tagged.CPUArchitecture {
			t.Errorf("%s by its digest is %+v", image, named)
		}
	}
}

func TestOpenshiftVersions(t *testing.T) {
	latest := versions.OpenshiftVersions("", true)
	if len(latest) != 18 {
		t.Errorf("latest of every line and its multi twin: %d entries, want 18", len(latest))
	}
	var recommended []string
	for key, entry := range versions.OpenshiftVersions("", false) {
		if *entry.DisplayName != key {
			t.Errorf("%s is displayed as %s", key, *entry.DisplayName)
		}
		if err := entry.Validate(nil); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if entry.Default {
			recommended = append(recommended, key)
		}
	}
	if diff := cmp.Diff([]string{"4.21.28"}, recommended); diff != "" {
		t.Errorf("recommended (-want +got):\n%s", diff)
	}
	tests := []struct {
		version string
		latest  bool
		want    int
	}{
		{"4.21", true, 2}, {"4.21", false, 58}, {"4.21.2", false, 2}, {"4.2", false, 0}, {"4.99", true, 0},
	}
	for _, tt := range tests {
		if got := versions.OpenshiftVersions(tt.version, tt.latest); len(got) != tt.want {
			t.Errorf("OpenshiftVersions(%q, %v) has %d entries, want %d", tt.version, tt.latest, len(got), tt.want)
		}
	}
}

// TestEveryReleaseHasALiveImage holds what the service demands of a version
// before it lists it.
func TestEveryReleaseHasALiveImage(t *testing.T) {
	for key := range versions.OpenshiftVersions("", false) {
		for _, arch := range versions.Architectures() {
			image, err := versions.OSImageFor(key, arch)
			if err != nil {
				t.Fatal(err)
			}
			if image.CPUArchitecture != arch || !versions.AtLeast(key, image.OpenshiftVersion) {
				t.Errorf("OSImageFor(%q, %q) = %+v", key, arch, image)
			}
		}
	}
}

func TestOSImageFor(t *testing.T) {
	tests := []struct{ version, arch, want, fails string }{
		{version: "", want: "4.22"},
		{version: "4.21", want: "4.21"},
		{version: "4.20.3", arch: "arm64", want: "4.20"},
		{version: "4.21-multi", arch: "s390x", want: "4.21"},
		{version: "4.99", fails: "The requested OS image for version (4.99) and CPU architecture (x86_64) isn't specified in OS images list"},
		{version: "4.21", arch: "multi", fails: "The requested CPU architecture (multi) isn't specified in OS images list"},
	}
	for _, tt := range tests {
		got, err := versions.OSImageFor(tt.version, tt.arch)
		if tt.fails != "" {
			if err == nil || err.Error() != tt.fails {
				t.Errorf("OSImageFor(%q, %q) error = %v, want %s", tt.version, tt.arch, err, tt.fails)
			}
			continue
		}
		if err != nil || got.OpenshiftVersion != tt.want {
			t.Errorf("OSImageFor(%q, %q) = %+v, %v", tt.version, tt.arch, got, err)
		}
	}
}

func TestReleaseSourcesAndComponentsAreValid(t *testing.T) {
	sources := versions.ReleaseSources()
	if len(sources) != 9 || *sources[0].OpenshiftVersion != "4.14" || *sources[8].OpenshiftVersion != "4.22" {
		t.Errorf("release sources: %d", len(sources))
	}
	for _, source := range sources {
		if err := source.Validate(nil); err != nil {
			t.Error(err)
		}
		if len(source.UpgradeChannels) != 5 || *source.UpgradeChannels[4].CPUArchitecture != "multi" {
			t.Errorf("%s: %d channels", *source.OpenshiftVersion, len(source.UpgradeChannels))
		}
	}
	if got := versions.Components().Versions["discovery-agent"]; got != versions.AgentImage {
		t.Errorf("discovery-agent = %q", got)
	}
}

func TestPayloadsDiffer(t *testing.T) {
	one, _ := versions.Resolve("4.21", "")
	two, _ := versions.Resolve("4.20", "")
	if one.Payload() == two.Payload() || one.Payload().MustGather == one.Payload().MachineConfigOperator {
		t.Errorf("payloads are not their own: %v %v", one.Payload(), two.Payload())
	}
	if again, _ := versions.Resolve("4.21", ""); one.Payload() != again.Payload() {
		t.Error("a release's payload changes")
	}
}

func FuzzParseNumber(f *testing.F) {
	for _, seed := range []string{"4.21", "4.21.28", "4.22.0-rc.4", "4.21-multi", "4.22.0-rc.4-multi", "4", "4.021", "-multi", "4.21-rc.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := versions.ParseNumber(text)
		if err != nil {
			return
		}
		if n.String() != text {
			t.Errorf("%q is spelled back as %q", text, n)
		}
		if !n.AtLeast(n.Line()) {
			t.Errorf("%q is older than its own line", text)
		}
	})
}
