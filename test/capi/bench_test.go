//go:build e2e

package capi

import (
	"fmt"
	"maps"
	"net/netip"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/management"
)

// BenchmarkManyClusters installs fifty clusters of three control plane machines and two workers at once, and then keeps
// reconciling them. One API server is the management cluster, the hub and all workload clusters (so that none of them
// takes further nodes: it calls itself one of them), and the providers are a process of their own. Its memory and
// processor time are reported.
func BenchmarkManyClusters(b *testing.B) {
	for b.Loop() {
		f := newFleet(b, 50, 2, fleetSpeed)
		began := time.Now()
		p := f.startApart(apartConfig{Follows: true})
		f.orderAll()
		f.untilInstalled()
		f.report(time.Since(began).Seconds(), "s/install")
		f.reportMemory(p, "")
		f.report(p.cpu().Seconds(), "cpu-s")
		f.reportWrites(p.take().Writes)
		f.restAndResync()
	}
}

// BenchmarkSteadyState measures the providers with five hundred Machines of twenty clusters in which nothing changes,
// on a hub and over REST.
func BenchmarkSteadyState(b *testing.B) {
	b.Run("hub", func(b *testing.B) { benchmarkSteadyState(b, false) })
	b.Run("REST", func(b *testing.B) { benchmarkSteadyState(b, true) })
}

func benchmarkSteadyState(b *testing.B, overREST bool) {
	for b.Loop() {
		f := newFleet(b, 20, 22, hasty)
		f.overREST = overREST
		f.startApart(apartConfig{Follows: true})
		f.orderAll()
		f.untilInstalled()
		f.restAndResync()
	}
}

// What is measured takes two minutes: first the providers rest, then they look at all objects anew. That they do after
// two periods, give or take a tenth: when the first ends, their watches have not been there for as long.
const (
	settling  = 90 * time.Second
	resting   = 70 * time.Second
	resyncing = 50 * time.Second
	resync    = 90 * time.Second
)

// restAndResync starts the providers anew and measures what they take while nothing changes. What is played around them
// lives as fast as life meanwhile.
func (f *fleet) restAndResync() {
	f.b.Helper()
	f.passes(30 * time.Minute) // what follows an installation is over then
	f.stop()
	clock.SlowDown(f.clock)

	p := f.startApart(apartConfig{SyncPeriod: resync})
	f.rest(settling) // it has read everything, and seen it once
	settled := p.take()
	began := p.cpu()
	f.rest(resting)
	rested, before := p.cpu(), p.take()
	f.rest(resyncing)
	resynced, after := p.cpu(), p.take()
	atRest, machines := (rested-began).Seconds()/resting.Seconds(), len(f.names)*(3+f.workers) // of a core
	f.report(100*atRest, "%core-at-rest")
	f.report(float64(before.Reconciles-settled.Reconciles), "reconciles-at-rest")
	f.report(1000*60*atRest/float64(machines), "cpu-ms/Machine-minute-at-rest")
	f.report((resynced-rested).Seconds()-atRest*resyncing.Seconds(), "cpu-s/resync")
	f.reportMemory(p, "-at-rest")
	for _, written := range []map[string]int{before.Writes, after.Writes} {
		if len(written) > 0 {
			f.b.Logf("written is %v", written)
		}
	}
	f.report(float64(sum(slices.Collect(maps.Values(before.Writes)))+sum(slices.Collect(maps.Values(after.Writes)))), "writes-at-rest")
	if n := after.Reconciles - before.Reconciles; n < machines {
		f.b.Errorf("in the time of the resync there were %d reconciles", n)
	}
	f.stop()
}

// BenchmarkFirstObject measures the time from the provisioning of the infrastructure of a Cluster of three and two
// machines to the first object of its installation.
func BenchmarkFirstObject(b *testing.B) {
	for b.Loop() {
		f := newFleet(b, 1, 2, fleetSpeed)
		f.startApart(apartConfig{Follows: true})
		watcher := must.Get(client.NewWithWatch(f.Config, client.Options{Scheme: f.client.Scheme()}))(b)
		first := func(list client.ObjectList, is func(runtime.Object) bool) <-chan time.Time {
			w := must.Get(watcher.Watch(b.Context(), list, client.InNamespace(f.namespace)))(b)
			at := make(chan time.Time, 1)
			go func() {
				defer w.Stop()
				for event := range w.ResultChan() {
					if is(event.Object) {
						at <- time.Now()
						return
					}
				}
			}()
			return at
		}
		deployments := &unstructured.UnstructuredList{}
		deployments.SetAPIVersion("hive.openshift.io/v1")
		deployments.SetKind("ClusterDeploymentList")
		provisioned := first(&clusterv1.ClusterList{}, func(o runtime.Object) bool {
			c, is := o.(*clusterv1.Cluster)
			return is && ptr.Deref(c.Status.Initialization.InfrastructureProvisioned, false)
		})
		machine := first(&clusterv1.MachineList{}, func(o runtime.Object) bool {
			m, is := o.(*clusterv1.Machine)
			return is && m.Labels[clusterv1.MachineControlPlaneNameLabel] != ""
		})
		deployment := first(deployments, func(runtime.Object) bool { return true })
		f.orderAll()
		began := <-provisioned
		b.ReportMetric((<-machine).Sub(began).Seconds(), "s/Machine")
		b.ReportMetric((<-deployment).Sub(began).Seconds(), "s/ClusterDeployment")
		f.stop()
	}
}

func sum[N int | time.Duration](all []N) (total N) {
	for _, n := range all {
		total += n
	}
	return total
}

// fleet is a rig with many clusters.
type fleet struct {
	*rig
	b       *testing.B
	names   []string
	workers int // of each
}

// How much faster than life what is played around the providers runs. The faster it is where two cores do not keep up,
// the more hours clusters live through while they are installed, and what each hour brings is counted as well.
const (
	fleetSpeed = 3
	hasty      = 10 // where the installation itself is not measured
)

// newFleet makes ready for so many clusters of three control plane machines and some workers.
func newFleet(b *testing.B, clusters, workers int, speed float64) *fleet {
	b.Helper()
	return newFleetOf(b, clusters, workers, speed, (*rig).connect, management.Config{})
}

// newFleetOf does so for providers whose kinds connect installs, amid a site with more than the usual.
func newFleetOf(b *testing.B, clusters, workers int, speed float64, connect func(*rig), around management.Config) *fleet {
	b.Helper()
	if goruntime.GOOS != "linux" {
		b.Skip("what a process has of memory and processor is asked of Linux")
	}
	m := kubetest.StartManagement(b, kubetest.ManagementConfig{}) // where nothing is left of others
	r := &rig{Management: m, t: b, namespace: m.Namespace(b), clock: clock.Scaled(speed), writes: &writes{count: map[string]int{}}}
	f := &fleet{rig: r, b: b, workers: workers}
	connect(r)
	network := host.Network{V4: netip.MustParsePrefix("192.168.0.0/16")}
	for i := range clusters {
		f.names = append(f.names, fmt.Sprintf("c%02d", i))
		for _, vip := range f.addresses(i) {
			network.Avoid = append(network.Avoid, netip.MustParseAddr(vip))
		}
	}
	around.Seed, around.Shared, around.Network = 1, m.Config, network
	r.site = r.surround(around)
	must.Do(b, management.MakeHosts(b.Context(), m.Config, r.namespace, "rack", clusters*(3+workers)))
	return f
}

// addresses are the virtual ones of a cluster.
func (f *fleet) addresses(i int) []string {
	return []string{fmt.Sprintf("192.168.250.%d", 2*i+1), fmt.Sprintf("192.168.250.%d", 2*i+2)}
}

func (f *fleet) orderAll() {
	f.b.Helper()
	for i, name := range f.names {
		vips := f.addresses(i)
		f.orderAs("ha", f.workers, map[string]string{"CLUSTER_NAME": name, "OPENSHIFT_API_VIP": vips[0], "OPENSHIFT_INGRESS_VIP": vips[1]})
	}
}

// untilInstalled waits until all clusters are Available, with all their workers.
func (f *fleet) untilInstalled() {
	f.b.Helper()
	f.until("all clusters are Available", 3*time.Hour, func() (bool, string) {
		list := &clusterv1.ClusterList{}
		f.list(list)
		ready, why := 0, map[string]int{}
		for i := range list.Items {
			c := &list.Items[i]
			switch {
			case !conditions.IsTrue(c, clusterv1.ClusterAvailableCondition):
				why[conditions.GetMessage(c, clusterv1.ClusterAvailableCondition)]++
			case c.Status.Workers == nil || c.Status.Workers.ReadyReplicas == nil || *c.Status.Workers.ReadyReplicas < int32(f.workers):
				why["workers are missing"]++
			default:
				ready++
			}
		}
		return ready == len(f.names), fmt.Sprintf("%d of %d; %.300s", ready, len(f.names), fmt.Sprint(why))
	})
}

func (f *fleet) list(list client.ObjectList) {
	f.b.Helper()
	must.Do(f.b, f.client.List(f.b.Context(), list, client.InNamespace(f.namespace)))
}

// report reports a figure, and writes it down as well: if a benchmark fails at its end, its figures would be lost
// otherwise.
func (f *fleet) report(n float64, unit string) {
	f.b.Helper()
	f.b.ReportMetric(n, unit)
	f.b.Logf("%.4g %s", n, unit)
}

// reportMemory reports the maximum memory of the providers, with and without the program: this one is larger than
// oaictl.
func (f *fleet) reportMemory(p *apart, when string) {
	f.b.Helper()
	most := p.kilobytes("VmHWM")
	f.report(float64(most<<10)/1e6, "MB"+when)
	f.report(float64((most-p.kilobytes("RssFile"))<<10)/1e6, "MB-without-program"+when)
}

// passes lets time pass on the fleet's clock.
func (f *fleet) passes(d time.Duration) {
	f.b.Helper()
	must.Do(f.b, f.clock.Sleep(f.b.Context(), d))
}

// rest lets real time pass.
func (f *fleet) rest(d time.Duration) {
	f.b.Helper()
	must.Do(f.b, clock.Real().Sleep(f.b.Context(), d))
}

// reportWrites reports how much was written for each Machine of either kind, which it returns, and for each cluster
// besides.
func (f *fleet) reportWrites(written map[string]int) (master, worker float64) {
	f.b.Helper()
	masters, workers := f.namesOfMachines()
	var forMasters, forWorkers, forClusters int
	machines := len(f.names) * (3 + f.workers)
	left := map[string]int{}
	for what, count := range written {
		words := strings.Fields(what) // POST secrets, or PATCH agents NAME
		switch {
		case len(words) == 2 && count >= machines && (words[1] == "secrets" || words[1] == "infraenvs"): // the others are kubeconfigs
			forMasters, forWorkers = forMasters+3*len(f.names), forWorkers+f.workers*len(f.names)
			forClusters += count - machines
		case len(words) == 2: // the control plane makes Machines and what they refer to
			forMasters += count
		case masters[words[2]]:
			forMasters += count
		case workers[words[2]]:
			forWorkers += count
		default:
			forClusters += count
			left[words[0]+" "+words[1]] += count
		}
	}
	clusters := float64(len(f.names))
	master, worker = float64(forMasters)/clusters/3, float64(forWorkers)/clusters/float64(f.workers)
	f.report(master, "writes/control-plane-Machine")
	f.report(worker, "writes/worker-Machine")
	f.report(float64(forClusters)/clusters, "writes/cluster")
	f.report(float64(forMasters+forWorkers+forClusters)/float64(machines), "writes/Machine-in-all")
	f.b.Logf("written for clusters: %v", left)
	return master, worker
}

// namesOfMachines are those of what is made for Machines of control planes, and for workers.
func (f *fleet) namesOfMachines() (masters, workers map[string]bool) {
	f.b.Helper()
	masters, workers = map[string]bool{}, map[string]bool{}
	list := &clusterv1.MachineList{}
	f.list(list)
	for i := range list.Items {
		m := &list.Items[i]
		of := workers
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; is {
			of = masters
		}
		of[m.Name], of[m.Spec.Bootstrap.ConfigRef.Name], of[m.Spec.InfrastructureRef.Name] = true, true, true
	}
	agents := &unstructured.UnstructuredList{}
	agents.SetAPIVersion("agent-install.openshift.io/v1beta1")
	agents.SetKind("AgentList")
	f.list(agents)
	for i := range agents.Items {
		hostname, _, _ := unstructured.NestedString(agents.Items[i].Object, "spec", "hostname")
		role, _, _ := unstructured.NestedString(agents.Items[i].Object, "spec", "role")
		if masters[hostname] || role == "master" {
			masters[agents.Items[i].GetName()] = true
		} else {
			workers[agents.Items[i].GetName()] = true
		}
	}
	return masters, workers
}
