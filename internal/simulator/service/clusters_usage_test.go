package service

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

// usage lists the names in the cluster's feature_usage, without those that every
// cluster has, and tells their data.
func (b *bench) usage() map[string]any {
	b.t.Helper()
	var uses map[string]models.Usage
	if err := json.Unmarshal([]byte(b.get()["feature_usage"].(string)), &uses); err != nil {
		b.t.Fatal(err)
	}
	names := map[string]any{}
	for name, u := range uses {
		names[name] = model.InString(u.Data)
	}
	delete(names, "Hyperthreading")
	delete(names, "OVN network type")
	return names
}

func TestFeatureUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		make fields
		then func(b *bench)
		want map[string]any
	}{
		"nothing of note": {want: map[string]any{}},
		"single node":     {make: fields{"control_plane_count": 1}, want: map[string]any{"SNO": "null"}},
		"vsphere":         {make: fields{"platform": fields{"type": "vsphere"}}, want: map[string]any{"Platform selection": `{"platform_type":"vsphere"}`}},
		"nutanix": {make: fields{"platform": fields{"type": "nutanix"}}, want: map[string]any{
			"Platform selection": `{"platform_type":"nutanix"}`, "Nutanix integration": `{"platform_type":"nutanix"}`}},
		"own network": {make: fields{"user_managed_networking": true}, want: map[string]any{"User Managed Networking With Multi Node": "null"}},
		"tags":        {make: fields{"tags": "a,b"}, want: map[string]any{"Cluster Tags": "null"}},
		"a proxy for http stands for both when the cluster is made": {
			make: fields{"http_proxy": "http://p.example.com:3128"}, want: map[string]any{"Proxy": `{"http_proxy":1,"https_proxy":1}`}},
		"of a change only what it asks for counts": {
			make: fields{"http_proxy": "http://p.example.com:3128"},
			then: func(b *bench) { b.must("PATCH", "/clusters/"+b.cluster, fields{"no_proxy": "x.example.com"}) },
			want: map[string]any{"Proxy": `{"no_proxy":1}`}},
		"overrides add up": {
			then: func(b *bench) {
				path := "/clusters/" + b.cluster + "/install-config"
				b.must("PATCH", path, model.InString(`{"fips":true}`))
				b.must("PATCH", path, model.InString(`{"networking":{"networkType":"Calico"}}`))
				b.must("PATCH", path, model.InString(`{}`))
			},
			want: map[string]any{"FIPS": "null", "Install Config Overrides": `{"fips":true,"networking networkType":true}`}},
		"an infra-env's Ignition and kernel arguments": {
			then: func(b *bench) {
				b.must("PATCH", "/infra-envs/"+b.infraEnv, fields{"ignition_config_override": `{"ignition":{"version":"3.2.0"}}`,
					"kernel_arguments": []fields{{"operation": "append", "value": "p1"}}})
			},
			want: map[string]any{"Ignition Config Override": `{"infra-env":true}`, "discovery kernel arguments": "null"}},
		"a host's name": {
			then: func(b *bench) {
				m := b.boot()
				b.pass(time.Minute)
				b.must("PATCH", m.path(), fields{"host_name": "named"})
			},
			want: map[string]any{"Requested hostname": `{"host_count":1}`}},
		"the last manifest is taken away": {
			then: func(b *bench) {
				path := "/clusters/" + b.cluster + "/manifests"
				b.must("POST", path, fields{"file_name": "a.yaml", "content": "YTogYgo="})
				b.must("DELETE", path+"?file_name=a.yaml", nil)
			},
			want: map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, tc.make)
			if tc.then != nil {
				tc.then(b)
			}
			if got := b.usage(); !maps.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, slices.Sorted(maps.Keys(tc.want)))
			}
		})
	}
}
