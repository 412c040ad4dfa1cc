package spoke

import (
	"context"
	"encoding/base64"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (s *Spoke) setUpPools(ctx context.Context) error {
	for i := range s.cluster.Pools {
		p := &s.cluster.Pools[i]
		if err := s.apply(ctx, s.cluster.renderedConfig(p), s.poolObject(p)); err != nil {
			return err
		}
	}
	return nil
}

// poolObject is a pool before its machines have been counted.
func (s *Spoke) poolObject(p *Pool) object {
	c, now := &s.cluster, metav1.NewTime(s.clock.Now())
	roles := []string{p.Name}
	labels := map[string]string{"pools.operator.machineconfiguration.openshift.io/" + p.Name: ""}
	switch p.Name {
	case master, worker, RoleArbiter:
		labels["machineconfiguration.openshift.io/mco-built-in"] = ""
		if p.Name == master {
			labels["operator.machineconfiguration.openshift.io/required-for-upgrade"] = ""
		}
	default:
		roles = append(roles, worker)
	}
	config := fields{"name": c.rendered(p.Name), "source": []any{
		fields{"apiVersion": kindMachineConfig.apiVersion(), "kind": kindMachineConfig.name, "name": "00-" + p.Name},
	}}
	spec := fields{
		"paused": slices.Contains(s.config.Trouble.PausedPools, p.Name), "configuration": config,
		"nodeSelector": fields{"matchLabels": fields{rolePrefix + p.Name: ""}},
		"machineConfigSelector": fields{"matchExpressions": []any{
			fields{"key": "machineconfiguration.openshift.io/role", "operator": "In", "values": texts(roles)},
		}},
	}
	return object{kind: kindPool, name: p.Name, labels: labels, fields: fields{
		"spec": spec,
		"status": fields{"configuration": config, "observedGeneration": 1, "conditions": []any{
			condition("RenderDegraded", "False", "", "", now),
		}},
	}}
}

// renderedConfig is the config that a pool's machines have, as far as day 2 asks for it.
func (c *Cluster) renderedConfig(p *Pool) object {
	const modeFile = 0o644
	config := fields{
		"ignition": fields{"version": "3.5.0"},
		"storage": fields{"files": []any{fields{
			"path": "/etc/mco/simulated", "mode": modeFile,
			"contents": fields{"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(p.Name))},
		}}},
	}
	if p.TPM || len(p.Tang) > 0 {
		clevis := fields{}
		if p.TPM {
			clevis["tpm2"] = true
		}
		var tang []any
		for _, server := range p.Tang {
			tang = append(tang, fields{"url": server.URL, "thumbprint": server.Thumbprint})
		}
		if tang != nil {
			clevis["tang"] = tang
		}
		storage := config["storage"].(fields)
		storage["luks"] = []any{fields{
			"name": "root", "device": "/dev/disk/by-partlabel/root", "options": []any{"--cipher", "aes-cbc-essiv:sha256"},
			"wipeVolume": true, "clevis": clevis,
		}}
		storage["filesystems"] = []any{fields{"device": "/dev/mapper/root", "format": "xfs", "label": "root", "wipeFilesystem": true}}
	}
	return object{
		kind: kindMachineConfig, name: c.rendered(p.Name),
		annotations: map[string]string{
			"machineconfiguration.openshift.io/generated-by-controller-version": digest(c.Version),
			"machineconfiguration.openshift.io/release-image-version":           c.Version,
		},
		fields: fields{"spec": fields{
			"config": config, "fips": p.FIPS, "kernelType": "default", "kernelArguments": []any{},
			"osImageURL": "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + digest("os"+c.Version) + digest("os"),
		}},
	}
}
