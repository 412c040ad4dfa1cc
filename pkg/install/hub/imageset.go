package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-semver/semver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type imageSetRecord struct {
	name    string
	release string    // pull spec of the release image
	version string    // "4.20.33", "" where neither tag nor name has it
	arch    spec.Arch // "" where neither tag nor name has it
	missing time.Time // when there was none of that name, zero if there is one
}

// missingFor is how long a ClusterImageSet that a cluster refers to, and that is
// not there, is not asked for again.
const missingFor = time.Minute

// versionText is a version as it stands in tags and names of releases: of OpenShift, or of OKD.
var versionText = regexp.MustCompile(`(\d+)\.(\d+)(?:\.(\d+))?` +
	`(-(?:rc|fc|ec|0\.nightly|0\.ci|0\.okd(?:-scos)?|okd-scos(?:\.ec)?)[.0-9-]*[0-9])?`)

// recordOf reads a ClusterImageSet. Its version and architecture are those of the
// release image's tag or, where that is a digest, of its name.
func recordOf(u *unstructured.Unstructured) imageSetRecord {
	release, _, _ := unstructured.NestedString(u.Object, "spec", "releaseImage")
	record := imageSetRecord{name: u.GetName(), release: release}
	if at := strings.LastIndexAny(release, ":/"); at >= 0 && release[at] == ':' && !strings.Contains(release, "@") {
		record.version, record.arch = versionText.FindString(release[at:]), archIn(release[at:])
	}
	if record.version == "" && u.GetLabels()[hubapi.LabelCluster] == "" {
		record.version, record.arch = versionText.FindString(u.GetName()), archIn(u.GetName())
	}
	return record
}

func archIn(text string) spec.Arch {
	for word, arch := range map[string]spec.Arch{
		"-x86_64": spec.X86, "-x86-64": spec.X86, "-aarch64": spec.ARM, "-arm64": spec.ARM, "-ppc64le": spec.Power, "-s390x": spec.Z,
		"-multi": spec.Multi,
	} {
		if strings.Contains(text, word) {
			return arch
		}
	}
	return ""
}

// suits says how well a release is for the architecture that a file asks for: 0 not
// at all. A file that says none may get another than the usual, but as the last.
func (r *imageSetRecord) suits(o spec.OpenShift) int {
	want := cmp.Or(o.Arch, spec.X86)
	if strings.HasSuffix(o.Version, "-multi") {
		want = spec.Multi
	}
	switch {
	case r.arch == want:
		return 3
	case r.arch == "" || r.arch == spec.Multi:
		return 2
	case o.Arch == "" && want != spec.Multi:
		return 1
	}
	return 0
}

// imageSet is the ClusterImageSet of that name. It is asked for once: its reference never changes. If it cannot be
// read, the record is empty.
func (p *Plane) imageSet(ctx context.Context, name string) (imageSetRecord, error) {
	p.mu.Lock()
	record, known := p.imageSets[name]
	p.mu.Unlock()
	if known && (record.missing.IsZero() || p.api.Clock.Now().Sub(record.missing) < missingFor) || name == "" {
		return record, nil
	}
	u, err := p.api.Object(ctx, kube.ClusterImageSets, "", name)
	switch {
	case err == nil:
		record = recordOf(u)
	case apierrors.IsForbidden(err):
		record = imageSetRecord{name: name} // an observation can do without
	case apierrors.IsNotFound(err):
		record = imageSetRecord{name: name, missing: p.api.Clock.Now()} // may be made yet
	default:
		return record, p.api.Fault(kube.Attempt{Op: "read ClusterImageSet", Verb: "get", Kind: kube.ClusterImageSets, Name: name}, err)
	}
	p.mu.Lock()
	p.imageSets[name] = record
	p.mu.Unlock()
	return record, nil
}

// CheckRelease is an error where the hub has no release to register a cluster with:
// what registering it would end with.
func (p *Plane) CheckRelease(ctx context.Context, c *spec.Cluster) error {
	_, err := p.chooseImageSet(ctx, c)
	return err
}

// chooseImageSet is the name of the ClusterImageSet that a cluster is to be installed from: the one that the file
// names; else "" if the file names a release image, since one is made for it; else the newest of the file's version and
// architecture.
func (p *Plane) chooseImageSet(ctx context.Context, c *spec.Cluster) (string, error) {
	o := c.Spec.OpenShift
	if o.ImageSet == "" && o.ReleaseImage != "" {
		return "", nil
	}
	found, err := p.api.Select(ctx, kube.ClusterImageSets, "", metav1.ListOptions{})
	if err != nil {
		if o.ImageSet != "" && apierrors.IsForbidden(err) {
			return o.ImageSet, nil // the service says so if there is none
		}
		return "", p.api.Fault(kube.Attempt{Op: "list ClusterImageSets", Verb: "list", Kind: kube.ClusterImageSets}, err)
	}
	var fitting []imageSetRecord
	var names []string
	for i := range found {
		record := recordOf(&found[i])
		names = append(names, record.name)
		switch {
		case o.ImageSet != "" && record.name == o.ImageSet:
			return o.ImageSet, nil
		case o.ImageSet == "" && found[i].GetLabels()[hubapi.LabelCluster] == "" && satisfies(record.version, o.Version) && record.suits(o) > 0:
			fitting = append(fitting, record)
		}
	}
	if len(fitting) > 0 {
		return slices.MaxFunc(fitting, func(a, b imageSetRecord) int {
			return cmp.Or(cmp.Compare(min(2, a.suits(o)), min(2, b.suits(o))), compareVersions(a.version, b.version),
				cmp.Compare(a.suits(o), b.suits(o)), strings.Compare(a.name, b.name))
		}).name, nil
	}
	slices.Sort(names)
	return "", noImageSet(o, names)
}

func noImageSet(o spec.OpenShift, names []string) *model.Fault {
	there := "the hub has none"
	if len(names) > 0 {
		there = "there are " + strings.Join(names, ", ")
	}
	f := &model.Fault{Code: model.CodeInput, Op: "choose the ClusterImageSet", Permanent: true}
	f.Next = "write spec.openshift.imageSet with one of them, or spec.openshift.releaseImage to have one made"
	if len(names) == 0 {
		f.Next = "write spec.openshift.releaseImage, from which oaictl makes one, or ask a user with the right to create ClusterImageSets"
	}
	switch {
	case o.ImageSet != "":
		f.Err = fmt.Errorf("spec.openshift.imageSet is %s, and there is no such ClusterImageSet: %s", o.ImageSet, there)
	case o.Version == "":
		f.Err = errors.New("the file has neither a version nor an image set nor a release image")
	default:
		of := o.Version
		if o.Arch != "" {
			of += " for " + string(o.Arch)
		}
		f.Err = fmt.Errorf("no ClusterImageSet is of version %s: %s", of, there)
	}
	return f
}

func satisfies(have, want string) bool {
	want = strings.TrimSuffix(want, "-multi")
	return have != "" && want != "" && (have == want || strings.HasPrefix(have, want+"."))
}

// compareVersions orders versions by their precedence (Semantic Versioning 2.0.0 §11), but every release comes after
// every pre-release: a user who asks for 4.20 is not given a candidate while there is a release. Texts that are no
// versions come first.
func compareVersions(a, b string) int {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	if errX != nil || errY != nil {
		return cmp.Or(cmp.Compare(bit(errX == nil), bit(errY == nil)), strings.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(bit(x.PreRelease == ""), bit(y.PreRelease == "")), x.Compare(*y))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
