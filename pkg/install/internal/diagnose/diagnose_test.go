package diagnose_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/internal/diagnose"
)

// host and cluster make checks that have failed for long; pending ones are
// made by soFar.
func host(name, id string) diagnose.Check {
	return diagnose.Check{Subject: explain.SubjectHost, Host: name, ID: id, Status: "failure", Message: id + " fails", Seen: 9}
}

func cluster(id string) diagnose.Check {
	return diagnose.Check{Subject: explain.SubjectCluster, ID: id, Status: "failure", Message: id + " fails", Seen: 9}
}

func pending(c diagnose.Check) diagnose.Check {
	c.Status, c.Message = "pending", "not yet"
	return c
}

func once(c diagnose.Check) diagnose.Check {
	c.Seen = 1
	return c
}

// short writes a report in short: what it is, about which hosts, and what was left out.
func short(r diagnose.Report) []string {
	var lines []string
	for _, part := range []struct {
		name   string
		causes []diagnose.Cause
	}{{"cause", r.Causes}, {"wait", r.Waits}, {"warning", r.Warnings}} {
		for _, c := range part.causes {
			line := part.name
			if c.Pass != "" {
				line += "(" + string(c.Pass) + ")"
			}
			line += " " + string(c.Subject) + "/" + c.ID + " cure=" + string(c.Cure)
			if len(c.Hosts) > 0 {
				line += " on " + strings.Join(c.Hosts, ",")
			}
			for i, ref := range c.Consequences {
				if i == 0 {
					line += " hence"
				}
				line += " " + ref.String()
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestExplain(t *testing.T) {
	cases := []struct {
		name string
		in   diagnose.Input
		want []string
	}{
		{"nothing fails", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			{Subject: explain.SubjectHost, Host: "cp-0", ID: "connected", Status: "success"},
			{Subject: explain.SubjectHost, Host: "cp-0", ID: "lvm-requirements-satisfied", Status: "disabled"},
			{Subject: explain.SubjectHost, Host: "cp-0", ID: "mtu-valid", Status: "success-suppress-output"},
		}}, nil},

		{"one cause on many hosts is told once", diagnose.Input{Registered: 11, Checks: []diagnose.Check{
			host("w-10", "api-domain-name-resolved-correctly"), host("w-2", "api-domain-name-resolved-correctly"),
			host("w-1", "api-domain-name-resolved-correctly"), cluster("all-hosts-are-ready-to-install"),
		}}, []string{
			"cause host/api-domain-name-resolved-correctly cure=machine on w-1,w-2,w-10 hence cluster/all-hosts-are-ready-to-install",
		}},

		{"a missing machine network", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			cluster("machine-cidr-defined"), cluster("all-hosts-are-ready-to-install"),
			pending(cluster("no-cidrs-overlapping")), pending(cluster("networks-same-address-families")),
			pending(cluster("api-vips-valid")), pending(cluster("ingress-vips-valid")),
			host("a", "machine-cidr-defined"), pending(host("a", "belongs-to-machine-cidr")),
			pending(host("a", "belongs-to-majority-group")), pending(host("a", "no-iscsi-nic-belongs-to-machine-cidr")),
			host("b", "machine-cidr-defined"),
		}}, []string{
			"cause cluster/machine-cidr-defined cure=file hence cluster/all-hosts-are-ready-to-install cluster/api-vips-valid" +
				" cluster/ingress-vips-valid cluster/networks-same-address-families cluster/no-cidrs-overlapping" +
				" host/belongs-to-machine-cidr host/belongs-to-majority-group host/machine-cidr-defined" +
				" host/no-iscsi-nic-belongs-to-machine-cidr",
		}},

		{"the same, a moment after the hosts came", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			once(cluster("machine-cidr-defined")), once(cluster("all-hosts-are-ready-to-install")),
			once(host("a", "machine-cidr-defined")), once(pending(host("a", "belongs-to-machine-cidr"))),
		}}, []string{
			"wait(transient) cluster/machine-cidr-defined cure=file hence cluster/all-hosts-are-ready-to-install" +
				" host/belongs-to-machine-cidr host/machine-cidr-defined",
		}},

		{"missing virtual addresses go before the machine network", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			cluster("machine-cidr-defined"), cluster("api-vips-defined"), cluster("ingress-vips-defined"),
		}}, []string{
			"cause cluster/api-vips-defined cure=file hence cluster/machine-cidr-defined",
			"cause cluster/ingress-vips-defined cure=file hence cluster/machine-cidr-defined",
		}},

		{"no host yet", diagnose.Input{Expected: 3, Roles: diagnose.Roles{Wanted: 3}, Checks: []diagnose.Check{
			cluster("all-hosts-are-ready-to-install"), cluster("sufficient-masters-count"),
			pending(cluster("api-vips-valid")), pending(cluster("ingress-vips-valid")), pending(cluster("machine-cidr-defined")),
			cluster("pull-secret-set"),
		}}, []string{
			"cause cluster/pull-secret-set cure=file",
			"wait(hosts) cluster/no-hosts cure=machine hence cluster/all-hosts-are-ready-to-install cluster/api-vips-valid" +
				" cluster/ingress-vips-valid cluster/machine-cidr-defined cluster/sufficient-masters-count",
		}},

		{"a single node without a machine network, before it boots", diagnose.Input{
			Expected: 1, Roles: diagnose.Roles{Wanted: 1}, Checks: []diagnose.Check{
				cluster("machine-cidr-defined"), pending(cluster("no-cidrs-overlapping")), cluster("sufficient-masters-count"),
			},
		}, []string{
			"cause cluster/machine-cidr-defined cure=file hence cluster/no-cidrs-overlapping",
			"wait(hosts) cluster/no-hosts cure=machine hence cluster/sufficient-masters-count",
		}},

		{"hosts measure each other", diagnose.Input{Registered: 2, Checks: []diagnose.Check{
			pending(host("a", "belongs-to-majority-group")), pending(host("b", "belongs-to-majority-group")),
			pending(host("a", "mtu-valid")), pending(host("b", "dns-wildcard-not-configured")),
			cluster("all-hosts-are-ready-to-install"), once(host("a", "ntp-synced")),
		}}, []string{
			"wait(pending) host/belongs-to-majority-group cure=machine on a,b hence cluster/all-hosts-are-ready-to-install" +
				" host/mtu-valid",
			"wait(pending) host/dns-wildcard-not-configured cure=machine on b hence cluster/all-hosts-are-ready-to-install",
			"warning host/ntp-synced cure=machine on a",
		}},

		{"a host joins: the majority is gone for one look", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			once(host("a", "belongs-to-majority-group")), once(host("b", "belongs-to-majority-group")),
		}}, []string{"wait(transient) host/belongs-to-majority-group cure=machine on a,b"}},

		{"a host is cut off and another joins", diagnose.Input{Registered: 4, Checks: []diagnose.Check{
			host("a", "belongs-to-majority-group"), once(host("b", "belongs-to-majority-group")),
			host("a", "sufficient-network-latency-requirement-for-role"),
		}}, []string{
			"cause host/belongs-to-majority-group cure=machine on a hence host/sufficient-network-latency-requirement-for-role",
			"wait(transient) host/belongs-to-majority-group cure=machine on b",
		}},

		{"a host in another network cuts nobody else off", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			host("a", "belongs-to-majority-group"), host("b", "belongs-to-majority-group"), host("b", "mtu-valid"), host("c", "belongs-to-machine-cidr"),
			host("c", "belongs-to-majority-group"),
		}}, []string{
			"cause host/belongs-to-machine-cidr cure=machine on c hence host/belongs-to-majority-group host/mtu-valid",
		}},

		{"a host that does not answer cuts nobody else off", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			host("a", "belongs-to-majority-group"), host("b", "belongs-to-majority-group"), host("c", "connected"),
		}}, []string{"cause host/connected cure=machine on c hence host/belongs-to-majority-group"}},

		{"no NTP is a warning", diagnose.Input{Registered: 1, Checks: []diagnose.Check{host("a", "ntp-synced")}},
			[]string{"warning host/ntp-synced cure=machine on a"}},

		{"no NTP is a cause once clocks differ", diagnose.Input{Registered: 2, Checks: []diagnose.Check{
			host("a", "ntp-synced"), cluster("ntp-server-configured"),
		}}, []string{"cause host/ntp-synced cure=machine on a hence cluster/ntp-server-configured"}},

		{"a warning does not keep hosts from being ready", diagnose.Input{Registered: 2, Checks: []diagnose.Check{
			host("a", "ntp-synced"), cluster("all-hosts-are-ready-to-install"),
		}}, []string{
			"wait(service) cluster/all-hosts-are-ready-to-install cure=wait",
			"warning host/ntp-synced cure=machine on a",
		}},

		{"consequences stay with their host", diagnose.Input{Registered: 2, Checks: []diagnose.Check{
			host("a", "has-inventory"), host("a", "has-default-route"), host("b", "has-default-route"),
		}}, []string{
			"cause host/has-default-route cure=machine on b",
			"wait(service) host/has-inventory cure=wait on a hence host/has-default-route",
		}},

		{"a host for a running cluster looks for its API", diagnose.Input{Registered: 1, Checks: []diagnose.Check{
			pending(host("w-3", "api-domain-name-resolved-correctly")), pending(host("w-3", "ignition-downloadable")),
			host("w-3", "connected"),
		}}, []string{
			"cause host/connected cure=machine on w-3 hence host/ignition-downloadable",
			"wait(pending) host/api-domain-name-resolved-correctly cure=machine on w-3",
		}},

		{"hosts are reset, without any check of theirs", diagnose.Input{Registered: 3, Checks: []diagnose.Check{
			cluster("all-hosts-are-ready-to-install"),
		}}, []string{"wait(service) cluster/all-hosts-are-ready-to-install cure=wait"}},

		{"an operator fails on hosts and cluster", diagnose.Input{Registered: 1, Checks: []diagnose.Check{
			host("a", "lvm-requirements-satisfied"), cluster("lvm-requirements-satisfied"),
		}}, []string{"cause host/lvm-requirements-satisfied cure=machine on a hence cluster/lvm-requirements-satisfied"}},

		{"ignored checks", diagnose.Input{
			Registered: 1, IgnoredHosts: []string{"has-memory-for-role"}, IgnoredCluster: []string{"all"},
			Checks: []diagnose.Check{
				host("a", "has-memory-for-role"), cluster("network-prefix-valid"), cluster("pull-secret-set"),
				host("a", "hostname-unique"),
			},
		}, []string{
			"cause cluster/pull-secret-set cure=file",
			"cause host/hostname-unique cure=file on a hence",
			"warning cluster/network-prefix-valid cure=file",
			"warning host/has-memory-for-role cure=machine on a",
		}},

		{"unknown checks are shown and hold nothing up", diagnose.Input{Registered: 1, Checks: []diagnose.Check{
			host("a", "has-soul"), pending(host("a", "has-humour")),
			{Subject: explain.SubjectHost, Host: "a", ID: "has-default-route", Status: "undecided"},
		}}, []string{
			"wait(pending) host/has-default-route cure=machine on a",
			"warning host/has-soul cure= on a",
		}},

		{"what only the file cures goes first", diagnose.Input{Registered: 1, Checks: []diagnose.Check{
			host("a", "has-default-route"), cluster("api-vips-valid"), host("a", "hostname-valid"), cluster("dns-domain-defined"),
		}}, []string{
			"cause cluster/dns-domain-defined cure=file",
			"cause host/hostname-valid cure=file on a",
			"cause cluster/api-vips-valid cure=machine",
			"cause host/has-default-route cure=machine on a",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.want {
				c.want[i] = strings.TrimSuffix(c.want[i], " hence")
			}
			if diff := cmp.Diff(c.want, short(diagnose.Explain(c.in))); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCauseHasWhatPeopleNeed(t *testing.T) {
	report := diagnose.Explain(diagnose.Input{Registered: 3, Checks: []diagnose.Check{
		{Subject: explain.SubjectHost, Host: "cp-1", ID: "has-memory-for-role", Category: "hardware", Status: "failure", Message: "8 GiB"},
		{Subject: explain.SubjectHost, Host: "cp-0", ID: "has-memory-for-role", Category: "hardware", Status: "error", Message: "cannot tell"},
		{Subject: explain.SubjectHost, Host: "cp-2", ID: "has-memory-for-role", Category: "hardware", Status: "failure", Message: "8 GiB"},
	}})
	entry, _ := explain.Validation(explain.SubjectHost, "has-memory-for-role")
	want := diagnose.Report{Causes: []diagnose.Cause{{
		ID: "has-memory-for-role", Subject: explain.SubjectHost, Category: "hardware", Status: "failure",
		Hosts: []string{"cp-0", "cp-1", "cp-2"},
		Messages: []diagnose.Message{
			{Text: "8 GiB", Hosts: []string{"cp-1", "cp-2"}}, {Text: "cannot tell", Hosts: []string{"cp-0"}},
		},
		Title: entry.Title, Meaning: entry.Meaning, Usual: entry.Cause, Check: entry.Check, Remedy: entry.Remedy,
		Field: "spec.hosts[].role", Cure: explain.CureMachine, Blocking: true, Known: true,
	}}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestMastersCount(t *testing.T) {
	cases := []struct {
		name                 string
		registered, expected int
		roles                diagnose.Roles
		want                 string // start of the line
		meaning, remedy      string // parts
	}{
		{"hosts on their way", 1, 3, diagnose.Roles{Wanted: 3, Auto: 1},
			"wait(hosts) cluster/sufficient-masters-count cure=machine", "1 of the 3 control plane hosts have registered (1 auto)", "Boot 2 more"},
		{"nobody knows how many come", 2, 0, diagnose.Roles{Wanted: 3, ControlPlane: 2},
			"cause cluster/sufficient-masters-count cure=machine", "2 of the 3", "Boot 1 more"},
		{"all there, too many workers", 5, 5, diagnose.Roles{Wanted: 3, ControlPlane: 2, Worker: 3},
			"cause cluster/sufficient-masters-count cure=file", "2 control-plane, 3 worker", "Give 1 more the role control-plane"},
		{"one too many", 4, 4, diagnose.Roles{Wanted: 3, ControlPlane: 4},
			"cause cluster/sufficient-masters-count cure=file", "4 hosts have the role control-plane, and the cluster takes exactly 3", "one of them another role"},
		{"one too many, others on their way", 4, 6, diagnose.Roles{Wanted: 3, ControlPlane: 4},
			"cause cluster/sufficient-masters-count cure=file", "exactly 3", "one of them"},
		{"two hosts for a single node", 2, 1, diagnose.Roles{Wanted: 1, Auto: 2},
			"cause cluster/sufficient-masters-count cure=file", "exactly one host, and 2 have registered", "oaictl delete host"},
		{"a worker beside a single node", 2, 2, diagnose.Roles{Wanted: 1, ControlPlane: 1, Worker: 1},
			"cause cluster/sufficient-masters-count cure=file", "exactly one host", "spec.topology"},
		{"two without an arbiter", 2, 2, diagnose.Roles{Wanted: 2, ControlPlane: 2},
			"cause cluster/sufficient-masters-count cure=machine", "arbiter", "spec.topology.fencing"},
		{"two, arbiter on its way", 2, 3, diagnose.Roles{Wanted: 2, ControlPlane: 2},
			"wait(hosts) cluster/sufficient-masters-count cure=machine", "arbiter", "third host"},
		{"enough, roles not given out yet", 5, 5, diagnose.Roles{Wanted: 3, Auto: 5},
			"wait(service) cluster/sufficient-masters-count cure=wait", "There are enough hosts (5 auto; 3 control plane hosts wanted)", "Wait"},
		{"nothing is known", 2, 0, diagnose.Roles{},
			"cause cluster/sufficient-masters-count cure=machine", "not the number that the cluster asks for", "spec.topology"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := diagnose.Explain(diagnose.Input{
				Checks:     []diagnose.Check{cluster("sufficient-masters-count")},
				Registered: c.registered, Expected: c.expected, Roles: c.roles,
			})
			if diff := cmp.Diff([]string{c.want}, short(report)); diff != "" {
				t.Fatalf("report (-want +got):\n%s", diff)
			}
			cause := append(report.Causes, report.Waits...)[0]
			if !strings.Contains(cause.Meaning, c.meaning) || !strings.Contains(cause.Remedy.String(), c.remedy) {
				t.Errorf("meaning %q, remedy %q", cause.Meaning, cause.Remedy)
			}
		})
	}
}

// TestWarningThatHoldsUp names, with its hosts, the check that a mere warning leads to.
func TestWarningThatHoldsUp(t *testing.T) {
	clock := host("b", "time-synced-between-host-and-service")
	clock.Message = "the clock of b is an hour ahead"
	report := diagnose.Explain(diagnose.Input{Registered: 2, Checks: []diagnose.Check{
		host("a", "ntp-synced"), host("b", "ntp-synced"), clock, cluster("all-hosts-are-ready-to-install"),
	}})
	if len(report.Causes) != 1 || report.Causes[0].ID != "ntp-synced" {
		t.Fatalf("%v", short(report))
	}
	want := []diagnose.Message{{Text: clock.Message, Hosts: []string{"b"}}}
	if diff := cmp.Diff(want, report.Causes[0].Holds); diff != "" {
		t.Errorf("what holds the installation up (-want +got):\n%s", diff)
	}
	if of := report.Of("a"); len(of.Causes) != 1 || len(of.Causes[0].Holds) != 0 || !slices.Equal(of.Causes[0].Hosts, []string{"a"}) {
		t.Errorf("of one host: %+v", of)
	}
}

func TestNoHostsSaysHowMany(t *testing.T) {
	in := diagnose.Input{Expected: 5, Checks: []diagnose.Check{pending(cluster("api-vips-valid"))}}
	got := diagnose.Explain(in).Waits[0]
	if !strings.Contains(got.Meaning, "None of the 5 hosts") || got.Messages != nil || got.Field != "" {
		t.Errorf("%+v", got)
	}
}

// For any checks in any order, the report is the same, every blocking check is in it, by itself or as a consequence,
// and nothing is there twice.
func TestReportIsCompleteAndStable(t *testing.T) {
	all := explain.All(explain.KindValidation)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := diagnose.Input{
			Registered: r.IntN(4), Expected: r.IntN(5),
			Roles: diagnose.Roles{Wanted: r.IntN(4), ControlPlane: r.IntN(4), Auto: r.IntN(3)},
		}
		seen := map[string]bool{}
		for range r.IntN(60) {
			e := all[r.IntN(len(all))]
			c := diagnose.Check{
				Subject: e.Subject, ID: e.Name, Seen: r.IntN(4),
				Status:  []string{"failure", "pending", "error", "success"}[r.IntN(4)],
				Message: []string{"one", "two"}[r.IntN(2)],
			}
			if e.Subject == explain.SubjectHost {
				c.Host = fmt.Sprintf("host-%d", r.IntN(12))
			}
			if key := c.Host + " " + c.ID; !seen[key] {
				seen[key] = true
				in.Checks = append(in.Checks, c)
			}
		}
		report := diagnose.Explain(in)
		complete(t, in, report)
		r.Shuffle(len(in.Checks), func(i, j int) { in.Checks[i], in.Checks[j] = in.Checks[j], in.Checks[i] })
		if diff := cmp.Diff(report, diagnose.Explain(in)); diff != "" {
			t.Fatalf("seed %d: another order, another report:\n%s", seed, diff)
		}
	}
}

func complete(t *testing.T, in diagnose.Input, report diagnose.Report) {
	t.Helper()
	told, dropped := map[string]int{}, map[explain.Ref]bool{}
	var causes []diagnose.Cause
	causes = append(append(append(causes, report.Causes...), report.Waits...), report.Warnings...)
	for _, c := range causes {
		if c.Remedy == "" || c.Title == "" || c.Meaning == "" {
			t.Errorf("%s/%s says too little: %+v", c.Subject, c.ID, c)
		}
		for _, h := range append([]string{}, c.Hosts...) {
			told[h+" "+c.ID]++
		}
		if len(c.Hosts) == 0 {
			told[" "+c.ID]++
		}
		for _, ref := range c.Consequences {
			dropped[ref] = true
		}
	}
	for what, n := range told {
		if n > 1 {
			t.Errorf("%s is told %d times", what, n)
		}
	}
	for _, c := range in.Checks {
		v, _ := explain.Validation(c.Subject, c.ID)
		ref := explain.Ref{Subject: c.Subject, ID: c.ID}
		if c.Status != "success" && v.Blocking && told[c.Host+" "+c.ID] == 0 && !dropped[ref] {
			t.Errorf("%s of %q (%s) is lost", ref, c.Host, c.Status)
		}
	}
}

func BenchmarkExplain500Hosts(b *testing.B) {
	in := diagnose.Input{Registered: 500, Checks: []diagnose.Check{cluster("all-hosts-are-ready-to-install")}}
	for i := range 500 {
		name := fmt.Sprintf("host-%d", i)
		in.Checks = append(in.Checks, host(name, "ntp-synced"), host(name, "api-domain-name-resolved-correctly"),
			host(name, "belongs-to-majority-group"), pending(host(name, "dns-wildcard-not-configured")))
	}
	for b.Loop() {
		diagnose.Explain(in)
	}
}

// What a hub reports about the objects themselves needs no host: it is reported before any has registered, and while
// the service tries again it is a wait.
func TestHubObjectsBeforeAnyHost(t *testing.T) {
	pending := diagnose.Check{Subject: explain.SubjectCluster, ID: "sufficient-masters-count", Category: "hosts-data", Status: "failure", Message: "none"}
	for status, want := range map[string]struct {
		causes, waits int
		cure          explain.Cure
	}{"failure": {1, 1, explain.CureFile}, "pending": {0, 2, explain.CureFile}} {
		check := diagnose.Check{Subject: explain.SubjectCluster, ID: explain.SpecSynced, Category: explain.CategoryKubeAPI, Status: status, Message: "no such ClusterImageSet"}
		report := diagnose.Explain(diagnose.Input{Checks: []diagnose.Check{pending, check}, Expected: 3})
		if len(report.Causes) != want.causes || len(report.Waits) != want.waits {
			t.Fatalf("%s: %+v", status, report)
		}
		found := false
		for _, cause := range append(report.Causes, report.Waits...) {
			if cause.ID == explain.SpecSynced {
				found = cause.Cure == want.cure && len(cause.Messages) == 1 && cause.Messages[0].Text == "no such ClusterImageSet"
			}
		}
		if !found {
			t.Errorf("%s: %+v", status, report)
		}
	}
}
