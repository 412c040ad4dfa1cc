package rest

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// sent is a call as the tests below expect it.
type sent struct{ call, body string }

func sentOf(calls []call) []sent {
	var out []sent
	for _, c := range calls {
		out = append(out, sent{c.String(), strings.TrimSpace(c.body)})
	}
	return out
}

// Every action sends the requests that it should, and makes the next look read what was written.
func TestActions(t *testing.T) {
	const (
		cluster = "/v2/clusters/" + clusterID
		env     = "/v2/infra-envs/" + infraEnvID
		pull    = `"pull_secret":"{\"auths\":{\"quay.io\":{\"auth\":\"dXNlcjpwYXNz\"}}}"`
	)
	host := env + "/hosts/" + hostID(0)
	value := model.ValueOf
	tests := map[string]struct {
		action model.Action
		status int
		sent   []sent
		reads  string
	}{
		"register cluster": {
			model.Action{Kind: model.RegisterCluster, Name: "lab", Settings: model.Settings{
				model.SettingVersion: value("4.20"), model.SettingAPIVIPs: value([]string{"192.168.127.100"}), model.SettingTags: value([]string{"blue"}), model.SettingControlPlane: value(3),
			}}, 201,
			[]sent{{"POST /v2/clusters", `{"api_vips":[{"ip":"192.168.127.100"}],"base_dns_domain":"example.com","high_availability_mode":"Full","name":"lab","openshift_version":"4.20",` + pull + `,"tags":"oaictl,oaictl_run_r1,blue"}`}},
			"GET /v2/clusters",
		},
		"update cluster": {
			model.Action{Kind: model.UpdateCluster, Target: clusterID, Settings: model.Settings{model.SettingIngressVIPs: value([]string{}), model.SettingSchedulableControlPlane: value(false)}}, 201,
			[]sent{{"PATCH " + cluster, `{"ingress_vips":[],"schedulable_masters":false}`}},
			"GET " + cluster,
		},
		"overrides": {
			model.Action{Kind: model.SetOverrides, Target: clusterID, Settings: model.Settings{model.SettingInstallConfigOverrides: value(`{"fips":true}`)}}, 201,
			[]sent{{"PATCH " + cluster + "/install-config", `"{\"fips\":true}"`}},
			"GET " + cluster,
		},
		"ignored validations": {
			model.Action{Kind: model.IgnoreValidations, Target: clusterID, Settings: model.Settings{model.SettingIgnoredValidations: value(spec.IgnoreValidations{Hosts: []string{"ntp-synced"}})}}, 201,
			[]sent{{"PUT " + cluster + "/ignored-validations", `{"cluster-validation-ids":"[]","host-validation-ids":"[\"ntp-synced\"]"}`}},
			"GET " + cluster,
		},
		"manifest": {
			model.Action{Kind: model.UploadManifest, Target: clusterID, Name: "openshift/50-x.yaml"}, 201,
			[]sent{{"POST " + cluster + "/manifests", `{"content":"YTogYgo=","file_name":"50-x.yaml","folder":"openshift"}`}},
			"GET " + cluster + "/manifests",
		},
		"no manifest": {
			model.Action{Kind: model.RemoveManifest, Target: clusterID, Name: "openshift/50-x.yaml"}, 200,
			[]sent{{"DELETE " + cluster + "/manifests", ""}},
			"GET " + cluster + "/manifests",
		},
		"register InfraEnv": {
			model.Action{Kind: model.RegisterInfraEnv, Name: "lab", Target: clusterID, Settings: model.Settings{model.SettingArch: value("multi")}}, 201,
			[]sent{{"POST /v2/infra-envs", `{"cluster_id":"` + clusterID + `","name":"lab","openshift_version":"4.20",` + pull + `}`}},
			"GET /v2/infra-envs",
		},
		"register pool": {
			model.Action{Kind: model.RegisterInfraEnv, Name: "lab", Settings: model.Settings{model.SettingVersion: value("4.20"), model.SettingArch: value("arm64"), model.SettingImageType: value("minimal")}}, 201,
			[]sent{{"POST /v2/infra-envs", `{"cpu_architecture":"arm64","image_type":"minimal-iso","name":"lab","openshift_version":"4.20",` + pull + `}`}},
			"GET /v2/infra-envs",
		},
		"update InfraEnv": {
			model.Action{Kind: model.UpdateInfraEnv, Target: infraEnvID, Settings: model.Settings{model.SettingKernelArguments: value([]string{})}}, 201,
			[]sent{{"PATCH " + env, `{"kernel_arguments":[]}`}},
			"GET /v2/infra-envs",
		},
		"host": {
			model.Action{Kind: model.UpdateHost, Target: hostID(0), InfraEnv: infraEnvID, Name: "cp-0", Settings: model.Settings{
				model.SettingRole: value(spec.ControlPlane), model.SettingHostname: value("cp-0"), model.SettingDisk: value("/dev/a"),
				model.SettingKeepDisks: value([]string{"/dev/b"}), model.SettingInstallerArgs: value([]string{"-n"}), model.SettingIgnition: value(`{"ignition":{}}`), model.SettingFencing: value("https://10.0.0.1/x"),
			}}, 201,
			[]sent{
				{"PATCH " + host, `{"disks_selected_config":[{"id":"/dev/a","role":"install"}],"disks_skip_formatting":[{"disk_id":"/dev/b","skip_formatting":true},{"disk_id":"/dev/old","skip_formatting":false}],` +
					`"fencing_credentials":{"address":"https://10.0.0.1/x","certificate_verification":"Disabled","password":"calvin-secret","username":"root"},"host_name":"cp-0","host_role":"master"}`},
				{"PATCH " + host + "/installer-args", `{"args":["-n"]}`},
				{"PATCH " + host + "/ignition", `{"config":"{\"ignition\":{}}"}`},
			},
			"GET " + cluster + "/hosts",
		},
		"host's arguments cleared": {
			model.Action{Kind: model.UpdateHost, Target: hostID(0), InfraEnv: infraEnvID, Name: "cp-0", Settings: model.Settings{model.SettingInstallerArgs: value([]string{})}}, 201,
			[]sent{{"PATCH " + host + "/installer-args", `{"args":[]}`}},
			"GET " + cluster + "/hosts",
		},
		"install":       {model.Action{Kind: model.StartInstall, Target: clusterID}, 202, []sent{{"POST " + cluster + "/actions/install", ""}}, "GET " + cluster},
		"add hosts":     {model.Action{Kind: model.AllowAddHosts, Target: clusterID}, 202, []sent{{"POST " + cluster + "/actions/allow-add-hosts", ""}}, "GET " + cluster},
		"day-2 install": {model.Action{Kind: model.InstallHost, Target: hostID(0), InfraEnv: infraEnvID}, 202, []sent{{"POST " + host + "/actions/install", ""}}, "GET " + cluster + "/hosts"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.hosts[0]["skip_formatting_disks"] = "/dev/b,/dev/old"
			p := w.plane(t)
			observe(t, p, lab())
			w.took()
			for _, s := range test.sent {
				w.on(s.call, with(test.status, `{"id":"x"}`))
			}
			if err := p.Act(t.Context(), desired(t), test.action); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.sent, sentOf(w.took()), cmp.AllowUnexported(sent{})); diff != "" {
				t.Error(diff)
			}
			observe(t, p, lab())
			if got := paths(w.took()); !slices.Contains(got, test.reads) {
				t.Errorf("the next look read %v, not %s", got, test.reads)
			}
		})
	}
}

// What was uploaded is known without being read again.
func TestUploadIsRemembered(t *testing.T) {
	w := newWorld(t, 0)
	p := w.plane(t)
	observe(t, p, lab())
	manifests := "/v2/clusters/" + clusterID + "/manifests"
	w.on("POST "+manifests, with(201, "{}"))
	w.json("GET "+manifests, 200, []map[string]string{{"file_name": "50-x.yaml", "folder": "openshift"}})
	if err := p.Act(t.Context(), desired(t), model.Action{Kind: model.UploadManifest, Target: clusterID, Name: "openshift/50-x.yaml"}); err != nil {
		t.Fatal(err)
	}
	if o := observe(t, p, lab()); o.Cluster.Manifests["openshift/50-x.yaml"] != model.Digest([]byte("a: b\n")) {
		t.Errorf("got %v", o.Cluster.Manifests)
	}
}

// Secrets are sent again only if asked for.
func TestResendSecrets(t *testing.T) {
	w := newWorld(t, 0)
	w.on("PATCH /v2/clusters/"+clusterID, with(201, "{}"))
	p := w.plane(t)
	d := desired(t)
	again := model.Settings{model.SettingPullSecret: model.ValueOf("resend")}
	if err := p.Act(t.Context(), d, model.Action{Kind: model.UpdateCluster, Target: clusterID, Settings: again}); err != nil {
		t.Fatal(err)
	}
	if body := w.took()[0].body; !strings.Contains(body, "pull_secret") {
		t.Errorf("got %s", body)
	}
}

// Only this run's own empty duplicate is withdrawn, checked at the last moment.
func TestWithdraw(t *testing.T) {
	for name, test := range map[string]struct {
		tags    string
		hosts   int
		deleted bool
	}{
		"own and empty": {"oaictl,oaictl_run_r1", 0, true},
		"another run's": {"oaictl,oaictl_run_r2", 0, false},
		"nobody's":      {"", 0, false},
		"not empty":     {"oaictl,oaictl_run_r1", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.hosts)
			w.infraEnv, w.cluster["tags"] = nil, test.tags
			w.on("DELETE /v2/clusters/"+clusterID, with(204, ""))
			err := w.plane(t).Act(t.Context(), desired(t), model.Action{Kind: model.WithdrawCluster, Target: clusterID})
			deleted := slices.Contains(paths(w.took()), "DELETE /v2/clusters/"+clusterID)
			if deleted != test.deleted || (err == nil) != test.deleted {
				t.Errorf("deleted %v, error %v", deleted, err)
			}
		})
	}
}

// Actions that cannot be sent are refused for good, and send nothing.
func TestRefusals(t *testing.T) {
	w := newWorld(t, 0)
	p := w.plane(t)
	for name, action := range map[string]model.Action{
		"another plane's":    {Kind: model.SaveKubeconfig},
		"no such manifest":   {Kind: model.UploadManifest, Name: "manifests/none.yaml"},
		"wrong setting":      {Kind: model.UpdateHost, Settings: model.Settings{model.SettingVersion: `"4.20"`}},
		"wrong shape":        {Kind: model.UpdateCluster, Settings: model.Settings{model.SettingControlPlane: `"x"`}},
		"overrides not JSON": {Kind: model.SetOverrides, Settings: model.Settings{model.SettingInstallConfigOverrides: `"{"`}},
		"fencing, no secret": {Kind: model.UpdateHost, Name: "cp-1", Settings: model.Settings{model.SettingFencing: `"https://x"`}},
	} {
		fault := faultOf(t, p.Act(t.Context(), desired(t), action))
		if !fault.Permanent || len(w.took()) != 0 {
			t.Errorf("%s: %v", name, fault)
		}
	}
}

// A process that has observed nothing asks the service for what an action needs.
func TestActWithoutAnObservation(t *testing.T) {
	host := "/v2/infra-envs/" + infraEnvID + "/hosts/" + hostID(0)
	for call, test := range map[string]struct {
		action model.Action
		body   string
	}{
		"POST " + host + "/actions/bind": {model.Action{Kind: model.BindHost, Target: hostID(0), InfraEnv: infraEnvID}, `{"cluster_id":"` + clusterID + `"}`},
		"PATCH " + host: {
			model.Action{Kind: model.UpdateHost, Target: hostID(0), InfraEnv: infraEnvID, Name: "cp-0", Settings: model.Settings{model.SettingKeepDisks: model.ValueOf([]string{"/dev/b"})}},
			`{"disks_skip_formatting":[{"disk_id":"/dev/b","skip_formatting":true},{"disk_id":"/dev/old","skip_formatting":false}]}`,
		},
	} {
		w := newWorld(t, 1)
		w.hosts[0]["skip_formatting_disks"] = "/dev/b,/dev/old"
		w.on(call, with(200, "{}"))
		if err := w.plane(t).Act(t.Context(), desired(t), test.action); err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		if calls := sentOf(w.took()); calls[len(calls)-1] != (sent{call, test.body}) {
			t.Errorf("%s: sent %v", call, calls)
		}
	}
}

// A host is bound to no cluster that is not there.
func TestBindingNeedsACluster(t *testing.T) {
	w := newWorld(t, 0)
	d := desired(t)
	d.Spec.Metadata.Name = "unknown"
	fault := faultOf(t, w.plane(t).Act(t.Context(), d, model.Action{Kind: model.BindHost, Target: hostID(0), InfraEnv: infraEnvID}))
	if calls := sentOf(w.took()); !fault.Permanent || slices.ContainsFunc(calls, func(s sent) bool { return !strings.HasPrefix(s.call, "GET ") }) {
		t.Errorf("%v; sent %v", fault, calls)
	}
}

// A new image for the hosts of a file of kind Nodes is made for the version of their
// cluster, and not without a pull secret, which such a file may leave out.
func TestImageOfNodes(t *testing.T) {
	w := newWorld(t, 0)
	w.on("POST /v2/infra-envs", with(201, `{"id":"x"}`))
	act := func(secret spec.Source) error {
		n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: "lab", PullSecret: secret, Hosts: []spec.Host{{Name: "w-5", Match: spec.Match{Serial: "S5"}}}}}
		c, err := n.Resolve(t.Context(), ".", spec.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = c.AddedTo(spec.Target{Name: "lab", BaseDomain: "example.com", Version: "4.20.3", Arch: spec.X86}); err != nil {
			t.Fatal(err)
		}
		return w.plane(t).Act(t.Context(), &model.Desired{Spec: c}, model.Action{Kind: model.RegisterInfraEnv, Name: "lab"})
	}
	fault := faultOf(t, act(spec.Source{}))
	if calls := w.took(); len(calls) > 0 || fault.Code != model.CodeInput || !fault.Permanent || !strings.Contains(fault.Next.String(), "spec.pullSecret") {
		t.Errorf("%v; sent %v", fault, calls)
	}
	if err := act(spec.NewSecret(`{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`).Source()); err != nil {
		t.Fatal(err)
	}
	if body := w.took()[0].body; !strings.Contains(body, `"openshift_version":"4.20.3"`) || !strings.Contains(body, `"pull_secret":"{`) {
		t.Errorf("got %s", body)
	}
}

// Overrides in the service's own words win.
func TestOverridesInTheServicesWords(t *testing.T) {
	w := newWorld(t, 0)
	w.on("POST /v2/infra-envs", with(201, `{"id":"x"}`))
	d := desired(t)
	d.Spec.Spec.Overrides.InfraEnv = map[string]any{"openshift_version": "4.21", "new_field": 1}
	if err := w.plane(t).Act(t.Context(), d, model.Action{Kind: model.RegisterInfraEnv, Name: "lab"}); err != nil {
		t.Fatal(err)
	}
	if body := w.took()[0].body; !strings.Contains(body, `"openshift_version":"4.21"`) || !strings.Contains(body, `"new_field":1`) {
		t.Errorf("got %s", body)
	}
}

// What a host shows to the Ignition endpoint, and what the file says in the
// service's own words, is sent where the action says so and not otherwise.
func TestWhatIsSentWhereItIsAskedFor(t *testing.T) {
	token := spec.NewSecret("t0ken").Source()
	d := desired(t)
	d.Spec.Spec.Hosts[0].IgnitionEndpoint = &spec.HostIgnitionEndpoint{Token: &token, Headers: map[string]string{"X-A": "1"}}
	d.Spec.Spec.Overrides.Host = map[string]any{"host_name": "other"}
	asked := model.Settings{
		model.SettingHostname: model.ValueOf("cp-0"), model.SettingEndpointToken: model.ValueOf("set"),
		model.SettingEndpointHeaders: model.ValueOf(map[string]string{"X-A": "1"}), model.SettingHostExtra: model.ValueOf(d.Spec.Spec.Overrides.Host),
	}
	const name = `{"host_name":"cp-0"}`
	for _, test := range []struct {
		settings model.Settings
		body     string
	}{
		{asked, `{"host_name":"other","ignition_endpoint_http_headers":[{"key":"X-A","value":"1"}],"ignition_endpoint_token":"t0ken"}`},
		{model.Settings{model.SettingHostname: model.ValueOf("cp-0")}, name},
	} {
		w := newWorld(t, 1)
		w.on("PATCH /v2/infra-envs/"+infraEnvID+"/hosts/"+hostID(0), with(201, "{}"))
		err := w.plane(t).Act(t.Context(), d, model.Action{Kind: model.UpdateHost, Name: "cp-0", Target: hostID(0), InfraEnv: infraEnvID, Settings: test.settings})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(w.took()[0].body); got != test.body {
			t.Errorf("got %s, want %s", got, test.body)
		}
	}
	d.Spec.Spec.Hosts[0].IgnitionEndpoint = nil
	w := newWorld(t, 1)
	err := w.plane(t).Act(t.Context(), d, model.Action{Kind: model.UpdateHost, Name: "cp-0", Target: hostID(0), InfraEnv: infraEnvID, Settings: asked})
	if err == nil || len(w.took()) > 0 {
		t.Errorf("a token that the file does not have: %v", err)
	}
}

func TestCredential(t *testing.T) {
	f := newFake(t)
	path := "GET /v2/clusters/" + clusterID + "/downloads/credentials"
	p := f.plane(t)
	f.on(path, answering(with(503, ""), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("apiVersion: v1\n")) }))
	data, err := p.Credential(t.Context(), clusterID, "kubeconfig")
	if err != nil || string(data) != "apiVersion: v1\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if c := f.took()[1]; c.query != "file_name=kubeconfig" || !strings.Contains(c.header.Get("Accept"), "octet-stream") {
		t.Errorf("asked %+v", c)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"not yet": with(409, `{"code":"409","reason":"cluster is in ready state, files can be downloaded only when"}`),
		"a page":  with(200, "<html>log in"), "empty": with(200, ""), "huge": with(200, strings.Repeat("x", largestCredential+1)),
	} {
		f.on(path, answer)
		if data, err := p.Credential(t.Context(), clusterID, "kubeconfig"); err == nil || data != nil {
			t.Errorf("%s: got %d bytes", name, len(data))
		}
	}
}

// A download that broke off after it began is not begun again behind it.
func TestBrokenDownload(t *testing.T) {
	f := newFake(t)
	f.on("GET /v2/clusters/"+clusterID+"/logs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
	var out bytes.Buffer
	err := f.plane(t).Logs(t.Context(), clusterID, "", &out)
	if err == nil || out.String() != "half" || len(f.took()) != 1 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestClusterByNameOrID(t *testing.T) {
	f := newFake(t)
	const other = "33333333-3333-3333-3333-333333333333"
	f.json("GET /v2/clusters", 200, []any{clusterJSON(nil), clusterJSON(map[string]any{"id": other, "base_dns_domain": "example.org"})})
	p := f.plane(t)
	for text, want := range map[string]string{clusterID: clusterID, "lab.example.org": other, "LAB": "", "lab": ""} {
		got, err := p.ClusterByNameOrID(t.Context(), text)
		if got.ID != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %s, %v", text, got.ID, err)
		}
		if err != nil && model.FaultOf(err).Code != model.CodeNotFound {
			t.Errorf("%s: %v", text, err)
		}
		if text == "lab" && (!strings.Contains(err.Error(), clusterID) || !strings.Contains(err.Error(), other)) {
			t.Errorf("the ids are not named: %v", err)
		}
	}
}

func TestISO(t *testing.T) {
	f := newFake(t)
	image := f.URL + "/byid/x/full.iso"
	f.json("GET /v2/infra-envs/"+infraEnvID+"/downloads/image-url", 200, map[string]any{"url": image, "expires_at": "2030-05-01T16:00:00.000Z"})
	f.on("GET /byid/x/full.iso", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "full.iso", time.Time{}, strings.NewReader("0123456789"))
	})
	p := f.plane(t, func(c *Config) { c.Auth = transport.StaticToken(spec.NewSecret("tok")) })
	url, expires, err := p.DownloadISOURL(t.Context(), infraEnvID)
	if err != nil || url != image || !expires.Equal(time.Date(2030, 5, 1, 16, 0, 0, 0, time.UTC)) {
		t.Fatalf("got %s, %s, %v", url, expires, err)
	}
	f.took()
	body, size, err := p.OpenISO(t.Context(), url, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(body); err != nil || out.String() != "456789" || size != 10 {
		t.Errorf("got %q of %d, %v", out.String(), size, err)
	}
	if f.took()[0].header.Get("Authorization") != "" {
		t.Error("the service's token went to the image service")
	}
	f.json("GET /v2/infra-envs/"+infraEnvID+"/downloads/image-url", 200, map[string]any{})
	if _, _, err := p.DownloadISOURL(t.Context(), infraEnvID); err == nil {
		t.Error("no URL is no error")
	}
}

// TestProxyInOtherWordsIsTaken: what the service shows in another order is what it was
// sent, and is not sent again.
func TestProxyInOtherWordsIsTaken(t *testing.T) {
	for shown, writes := range map[string]int{"b.example.com,a.example.com": 1, "other.example.com": 3} {
		f := newFake(t)
		path := "PATCH /v2/infra-envs/" + infraEnvID
		f.json(path, 201, infraEnvJSON(map[string]any{"proxy": map[string]any{"http_proxy": "http://p:1", "https_proxy": "", "no_proxy": shown}}))
		action := model.Action{Kind: model.UpdateInfraEnv, Target: infraEnvID, Settings: model.Settings{
			model.SettingProxy: model.ValueOf(spec.Proxy{HTTP: "http://p:1", No: []string{"a.example.com", "b.example.com"}}),
		}}
		if err := f.plane(t).Act(t.Context(), desired(t), action); err != nil {
			t.Fatal(err)
		}
		if got := len(f.took()); got != writes {
			t.Errorf("no_proxy %s is shown after %d writes, want %d", shown, got, writes)
		}
	}
}
