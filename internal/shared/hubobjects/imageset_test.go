package hubobjects

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A ClusterImageSet is made for the cluster of one namespace. The former name stays where it
// is referred to.
func TestImageSet(t *testing.T) {
	const image = "quay.io/a/b:4.20.1-x86_64"
	for name, test := range map[string]struct {
		set, said, image string // chosen already, and what the file says
		want             string
		made             bool
	}{
		"of a release image":           {image: image, want: "place.lab-release", made: true},
		"its own":                      {set: "place.lab-release", image: image, want: "place.lab-release", made: true},
		"formerly":                     {set: "lab-release", image: image, want: "lab-release", made: true},
		"formerly, said by the file":   {said: "lab-release", image: image, want: "lab-release", made: true},
		"formerly, without its image":  {set: "lab-release", want: "lab-release"},
		"of another namespace":         {set: "other.lab-release", image: image, want: "other.lab-release"},
		"of the hub":                   {set: "img4.20.1", image: image, want: "img4.20.1"},
		"chosen against what is said":  {set: "img4.20.1", said: "lab-release", image: image, want: "img4.20.1"},
		"by the version, as is custom": {want: "openshift-v4.20"},
	} {
		c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
		c.Spec.OpenShift = spec.OpenShift{Version: "4.20", ImageSet: test.said, ReleaseImage: test.image}
		h := Maker{Refusals: Refusals{Cluster: c}, Namespace: "place", Set: test.set}
		made := h.ImageSet()
		if h.Set != test.want || (made != nil) != test.made || made != nil && made.GetName() != test.want {
			t.Errorf("%s: refers to %s, makes %v", name, h.Set, made)
		}
	}
}

func TestIsImageSetOf(t *testing.T) {
	for set, want := range map[string]bool{
		"lab-release": true, "a.lab-release": true, "lab.lab-release": true,
		"": false, "release": false, "a.b.lab-release": false, "a.lab": false, "other-release": false, "lab-release.lab": false,
	} {
		check.Equal(t, IsImageSetOf(set, "lab"), want, set)
	}
	for _, set := range []string{"b.lab-release", "a.b.lab-release"} { // the cluster's name has a dot
		if !IsImageSetOf(set, "b.lab") {
			t.Errorf("%q is not of b.lab", set)
		}
	}
}
