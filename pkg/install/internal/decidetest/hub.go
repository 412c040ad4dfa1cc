package decidetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// What the world does as a service that gets the desired state, and starts by itself.

// release makes the service start as soon as it has what it waits for, or, where it stalls, once it is touched.
func (w *World) release(a model.Action) {
	c := w.Observed.Cluster
	maps.Copy(c.Settings, a.Settings)
	c.Released = true
	if w.Stalls {
		c.Stalled = w.Observed.At
	}
}

// counted are the settings of a cluster that such a service takes until the
// install starts, and others do not.
func counted() []model.Setting {
	return []model.Setting{model.SettingControlPlane, model.SettingArbiters}
}

// mayApprove refuses approvals that must never be asked for: of machines that
// the file does not name, and where the service knows no approval.
func (w *World) mayApprove(host *model.Host, a model.Action) error {
	_, approves := a.Settings[model.SettingApproved]
	_, asks := host.Settings[model.SettingApproved]
	named := slices.ContainsFunc(w.Desired.Spec.Spec.Hosts, func(s spec.Host) bool { return host.ID == "host-"+s.Name })
	switch {
	case approves && !asks:
		return fmt.Errorf("%s is approved, which the service knows nothing of", host.ID)
	case approves && !named && !w.Desired.Spec.Spec.AcceptUnknownHosts:
		return fmt.Errorf("%s is approved, which the file does not name", host.ID)
	case approves && host.Reserved != "":
		return fmt.Errorf("%s is approved, which is reserved only", host.ID)
	case approves && a.Kind == model.UpdateHost && host.Day2:
		return fmt.Errorf("%s is approved before the install is requested", host.ID)
	}
	return nil
}

// mayBind refuses hosts of a pool that are not to be bound.
func (w *World) mayBind(host *model.Host) error {
	named := slices.ContainsFunc(w.Desired.Spec.Spec.Hosts, func(s spec.Host) bool { return host.ID == "host-"+s.Name })
	switch {
	case host.Reserved != "" && !named:
		return fmt.Errorf("%s is bound, which the file does not name", host.ID)
	case host.Reserved != "" && w.Hub && host.Settings[model.SettingApproved] != model.ValueOf(true):
		return fmt.Errorf("%s is bound, and was not approved", host.ID)
	}
	return nil
}

// switchedOn reports whether a machine runs: where the service boots machines, only one that it was given.
func (w *World) switchedOn(name string) bool {
	enrolled := w.Observed.Enrolled
	return enrolled == nil || slices.ContainsFunc(enrolled, func(e model.Enrolled) bool { return e.Name == name })
}

// enough reports whether a service that starts by itself has the hosts that it waits for.
func (w *World) enough() bool {
	c, approved, wanted := w.Observed.Cluster, 0, 0
	for _, setting := range []model.Setting{model.SettingControlPlane, model.SettingWorkers, model.SettingArbiters} {
		n := 0
		if value := c.Settings[setting]; value != "" && value.Decode(&n) == nil {
			wanted += n
		}
	}
	for i := range w.Observed.Hosts {
		h := &w.Observed.Hosts[i]
		if h.Settings[model.SettingApproved] == model.ValueOf(true) && (h.Reserved == "" || h.ClusterID != "") {
			approved++
		}
	}
	return c.Released && c.Stalled.IsZero() && approved == wanted
}

// disturbHub changes what only a service knows that starts by itself.
func (w *World) disturbHub(random *rand.Rand) {
	o := &w.Observed
	switch random.IntN(10) {
	case 0:
		o.Cluster.Hold = "another client"
	case 1:
		o.Cluster.Released = !o.Cluster.Released
	case 2:
		o.Cluster.Stalled = o.At.Add(-time.Duration(random.IntN(60)) * time.Second)
	case 3:
		o.Cluster.Settings[model.SettingWorkers] = model.ValueOf(random.IntN(4))
	case 4:
		o.Cluster.Unrecorded = true
	case 5:
		o.Cluster.Settings[model.SettingControlPlane] = model.ValueOf([]int{1, 3, 5}[random.IntN(3)])
	case 6:
		o.Cluster.Settings[model.SettingArbiters] = model.ValueOf(random.IntN(2))
	}
	for i := range o.Hosts {
		if random.IntN(8) == 0 {
			o.Hosts[i].Settings[model.SettingApproved] = model.ValueOf(random.IntN(2) == 0)
		}
	}
}
