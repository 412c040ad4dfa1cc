package service

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"
)

// TestSystemManifests stand beside the user's once an installation was prepared, and go
// with its reset.
func TestSystemManifests(t *testing.T) {
	machines := []string{
		"50-masters-chrony-configuration.yaml", "50-masters-iscsi-nic-reapply.yaml", "50-workers-chrony-configuration.yaml", "50-workers-iscsi-nic-reapply.yaml",
	}
	const scheduler = "cluster-scheduler-02-config.yml.patch_ai_set_masters_schedulable"
	for name, tc := range map[string]struct {
		asked fields
		hosts int
		more  []string
	}{
		"with workers":        {nil, 5, nil},
		"a single node":       {fields{"control_plane_count": 1, "api_vips": nil, "ingress_vips": nil}, 1, []string{scheduler, "dnsmasq-bootstrap-in-place.yaml"}},
		"without workers":     {nil, 3, []string{scheduler}},
		"encrypted":           {fields{"disk_encryption": fields{"enable_on": "masters", "mode": "tpmv2"}}, 5, []string{"99-openshift-master-tpm-encryption.yaml"}},
		"encrypted all":       {fields{"disk_encryption": fields{"enable_on": "all", "mode": "tpmv2"}}, 5, []string{"99-openshift-master-tpm-encryption.yaml", "99-openshift-worker-tpm-encryption.yaml"}},
		"schedulable masters": {fields{"schedulable_masters": true}, 5, []string{scheduler}},
		"an operator": {fields{"olm_operators": []fields{{"name": "nmstate"}}}, 5, []string{
			"50_openshift-nmstate_ns.yaml", "50_openshift-nmstate_operator_group.yaml", "50_openshift-nmstate_subscription.yaml", "olm_operator_manifests.yaml",
		}},
		"an operator of virtual machines": {fields{"olm_operators": []fields{{"name": "cnv"}}}, 5, []string{
			"50_openshift-cnv_masters_schedstats.yaml", "50_openshift-cnv_ns.yaml", "50_openshift-cnv_operator_group.yaml", "50_openshift-cnv_subscription.yaml",
			"50_openshift-cnv_workers_schedstats.yaml", "olm_operator_manifests.yaml",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, vips([]string{"10.0.0.100"}, []string{"10.0.0.101"}, tc.asked))
			for range tc.hosts {
				b.boot()
			}
			path := "/clusters/" + b.cluster
			b.must("POST", path+"/manifests", fields{"folder": "manifests", "file_name": "mine.yaml", "content": base64.StdEncoding.EncodeToString([]byte("a: b\n"))})
			list := func(query string) (names []string) {
				t.Helper()
				var all []models.Manifest
				if err := json.Unmarshal([]byte(b.must("GET", path+"/manifests"+query, nil).text), &all); err != nil {
					t.Fatal(err)
				}
				for _, m := range all {
					source, folder := "system", "openshift"
					if m.FileName == "mine.yaml" {
						source, folder = "user", "manifests"
					}
					if m.ManifestSource != source || m.Folder != folder {
						t.Errorf("%+v", m)
					}
					names = append(names, m.FileName)
				}
				slices.Sort(names)
				return names
			}
			const all = "?include_system_generated=true"
			if got := list(all); len(got) != 1 {
				t.Errorf("before the preparation: %v", got)
			}
			b.install()
			want := slices.Sorted(slices.Values(slices.Concat(machines, tc.more, []string{"mine.yaml"})))
			if got := list(all); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if got := list(""); len(got) != 1 {
				t.Errorf("without the service's own: %v", got)
			}
			b.must("GET", path+"/manifests/files?folder=openshift&file_name="+machines[0], nil)
			later := b.call("GET", path+"/downloads/files?file_name=custom_manifests.json", nil)
			if has := strings.HasPrefix(name, "an operator"); later.status != map[bool]int{true: 200, false: 409}[has] {
				t.Errorf("custom_manifests.json: %d %s", later.status, later.text)
			}
			b.must("POST", path+"/actions/cancel", nil)
			b.must("POST", path+"/actions/reset", nil)
			b.pass(10 * time.Second)
			if got := list(all); len(got) != 1 {
				t.Errorf("after the reset: %v", got)
			}
		})
	}
}
