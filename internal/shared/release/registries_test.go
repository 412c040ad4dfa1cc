package release

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestPlaces(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	conf := `
unqualified-search-registries = ["registry.access.redhat.com"]

[[registry]]
prefix = ""
location = "quay.io/openshift-release-dev"
mirror-by-digest-only = true

  [[registry.mirror]]
  location = "a.example.com/ocp"

  [[registry.mirror]]
  location = "b.example.com:5000/deep/ocp"
  insecure = true

[[registry]]
location = "quay.io"

  [[registry.mirror]]
  location = "c.example.com"

[[registry]]
prefix = "*.internal.example.com"

  [[registry.mirror]]
  location = "d.example.com/all"

[[registry]]
prefix = "old.example.com"
location = "new.example.com/moved"
`
	registries := must.Get(ParseRegistries([]byte(conf)))(t)
	tests := []struct {
		ref  string
		want []string
	}{
		{"quay.io/openshift-release-dev/ocp-release" + digest, []string{
			"a.example.com/ocp/ocp-release" + digest, "b.example.com:5000/deep/ocp/ocp-release" + digest, "quay.io/openshift-release-dev/ocp-release" + digest,
		}},
		{"quay.io/openshift-release-dev/ocp-release:4.20", []string{"quay.io/openshift-release-dev/ocp-release:4.20"}},
		{"quay.io/other/thing:1", []string{"c.example.com/other/thing:1", "quay.io/other/thing:1"}},
		{"quay.io/openshift-release-devious/x:1", []string{"c.example.com/openshift-release-devious/x:1", "quay.io/openshift-release-devious/x:1"}},
		{"reg.internal.example.com/a/b:1", []string{"d.example.com/all/a/b:1", "reg.internal.example.com/a/b:1"}},
		{"old.example.com/app:1", []string{"new.example.com/moved/app:1"}},
		{"else.example.com/app:1", []string{"else.example.com/app:1"}},
	}
	for _, tt := range tests {
		ref := must.Get(name.ParseReference(tt.ref))(t)
		places := must.Get(sourcesOf(ref, Options{Registries: registries}))(t)
		var got []string
		for _, at := range places {
			got = append(got, at.image)
			if at.insecure != strings.HasPrefix(at.image, "b.") {
				t.Errorf("%s is insecure: %v", at.image, at.insecure)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.ref, diff)
		}
	}
}

func TestParseRegistriesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[[registry]\n":                   "line 1",
		"a = 1\n\n[[registry]]\nprefix=3": "line 4",
		"[[registry]]\ninsecure = true":   "neither prefix nor location",
		"[[registry]]\nlocation='a.b'\n[[registry.mirror]]\ninsecure=true":                            "has no location",
		"[[registry]]\nlocation='a.b'\n[[registry.mirror]]\nlocation='c.d'\npull-from-mirror='never'": "pull-from-mirror",
	} {
		check.Says(t, check.Err(ParseRegistries([]byte(text))), want, text)
	}
}

func TestLoginsTakeTheLongestPath(t *testing.T) {
	all := must.Get(readLogins(spec.NewSecret(`{"auths":{"https://quay.io/v1/":{"username":"a","password":"1"},"quay.io/ocp":{"auth":"Yjoy"},"r.io:5000":{"identitytoken":"t"}}}`)))(t)
	for repository, want := range map[string]string{"quay.io/ocp/release": "b", "quay.io/ocp": "b", "quay.io/ocpx": "a", "quay.io/x/ocp": "a", "r.io:5000/xyz": "", "r.io/xyz": ""} {
		target := must.Get(name.NewRepository(repository))(t)
		found := must.Get(all.Resolve(target))(t)
		login := must.Get(found.Authorization())(t)
		if login.Username != want || repository == "r.io:5000/xyz" != (login.IdentityToken == "t") {
			t.Errorf("%s is read as %q", repository, login.Username)
		}
	}
}

func FuzzParseRegistries(f *testing.F) {
	f.Add([]byte("[[registry]]\nprefix='*.b'\n[[registry.mirror]]\nlocation='c.d'\n"))
	f.Add([]byte("[[registry]]\nlocation='quay.io/a'\nblocked=true\n"))
	f.Add([]byte("[[registrY.0]]0"))
	ref := must.Get(name.ParseReference("a.b/c/d:1"))(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		registries, err := ParseRegistries(data)
		if err != nil {
			return
		}
		if places, err := sourcesOf(ref, Options{Registries: registries}); err == nil && len(places) == 0 {
			t.Error("an image without a place, and no error")
		}
	})
}

func FuzzReadLogins(f *testing.F) {
	f.Add(`{"auths":{"quay.io":{"auth":"Yjoy"}}}`)
	f.Add(`{"auths":{"":{"auth":"Og=="}}}`)
	target := must.Get(name.NewRepository("a.b/c/d"))(f)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readLogins(spec.NewSecret(text))
		if err != nil {
			return
		}
		check.Do(t, check.Err(all.Resolve(target)))
	})
}
