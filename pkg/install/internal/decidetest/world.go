// Package decidetest is a small world for tests of decisions: a service with its clusters and hosts, a hub, an installed
// cluster, and machines with BMCs. Each carries out actions, lets time pass, and refuses what must never be requested.
package decidetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// World is a model of what a service does with actions and with time: small
// enough to be read, and checked against the simulator elsewhere.
type World struct {
	Desired  *model.Desired
	Observed model.Observed
	Memory   model.Memory // what decide knows beside; nothing, as for a single look
	Writes   []model.Action
	Absent   string                 // a machine that is never switched on
	Dark     func(name string) bool // machines that have not booted the image; nil: none
	Hub      bool                   // a service that asks for approvals, and starts by itself once it has enough
	Spoke    *Spoke                 // the installed cluster itself; nil: nothing looks at it
	Stalls   bool                   // one that does not notice that it could start, until it is touched
}

// Start is when a world begins.
func Start() time.Time { return time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) }

// NewWorld is a world in which a service has nothing of the desired cluster yet.
func NewWorld(desired *model.Desired) *World {
	return &World{Desired: desired, Observed: model.Observed{At: Start()}}
}

// Decide is one decision on the world as it is.
func (w *World) Decide() model.Plan {
	observed := w.Observed
	if w.Spoke != nil && observed.Cluster != nil && observed.Cluster.State.Installed() {
		seen := w.Spoke.Seen
		observed.Spoke = &seen
	}
	return decide.Decide(w.Desired, &observed, w.Memory, observed.At)
}

// Apply is the model of every action's effect.
func (w *World) Apply(a model.Action) error {
	w.Writes = append(w.Writes, a)
	if w.Spoke != nil && a.Kind.InCluster() {
		return w.Spoke.Apply(a)
	}
	o := &w.Observed
	switch a.Kind {
	case model.RegisterCluster:
		o.Cluster = &model.Cluster{
			ClusterRef: model.ClusterRef{ID: "cluster-1", Name: a.Name, Owned: true, Created: o.At},
			State:      model.ClusterDiscovering, StatusSince: o.At, Settings: maps.Clone(a.Settings), Manifests: map[string]string{},
		}
		if w.Hub {
			o.Cluster.Changeable = counted()
		}
	case model.ImportCluster:
		o.Cluster = &model.Cluster{
			ClusterRef: model.ClusterRef{ID: "cluster-1", Name: a.Name, Owned: true, Created: o.At},
			State:      model.ClusterAddingHosts, StatusSince: o.At, Settings: maps.Clone(a.Settings), Manifests: map[string]string{},
			Kubeconfig: w.Hub, InstallCompleted: o.At,
		}
	case model.WithdrawCluster:
		o.Others = slices.DeleteFunc(o.Others, func(r model.ClusterRef) bool { return r.ID == a.Target })
	case model.UpdateCluster, model.SetOverrides, model.IgnoreValidations:
		maps.Copy(o.Cluster.Settings, a.Settings)
		o.Cluster.Owned = o.Cluster.Owned || a.Settings[model.SettingTags] != ""
	case model.UploadManifest:
		for _, m := range w.Desired.Spec.ManifestFiles() {
			if string(m.Folder)+"/"+m.Name == a.Name {
				o.Cluster.Manifests[a.Name] = model.Digest([]byte(m.Content))
			}
		}
	case model.RemoveManifest:
		delete(o.Cluster.Manifests, a.Name)
	case model.RegisterInfraEnv:
		o.InfraEnvs = append(o.InfraEnvs, model.InfraEnv{
			ID: "infraenv-" + a.Name, Name: a.Name, ClusterID: a.Target, Owned: true, Created: o.At, Settings: maps.Clone(a.Settings),
			Image: model.Image{State: model.ImageReady, Created: o.At, Expires: o.At.Add(4 * time.Hour)},
		})
	case model.WithdrawInfraEnv:
		withdrawn := func(e model.InfraEnv) bool { return e.ID == a.Target }
		o.Orphans, o.InfraEnvs = slices.DeleteFunc(o.Orphans, withdrawn), slices.DeleteFunc(o.InfraEnvs, withdrawn)
	case model.UpdateInfraEnv:
		env := w.InfraEnv(a.Target)
		maps.Copy(env.Settings, a.Settings)
		env.Image.Created = o.At.Add(time.Second)
	case model.RenewImage:
		w.InfraEnv(a.Target).Image.Expires = o.At.Add(4 * time.Hour)
	case model.RegisterHost:
		if w.InfraEnv(a.InfraEnv) == nil || slices.ContainsFunc(o.Enrolled, func(e model.Enrolled) bool { return e.Name == a.Name }) {
			return fmt.Errorf("%s is given to the service for the InfraEnv %q, or a second time", a.Name, a.InfraEnv)
		}
		o.Enrolled = append(o.Enrolled, model.Enrolled{Name: a.Name, Owned: true, State: "provisioning"})
	case model.UpdateHost:
		host := w.Host(a.Target)
		if err := w.mayApprove(host, a); err != nil {
			return err
		}
		maps.Copy(host.Settings, a.Settings)
		for _, setting := range []model.Setting{model.SettingFencing, model.SettingEndpointHeaders, model.SettingHostExtra} {
			delete(host.Settings, setting) // not given back
		}
		if name, ok := a.Settings[model.SettingHostname]; ok {
			host.Hostname = name.Text()
		}
		if disk, ok := a.Settings[model.SettingDisk]; ok {
			host.Disk = disk.Text()
		}
	case model.BindHost:
		host := w.Host(a.Target)
		if err := w.mayBind(host); err != nil {
			return err
		}
		if host.State, host.ClusterID = model.HostBinding, o.Cluster.ID; w.Hub { // elsewhere it is bound and nothing else
			maps.Copy(host.Settings, a.Settings)
		}
	case model.AllowAddHosts:
		if o.Cluster.State != model.ClusterInstalled {
			return fmt.Errorf("the service lets hosts be added to installed clusters only, not to one that is %s", o.Cluster.State)
		}
		if o.Cluster.Unrecorded {
			return fmt.Errorf("hosts are to be added to a cluster of which it is not recorded that it is installed")
		}
		o.Cluster.State = model.ClusterAddingHosts
	case model.InstallHost:
		host := w.Host(a.Target)
		if host.State != model.HostReady || !host.Day2 || o.Cluster.State != model.ClusterAddingHosts {
			return fmt.Errorf("the service does not install %s now: %s, day 2 %v, cluster %s", host.ID, host.State, host.Day2,
				o.Cluster.State)
		}
		if err := w.mayApprove(host, a); err != nil {
			return err
		}
		if !w.Hub {
			host.State = model.HostInstalling
			return nil
		}
		maps.Copy(host.Settings, a.Settings) // and the service installs it by itself
	case model.StartInstall:
		if w.Desired.Spec.Spec.Hold || o.Cluster.Hold != "" {
			return fmt.Errorf("the install is started although it is held: file %v, others %q", w.Desired.Spec.Spec.Hold, o.Cluster.Hold)
		}
		if w.Hub {
			w.release(a)
			return nil
		}
		o.Cluster.State, o.Cluster.InstallStarted = model.ClusterPreparing, o.At
	case model.NudgeCluster:
		if o.Cluster.Stalled.IsZero() || o.At.Sub(o.Cluster.Stalled) < 30*time.Second {
			return fmt.Errorf("the cluster is touched although it stalls since %s only", o.Cluster.Stalled)
		}
		o.Cluster.Stalled = time.Time{}
	case model.RecordInstalled:
		if !o.Cluster.Unrecorded {
			return fmt.Errorf("an end is recorded a second time")
		}
		o.Cluster.Unrecorded = false
	case model.SaveNoIngress:
		o.Results.NoIngress = true
	case model.SaveKubeconfig:
		o.Results.Kubeconfig = true
	case model.SavePassword:
		o.Results.Password = true
	default:
		return fmt.Errorf("the model has no effect for %s", a.Kind)
	}
	return nil
}

// InfraEnv is the InfraEnv of an id, which is there.
func (w *World) InfraEnv(id string) *model.InfraEnv {
	for i := range w.Observed.InfraEnvs {
		if w.Observed.InfraEnvs[i].ID == id {
			return &w.Observed.InfraEnvs[i]
		}
	}
	panic("no InfraEnv " + id)
}

// Host is the host of an id, which is there.
func (w *World) Host(id string) *model.Host {
	for i := range w.Observed.Hosts {
		if w.Observed.Hosts[i].ID == id {
			return &w.Observed.Hosts[i]
		}
	}
	panic("no host " + id)
}

// Pass lets some time go by, in which every object moves one step on the way
// to an installed cluster, and absent hosts boot.
func (w *World) Pass() {
	o := &w.Observed
	o.At = o.At.Add(2 * time.Minute)
	if o.Cluster == nil {
		return
	}
	w.poolHosts()
	if len(o.InfraEnvs) > 0 {
		w.bootHosts()
	}
	if w.Spoke != nil {
		w.Spoke.pass(o.At, o.Hosts)
	}
	ready, bound := len(o.Hosts) > 0, 0
	for i := range o.Hosts {
		h := &o.Hosts[i]
		if j := slices.IndexFunc(o.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == h.InfraEnvID }); j >= 0 &&
			h.Registered.Before(o.InfraEnvs[j].Image.Created) {
			h.Registered = o.At // a user reboots it into the new image
		}
		switch h.State {
		case model.HostUnbound:
			h.Status = "known-unbound"
		case model.HostBinding, model.HostDisconnected, model.HostResetting, model.HostBlocked:
			h.Day2 = h.Day2 || h.State == model.HostBinding && o.Cluster.State == model.ClusterAddingHosts
			h.State = model.HostDiscovering
		case model.HostDiscovering:
			h.State = model.HostReady
		case model.HostReady:
			if w.Hub && h.Day2 && h.Settings[model.SettingApproved] == model.ValueOf(true) {
				h.State = model.HostInstalling
			}
		case model.HostPreparing, model.HostInstalling, model.HostNeedsUser:
			if h.Day2 {
				h.State, h.Rebooted, h.Progress.Stage = model.HostAdded, o.At, "Done"
			}
		}
		if h.Reserved == "" || h.ClusterID != "" { // a host of another's pool does not belong to the cluster
			ready, bound = ready && h.State == model.HostReady, bound+1
		}
	}
	switch o.Cluster.State {
	case model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked:
		o.Cluster.State = model.ClusterDiscovering
		present := w.Desired.At(o).Spec
		expected := len(present.Spec.Hosts)
		if present.Host(w.Absent) != nil {
			expected--
		}
		if ready && bound >= expected {
			o.Cluster.State = model.ClusterReady
		}
	case model.ClusterReady:
		if w.Hub && ready && w.enough() {
			o.Cluster.State, o.Cluster.InstallStarted = model.ClusterPreparing, o.At
		}
	case model.ClusterPreparing, model.ClusterNeedsUser:
		o.Cluster.State, o.Cluster.NoIngress = model.ClusterInstalling, true
	case model.ClusterInstalling:
		o.Cluster.State, o.Cluster.NoIngress = model.ClusterFinalizing, true
	case model.ClusterFinalizing:
		o.Cluster.State, o.Cluster.Kubeconfig, o.Cluster.NoIngress = model.ClusterInstalled, true, true
		o.Cluster.InstallCompleted, o.Cluster.Unrecorded = o.At, w.Hub
		for i := range o.Hosts {
			o.Hosts[i].State, o.Hosts[i].Role = model.HostInstalled, spec.ControlPlane
			if role := o.Hosts[i].Settings[model.SettingRole]; role != "" {
				o.Hosts[i].Role = spec.Role(role.Text())
			}
		}
	}
}

// bootHosts registers the machines of the file that are not there yet, from an image for added hosts, where there is
// one. Once the cluster is installed, the service takes no host until it was changed to add hosts.
func (w *World) bootHosts() {
	late := w.Desired.Spec.Spec.InfraEnv.Bind == spec.BindLate
	done := w.Observed.Cluster.InstallCompleted
	if len(w.Observed.InfraEnvs) == 0 || w.Observed.Cluster.State == model.ClusterInstalled {
		return
	}
	present := w.Desired.At(&w.Observed).Spec
	shared := slices.DeleteFunc(slices.Clone(w.Observed.InfraEnvs), func(e model.InfraEnv) bool {
		return present.HostAloneIn(e.Name) != nil
	})
	from := max(0, slices.IndexFunc(shared, func(e model.InfraEnv) bool {
		return done.IsZero() || e.ClusterID == "" || !e.Created.Before(done)
	}))
	for i, want := range w.Desired.Spec.Spec.Hosts {
		if present.Host(want.Name) == nil || want.Match.Agent != "" {
			continue
		}
		boots := shared
		if own := want.Match.InfraEnv; own != "" {
			boots = slices.DeleteFunc(slices.Clone(w.Observed.InfraEnvs), func(e model.InfraEnv) bool { return e.Name != own })
		} else {
			boots = boots[min(from, len(boots)):]
		}
		if len(boots) == 0 {
			continue
		}
		if slices.ContainsFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-"+want.Name }) || want.Name == w.Absent ||
			w.Dark != nil && w.Dark(want.Name) || !w.switchedOn(want.Name) {
			continue
		}
		host := Machine(want.Name, cmp.Or(want.Match.MAC, fmt.Sprintf("52:54:00:00:09:%02x", i)), i)
		host.InfraEnvID, host.Registered = boots[0].ID, w.Observed.At
		if w.Hub {
			host.Settings[model.SettingApproved] = model.ValueOf(false)
		}
		if w.Observed.Cluster.State == model.ClusterAddingHosts && !late {
			host.Day2, host.Role = true, spec.Worker
		}
		if late {
			host.State, host.Status, host.ClusterID = model.HostUnbound, "discovering-unbound", ""
		}
		w.Observed.Hosts = append(w.Observed.Hosts, host)
	}
}

// poolHosts are those that are reserved for the file: they are there, and belong to no cluster. A person
// approves them in time.
func (w *World) poolHosts() {
	for i, want := range w.Desired.Spec.Spec.Hosts {
		id := "host-" + want.Name
		there := slices.IndexFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == id })
		switch {
		case want.Match.Agent == "" || want.Name == w.Absent:
		case there >= 0 && w.Hub:
			w.Observed.Hosts[there].Settings[model.SettingApproved] = model.ValueOf(true)
		case there < 0:
			host := Machine(want.Name, fmt.Sprintf("52:54:00:00:08:%02x", i), i)
			host.InfraEnvID, host.Reserved, host.ClusterID, host.Registered = "pool", want.Match.Agent, "", w.Observed.At
			host.State, host.Status = model.HostUnbound, "known-unbound"
			if w.Hub {
				host.Settings[model.SettingApproved] = model.ValueOf(false)
			}
			w.Observed.Hosts = append(w.Observed.Hosts, host)
		}
	}
}

// Machine is a host that has sent its inventory.
func Machine(name, mac string, index int) model.Host {
	disks := []model.Disk{
		{ID: "/dev/disk/by-id/wwn-0x5000c500000000" + fmt.Sprintf("%02d", index), Path: "/dev/sda", Name: "sda",
			WWN: fmt.Sprintf("0x5000c500000000%02d", index), Type: "HDD", SizeBytes: 120e9, Eligible: true},
		{ID: "/dev/disk/by-id/data" + fmt.Sprint(index), Path: "/dev/nvme0n1", Name: "nvme0n1", Type: "SSD", SizeBytes: 960e9,
			Eligible: true},
		{ID: "/dev/sr0", Path: "/dev/sr0", Name: "sr0", Media: true},
	}
	return model.Host{
		ID: "host-" + name, ClusterID: "cluster-1", Hostname: "localhost", State: model.HostDiscovering, Status: "discovering",
		Role: spec.Auto, Settings: model.Settings{}, Disk: disks[0].ID,
		Inventory: model.Inventory{
			Known: true, Hostname: "localhost", Serial: "SN" + name, Disks: disks,
			Interfaces: []model.Interface{{Name: "eno1", MAC: mac, Up: true,
				Addresses: []string{fmt.Sprintf("192.168.127.%d/24", 10+index)}}},
		},
	}
}

// Sample is a cluster of the given size.
func Sample(controlPlane, workers int) *spec.Cluster {
	c := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: "lab"}}
	s := &c.Spec
	s.OpenShift.Version, s.BaseDomain = "4.20", "example.com"
	s.PullSecret = spec.NewSecret(`{"auths":{}}`).Source()
	s.Topology.ControlPlane, s.Topology.Workers = &controlPlane, &workers
	for i := range controlPlane {
		s.Hosts = append(s.Hosts, spec.Host{Name: fmt.Sprintf("cp-%d", i), Hostname: fmt.Sprintf("cp-%d", i), Role: spec.ControlPlane,
			Match: spec.Match{MAC: fmt.Sprintf("52:54:00:00:00:%02x", i)}})
	}
	for i := range workers {
		s.Hosts = append(s.Hosts, spec.Host{Name: fmt.Sprintf("worker-%d", i), Hostname: fmt.Sprintf("worker-%d", i), Role: spec.Worker,
			Match: spec.Match{MAC: fmt.Sprintf("52:54:00:00:01:%02x", i)}})
	}
	if controlPlane > 1 {
		s.Network.VIPs = spec.VIPs{API: []string{"192.168.127.100"}, Ingress: []string{"192.168.127.101"}}
	}
	return c
}

// AnyCluster is some cluster.yaml.
func AnyCluster(random *rand.Rand) *spec.Cluster {
	c := Sample([]int{1, 3, 3, 5}[random.IntN(4)], random.IntN(4))
	maybe := func() bool { return random.IntN(3) == 0 }
	if maybe() {
		c.Spec.InfraEnv.Bind = spec.BindLate
	}
	if maybe() {
		c.Spec.Network.Defaults.NTP = []string{"ntp.example.com"}
	}
	if maybe() {
		c.Spec.Proxy = spec.Proxy{HTTP: "http://user:secret@proxy.example.com:3128"}
	}
	if maybe() {
		c.Spec.Network.MTU = 1400
	}
	if maybe() {
		c.Spec.FIPS = new(bool)
	}
	if maybe() {
		c.Spec.IgnoreValidations.Hosts = []string{"ntp-synced"}
	}
	if maybe() {
		c.Spec.Discovery.KernelArgs = []string{"console=ttyS0,115200"}
	}
	if maybe() {
		c.Spec.Overrides.Host = map[string]any{"new_field": true}
	}
	for i := range c.Spec.Hosts {
		if h := &c.Spec.Hosts[i]; c.Spec.InfraEnv.Bind != spec.BindLate && maybe() {
			h.Match = spec.Match{InfraEnv: "env-of-" + h.Name, MAC: []string{"", h.Match.MAC}[random.IntN(2)]}
		}
		if h := &c.Spec.Hosts[i]; random.IntN(6) == 0 {
			h.Match, h.Hostname = spec.Match{Agent: "pool/host-" + h.Name}, []string{"", h.Name}[random.IntN(2)]
		}
		if maybe() {
			c.Spec.Hosts[i].Labels = map[string]string{"rack": "a"}
		}
		if maybe() {
			c.Spec.Hosts[i].Fencing = &spec.Fencing{Address: "https://bmc.example.com"}
			c.Spec.Hosts[i].IgnitionEndpoint = &spec.HostIgnitionEndpoint{Headers: map[string]string{"X-Machine": "a"}}
		}
		if maybe() {
			c.Spec.Hosts[i].Disk.Hints.DeviceName = []string{"/dev/sda", "/dev/nvme0n1", "/dev/none"}[random.IntN(3)]
		}
	}
	return c
}

// Disturb changes things behind oaictl's back.
func (w *World) Disturb(random *rand.Rand) {
	o := &w.Observed
	states := []model.HostState{
		model.HostUnbound, model.HostBinding, model.HostDiscovering, model.HostDisconnected, model.HostBlocked, model.HostReady,
		model.HostPreparing, model.HostInstalling, model.HostNeedsUser, model.HostResetting, model.HostInstalled, model.HostFailed,
		model.HostUnknown,
	}
	for i := range o.Hosts {
		if random.IntN(5) == 0 {
			o.Hosts[i].State = states[random.IntN(len(states))]
		}
		if random.IntN(6) == 0 {
			o.Hosts[i].Inventory = model.Inventory{}
		}
	}
	if o.Cluster == nil {
		return
	}
	if random.IntN(4) == 0 {
		all := []model.ClusterState{
			model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady, model.ClusterPreparing,
			model.ClusterInstalling,
			model.ClusterNeedsUser, model.ClusterFinalizing, model.ClusterInstalled, model.ClusterFailed, model.ClusterCancelled,
			model.ClusterAddingHosts, model.ClusterUnknown,
		}
		o.Cluster.State = all[random.IntN(len(all))]
	}
	if random.IntN(4) == 0 {
		o.Cluster.Settings[model.SettingAPIVIPs] = model.ValueOf([]string{"192.168.127.77"})
	}
	if random.IntN(4) == 0 {
		o.Others = append(o.Others, model.ClusterRef{ID: "other", Name: "lab", BaseDomain: "example.com", Owned: random.IntN(2) == 0,
			Run: "run1", Empty: random.IntN(2) == 0})
	}
	if random.IntN(8) == 0 {
		o.Cluster.Owned, o.Cluster.MarkedAnytime, w.Desired.Options.Adopt = false, w.Hub, o.Cluster.ID
	}
	if random.IntN(4) == 0 && len(o.InfraEnvs) > 0 {
		o.InfraEnvs[0].Settings[model.SettingKernelArguments] = model.ValueOf([]string{"another=client"})
		o.InfraEnvs[0].Image.Expires = o.At
	}
	if random.IntN(8) == 0 && len(o.InfraEnvs) > 0 {
		second := o.InfraEnvs[0]
		second.ID, second.ThisRun, second.Created = "second", true, o.At
		o.InfraEnvs = slices.Insert(o.InfraEnvs, 1, second)
	}
	if random.IntN(8) == 0 {
		o.Orphans = []model.InfraEnv{{ID: "orphan", Name: "lab", ClusterID: "deleted"}}
	}
	if random.IntN(4) == 0 {
		stranger := Machine("stranger", "52:54:00:ff:ff:ff", 90)
		if w.Hub {
			stranger.Settings[model.SettingApproved] = model.ValueOf(false)
		}
		o.Hosts = append(o.Hosts, stranger)
		w.Desired.Spec.Spec.AcceptUnknownHosts = random.IntN(3) == 0
	}
	if w.Hub {
		w.disturbHub(random)
	}
}

// Lose takes the service's records of hosts away.
func (w *World) Lose(names ...string) {
	w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool {
		return slices.Contains(names, strings.TrimPrefix(h.ID, "host-"))
	})
}

// Returned registers a machine of the file once more, from an image for hosts that
// are added.
func (w *World) Returned(name string) {
	i := slices.IndexFunc(w.Desired.Spec.Spec.Hosts, func(h spec.Host) bool { return h.Name == name })
	host := Machine(name, w.Desired.Spec.Spec.Hosts[i].Match.MAC, i)
	host.ID, host.Day2, host.State, host.Role, host.InfraEnvID = "again-"+name, true, model.HostReady, spec.ControlPlane,
		w.Observed.InfraEnvs[0].ID
	host.Settings = model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf(name)}
	w.Observed.Hosts = append(w.Observed.Hosts, host)
}

// Fail has some checks fail on every host.
func (w *World) Fail(ids ...string) {
	for i := range w.Observed.Hosts {
		h := &w.Observed.Hosts[i]
		h.State = model.HostBlocked
		for _, id := range ids {
			h.Validations = append(h.Validations, model.Validation{ID: id, Category: "network", Status: "failure",
				Message: "not so on " + h.ID})
		}
	}
}

// Has is an InfraEnv of the cluster from before its installation.
func (w *World) Has(name string) *model.InfraEnv {
	env := *w.InfraEnv("infraenv-lab")
	env.ID, env.Name, env.Settings = "infraenv-"+name, name, model.Settings{model.SettingVersion: model.ValueOf("4.20")}
	w.Observed.InfraEnvs = append(w.Observed.InfraEnvs, env)
	return &w.Observed.InfraEnvs[len(w.Observed.InfraEnvs)-1]
}
