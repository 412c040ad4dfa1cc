package rest_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// manyHosts is a cluster of n hosts with static addresses and domains that all differ, so that a few hundred hosts fill
// an image, and with Ignition of its own: the service checks whether images have room for it.
func manyHosts(t *testing.T, n int) *spec.Cluster {
	t.Helper()
	var file strings.Builder
	file.WriteString(`apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: many}
spec:
  baseDomain: example.com
  openshift: {version: "4.20"}
  pullSecret: {env: PULL}
  discovery: {ignition: {ignition: {version: 3.2.0}, storage: {files: [{path: /etc/mine, contents: {source: "data:,mine"}}]}}}
  network: {vips: {api: [10.20.0.2], ingress: [10.20.0.3]}, machine: [10.20.0.0/16], defaults: {dns: [10.20.0.1]}}
  hosts:
`)
	for i := range n {
		x, role := uint32(i)*2654435761, "worker"
		if i < 3 {
			role = "control-plane"
		}
		var domains []string
		for d := range 12 {
			sum := sha256.Sum256([]byte{byte(i >> 8), byte(i), byte(d)})
			domains = append(domains, hex.EncodeToString(sum[:30])+".example.com")
		}
		fmt.Fprintf(&file, "  - {name: host-%d, role: %s, match: {mac: \"52:54:%02x:%02x:%02x:%02x\"}, net: {ip: 10.20.%d.%d/16, gateway: 10.20.0.1, search: [%s]}}\n",
			i, role, x>>24, x>>16&0xff, x>>8&0xff, x&0xff, i/250, 4+i%250, strings.Join(domains, ", "))
	}
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) {
		return `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz","email":"a@example.com"}}}`, true
	}
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(file.String()), env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestManyStaticNetworks registers as many InfraEnvs for 800 hosts as their
// networks need: images have room for every one, and a second run writes nothing.
func TestManyStaticNetworks(t *testing.T) {
	wall := clock.Real()
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: wall, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	// Millions of bytes go over the wire. On a slow clock a request has its time for
	// them, however busy the machine is.
	plane, err := rest.New(rest.Config{URL: s.URL(), Clock: clock.Scaled(0.1)})
	if err != nil {
		t.Fatal(err)
	}
	desired := &model.Desired{Spec: manyHosts(t, 800), Options: model.Options{Run: "one"}}
	planned, err := install.InfraEnvPlans(desired.Spec, nil)
	if err != nil || len(planned) < 2 {
		t.Fatalf("%d InfraEnvs are planned: %v", len(planned), err)
	}
	installer := install.New(plane, install.Config{Clock: wall})
	result, err := installer.Detach(t.Context(), desired)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(result.Observed.InfraEnvs); got != len(planned) {
		t.Errorf("%d InfraEnvs are registered, %d were planned", got, len(planned))
	}
	for _, e := range result.Observed.InfraEnvs {
		if size := discoverySize(t, s.URL(), e.ID); size > 256<<10 || size == 0 {
			t.Errorf("%s has a discovery Ignition of %d bytes", e.Name, size)
		} else {
			t.Logf("%s: %d bytes", e.Name, size)
		}
	}
	again, _, err := installer.Plan(t.Context(), desired)
	if err != nil || len(again.Actions) > 0 {
		t.Errorf("a second run would write %v: %v", again.Actions, err)
	}
	tooMany(t, plane, desired, planned)
}

// tooMany registers one InfraEnv for the hosts of all plans, and a quarter more.
func tooMany(t *testing.T, plane *rest.Plane, desired *model.Desired, planned []model.InfraEnvPlan) {
	t.Helper()
	var all []model.StaticNetwork
	for _, p := range planned {
		var networks []model.StaticNetwork
		if err := p.Settings[model.SettingStaticNetworks].Decode(&networks); err != nil {
			t.Fatal(err)
		}
		for i, n := range networks {
			all = append(all, n)
			if i%4 > 0 {
				continue
			}
			mac := n.MACs[0]
			mac.MAC = strings.Replace(mac.MAC, "52:54", "54:52", 1)
			all = append(all, model.StaticNetwork{YAML: strings.ReplaceAll(n.YAML, n.MACs[0].MAC, mac.MAC), MACs: []spec.NIC{mac}})
		}
	}
	one := model.Action{Kind: model.RegisterInfraEnv, Name: "one", Settings: planned[0].Settings}
	one.Settings[model.SettingStaticNetworks] = model.ValueOf(all)
	if err := plane.Act(t.Context(), desired, one); err == nil || !strings.Contains(err.Error(), "over the maximum allowable size") {
		t.Errorf("one InfraEnv for %d hosts: %v", len(all), err)
	}
}

// discoverySize is how many bytes an InfraEnv's Ignition takes of its image.
func discoverySize(t *testing.T, url, id string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/assisted-install/v2/infra-envs/"+id+"/downloads/files?file_name=discovery.ign", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := io.Copy(zip, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
	_ = zip.Close()
	return out.Len()
}
