package spoke

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// How long an update takes, on the simulation's clock: until the release is accepted, and for the
// operators but the last, which is that of machine configs and waits for the control plane.
const (
	acceptTime    = time.Minute
	operatorsTime = 20 * time.Minute
	lastOperator  = "machine-config"
)

type update struct {
	version string
	since   time.Time
	done    int // operators that have the version
}

// keepVersion is the cluster version operator: it takes the cluster to the release that is
// desired, if that is an available update, or was forced by its image.
func (p *operators) keepVersion(ctx context.Context, w *snapshot) error {
	if p.cluster.Joining {
		p.mu.Lock()
		joined := p.joined
		p.mu.Unlock()
		if !joined {
			return nil
		}
	}
	v, err := p.objectsOf(kindClusterVersion, "").Get(ctx, "version", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ClusterVersion: %w", err)
	}
	desired := textsOf(v, "spec", "desiredUpdate")
	status := apiobject.Status(v)
	now, _, _ := unstructured.NestedString(status, "desired", "version")
	if p.update == nil && now != p.versionOf("") { // it was begun by an earlier run
		p.update = &update{version: now, since: w.now.Time}
	}
	switch wanted, why := p.wanted(v, desired); {
	case why != "":
		setCondition(status, w.now, "Invalid", "True", "InvalidClusterVersion", "The cluster version is invalid: "+why)
		if p.update == nil {
			setCondition(status, w.now, "Progressing", "False", "InvalidClusterVersion", "Stopped at "+now+": the cluster version is invalid")
		}
	case wanted == "" || wanted == now && p.update == nil:
		dropCondition(status, "Invalid")
		if p.update == nil {
			setCondition(status, w.now, "Progressing", "False", "", "Cluster version is "+now)
		}
	case p.update == nil || p.update.version != wanted:
		dropCondition(status, "Invalid")
		p.beginUpdate(w, status, wanted, desired["image"])
	}
	if p.update != nil {
		if err := p.proceedUpdate(ctx, w, status); err != nil {
			return err
		}
	}
	status["observedGeneration"] = v.GetGeneration()
	return p.report(ctx, kindClusterVersion, v, status)
}

func textsOf(u *unstructured.Unstructured, path ...string) map[string]string {
	values, _, _ := unstructured.NestedMap(u.Object, path...)
	found := map[string]string{}
	for name, value := range values {
		if text, is := value.(string); is {
			found[name] = text
		}
	}
	return found
}

// wanted is the version that an update is asked for to, or why there is none.
func (p *operators) wanted(v *unstructured.Unstructured, desired map[string]string) (version, why string) {
	version, image := desired["version"], desired["image"]
	if version == "" && image == "" {
		return "", ""
	}
	var known []any
	for _, list := range []string{"availableUpdates", "history"} {
		found, _, _ := unstructured.NestedSlice(v.Object, "status", list)
		known = append(known, found...)
	}
	for _, each := range known {
		release, _ := each.(fields)
		if version != "" && release["version"] == version || version == "" && release["image"] == image {
			found, _ := release["version"].(string)
			return found, ""
		}
	}
	force := apiobject.Truth(v, "spec", "desiredUpdate", "force")
	switch {
	case image != "" && force && version != "":
		return version, ""
	case image != "":
		return "", fmt.Sprintf("spec.desiredUpdate.image: Invalid value: %q: its version is not known here", image)
	}
	return "", fmt.Sprintf("spec.desiredUpdate.version: Invalid value: %q: when image is empty the update must be an available update",
		version)
}

func (p *operators) beginUpdate(w *snapshot, status fields, version, image string) {
	if image == "" {
		image = p.cluster.imageOf(version)
	}
	p.update = &update{version: version, since: w.now.Time}
	p.logf("is updated to %s", version)
	history, _ := status["history"].([]any)
	if len(history) > 0 {
		if last, is := history[0].(fields); is && last["state"] == "Partial" && last["completionTime"] == nil {
			last["completionTime"] = w.now.UTC().Format(time.RFC3339)
		}
	}
	status["desired"] = fields{"version": version, "image": image}
	status["history"] = append([]any{fields{
		"state": "Partial", "version": version, "image": image, "verified": true, "startedTime": w.now.UTC().Format(time.RFC3339),
		"completionTime": nil,
	}}, history...)
	setCondition(
		status, w.now, "ReleaseAccepted", "True", "PayloadLoaded",
		fmt.Sprintf("Payload loaded version=%q image=%q architecture=%q", version, image, machineArch(p.cluster.Arch)),
	)
	setCondition(status, w.now, "Progressing", "True", "", "Working towards "+version)
}

// proceedUpdate takes the operators to the version, one after the other, then the nodes.
func (p *operators) proceedUpdate(ctx context.Context, w *snapshot, status fields) error {
	u := p.update
	spent := w.now.Sub(u.since) - acceptTime
	if spent < 0 {
		return nil
	}
	names := p.operatorsInOrder()
	due := min(int(float64(len(names)-1)*float64(spent)/float64(p.atLeast(operatorsTime, seenTime))), len(names)-1)
	for u.done < due {
		if err := p.updateOperator(ctx, w, names[u.done], u.version); err != nil {
			return err
		}
		u.done++
	}
	const total = 900
	part := total * u.done / len(names)
	if u.done < len(names)-1 {
		setCondition(
			status, w.now, "Progressing", "True", "",
			fmt.Sprintf("Working towards %s: %d of %d done (%d%% complete)", u.version, part, total, 100*part/total),
		)
		return nil
	}
	if done, err := p.updateNodes(ctx, w); err != nil || !done {
		setCondition(status, w.now, "Progressing", "True", "ClusterOperatorUpdating",
			fmt.Sprintf("Working towards %s: %d of %d done (%d%% complete), waiting on %s", u.version, part, total, 100*part/total, lastOperator))
		return err
	}
	if err := p.updateOperator(ctx, w, lastOperator, u.version); err != nil {
		return err
	}
	p.mu.Lock()
	p.release = u.version
	p.mu.Unlock()
	p.complete(status, w.now, u.version)
	p.update = nil
	p.logf("is updated")
	return nil
}

// complete is what a ClusterVersion says once a release is applied.
func (s *Spoke) complete(status fields, now metav1.Time, version string) {
	if history, _ := status["history"].([]any); len(history) > 0 {
		if last, is := history[0].(fields); is {
			last["state"], last["completionTime"] = "Completed", now.UTC().Format(time.RFC3339)
		}
	}
	setCondition(status, now, "Available", "True", "", "Done applying "+version)
	setCondition(status, now, "Failing", "False", "", "")
	setCondition(status, now, "Progressing", "False", "", "Cluster version is "+version)
	if len(s.cluster.Updates) > 0 {
		status["availableUpdates"] = s.cluster.updatesFrom(version)
	}
}

func (s *Spoke) applied(ctx context.Context, version string) error {
	v, err := s.objectsOf(kindClusterVersion, "").Get(ctx, "version", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ClusterVersion: %w", err)
	}
	status, _, _ := unstructured.NestedMap(v.Object, "status")
	s.complete(status, metav1.NewTime(s.clock.Now()), version)
	v.Object["status"] = status
	_, err = s.objectsOf(kindClusterVersion, "").UpdateStatus(ctx, v, metav1.UpdateOptions{})
	return err
}

// operatorsInOrder are the cluster's operators, that of machine configs last.
func (p *operators) operatorsInOrder() []string {
	names := slices.DeleteFunc(slices.Clone(operatorNames), func(name string) bool {
		return name == lastOperator || !p.cluster.MachineAPI && slices.Contains(machineOperators, name)
	})
	return append(names, lastOperator)
}

func (p *operators) updateOperator(ctx context.Context, w *snapshot, name, version string) error {
	o, err := p.objectsOf(kindClusterOperator, "").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(err)
	}
	status := apiobject.Status(o)
	status["versions"] = []any{fields{"name": "operator", "version": version}}
	setCondition(status, w.now, "Progressing", "False", "AsExpected", "")
	return p.report(ctx, kindClusterOperator, o, status)
}

// updateNodes has the pools take the release's configs, and reports whether the control plane's
// has. The cluster's version does not wait for other pools.
func (p *operators) updateNodes(ctx context.Context, w *snapshot) (bool, error) {
	over := true
	for i := range w.pools {
		pool := &w.pools[i]
		name := p.cluster.renderedOf(pool.GetName(), p.update.version)
		p.mu.Lock()
		p.configs[name] = p.update.version
		p.mu.Unlock()
		if wanted := apiobject.Text(pool, "spec", "configuration", "name"); wanted != name {
			over = false
			if err := p.render(ctx, pool, name); err != nil {
				return false, err
			}
			continue
		}
		if pool.GetName() != master {
			continue
		}
		is := apiobject.Text(pool, "status", "configuration", "name")
		over = over && is == name && apiobject.Condition(pool, "Updated")["status"] == "True"
	}
	return over, nil
}

// render gives a pool a config of another name.
func (p *operators) render(ctx context.Context, pool *unstructured.Unstructured, name string) error {
	old := apiobject.Text(pool, "spec", "configuration", "name")
	config, err := p.objectsOf(kindMachineConfig, "").Get(ctx, old, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read MachineConfig %s: %w", old, err)
	}
	spec, _, _ := unstructured.NestedMap(config.Object, "spec")
	notes := maps.Clone(config.GetAnnotations())
	notes["machineconfiguration.openshift.io/release-image-version"] = p.update.version
	if err := p.apply(ctx, object{kind: kindMachineConfig, name: name, annotations: notes, fields: fields{"spec": spec}}); err != nil {
		return err
	}
	now, err := p.objectsOf(kindPool, "").Get(ctx, pool.GetName(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read pool %s: %w", pool.GetName(), err)
	}
	if err := unstructured.SetNestedField(now.Object, name, "spec", "configuration", "name"); err != nil {
		return err
	}
	return p.write(ctx, kindPool, now, "render a config for")
}

// runs notes the release of a node that has taken a config.
func (s *Spoke) runs(node, config string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version := s.configs[config]; version != "" {
		s.releases[node] = version
	}
}

func dropCondition(status fields, kind string) {
	list, _ := status["conditions"].([]any)
	status["conditions"] = apiobject.DropCondition(list, kind)
}
