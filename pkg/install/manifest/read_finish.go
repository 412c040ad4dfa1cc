package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// finish accounts for every key, writes the document, and has it checked as
// spec.Load will check it.
func (r *conversion) finish(ctx context.Context, format Format, in *input) (*Converted, error) {
	out := &Converted{Format: format, Files: r.files, Notes: r.notes}
	if len(r.problems) == 0 {
		r.complete(out, in)
	}
	for _, doc := range r.docs {
		r.rest(doc.root, cmp.Or(r.nowhere, "cluster.yaml has no place for it"))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	r.moveDocuments()
	out.Document = emit(r.cluster, r.present, r.written)
	out.Cluster = r.cluster
	out.Losses = sortLosses(r.losses, in.names())
	out.Idle = sortLosses(r.idle, in.names())
	if err := r.check(ctx, out, in); err != nil {
		return nil, err
	}
	return out, nil
}

// complete fills in what the options say and what the input means by saying
// nothing.
func (r *conversion) complete(out *Converted, in *input) {
	s := &r.cluster.Spec
	r.wantedVersion()
	if s.PullSecret.IsZero() && r.options.PullSecret != "" {
		s.PullSecret = spec.Source{File: r.options.PullSecret}
	}
	hosts := 0
	for i := range s.Hosts {
		r.nameHost(i)
		hosts++
	}
	wanted := 0
	for _, n := range []*int{s.Topology.ControlPlane, s.Topology.Workers, s.Topology.Arbiters} {
		if n != nil {
			wanted += *n
		}
	}
	if hosts == 0 || hosts < wanted {
		r.missingHosts(out, in, hosts, max(wanted, hosts))
	}
}

// wantedVersion puts the version of the options in the place of the input's. A
// release that the input names by its image, or by its set, would be installed all
// the same.
func (r *conversion) wantedVersion() {
	o, wanted := &r.cluster.Spec.OpenShift, r.options.Version
	if wanted == "" || wanted == o.Version {
		return
	}
	at := r.origins["spec.openshift.version"]
	release := cmp.Or(r.origins["spec.openshift.releaseImage"], r.origins["spec.openshift.imageSet"])
	switch {
	case at == nil:
	case o.ReleaseImage != "" || o.ImageSet != "":
		r.wrong(release, fmt.Sprintf("says which release is installed, %s, and --openshift-version %s does not change that", o.Version, wanted), "take --openshift-version away, or change the release here")
		return
	default:
		r.losses = append(r.losses, lost{at: at, loss: Loss{Path: at.path(), Value: shown(at), Why: "--openshift-version says " + wanted}})
	}
	o.Version = wanted
}

// missingHosts has any machine taken for those that the input does not name, if
// that is asked for.
func (r *conversion) missingHosts(out *Converted, in *input, hosts, wanted int) {
	if !r.options.AcceptUnknownHosts {
		message := fmt.Sprintf("names %s, but the cluster has %s: any machine that boots the image would be taken for the others, and its disk wiped", counted(hosts, "host"), counted(wanted, "machine"))
		if wanted == 0 {
			message = "names no hosts: any machine that boots the image would be taken, and its disk wiped"
		}
		r.problem(in.path, 0, 0, "", message, "name the missing hosts, or ask for it beside the input: --accept-unknown-hosts")
		return
	}
	r.cluster.Spec.AcceptUnknownHosts = true
	out.Notes = append(out.Notes, fmt.Sprintf("the input names %s: any other machine that boots the image is taken for one of the cluster and its disk is wiped", counted(hosts, "host")))
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// check has the cluster checked as spec.Load does, and tells what is wrong where
// it stands in the input.
func (r *conversion) check(ctx context.Context, out *Converted, in *input) error {
	err := r.cluster.Resolve(ctx, ".", out.Env("cluster.yaml", r.env))
	var wrong *spec.Problems
	if !errors.As(err, &wrong) {
		return err
	}
	for _, p := range wrong.List {
		if r.options.Look && r.neededToInstall(p) {
			continue
		}
		p.File, p.Line, p.Column = in.path, 0, 0
		if at := r.origin(p.Field); at != nil {
			p.File = at.in.file
			p.Line, p.Column = at.place()
		}
		r.problems = append(r.problems, r.explained(p))
	}
	return r.err()
}

// neededToInstall says whether a problem is that the input does not say what only
// an install needs.
func (r *conversion) neededToInstall(p spec.Problem) bool {
	return p.Field == "spec.openshift.version" && r.cluster.Spec.OpenShift.Version == "" || p.Field == "spec.pullSecret" && r.cluster.Spec.PullSecret.IsZero()
}

// origin is what a field, or the nearest one around it, came from.
func (r *conversion) origin(field string) *node {
	for {
		if n := r.origins[field]; n != nil {
			return n
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return nil
		}
		field = field[:cut]
	}
}

// explained says what to do about a field that the input has no place for.
func (r *conversion) explained(p spec.Problem) spec.Problem {
	switch {
	case p.Field == "spec.openshift.version" && p.Line == 0:
		p.Message, p.Remedy = "the input does not say which OpenShift is installed", "say it beside the input: --openshift-version 4.20"
	case p.Field == "metadata.name" && p.Line == 0:
		p.Message, p.Remedy = "the input does not say what the cluster is called", "say it beside the input: --name NAME"
	case p.Field == "spec.pullSecret" && p.Line == 0:
		p.Message, p.Remedy = "the input has no pull secret", "name its file beside the input: --pull-secret PATH"
	}
	return p
}
