package hub

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
)

// readSettings are what an AgentClusterInstall gives back.
func (p *Plane) readSettings(ctx context.Context, live *unstructured.Unstructured, memory *cluster) (install.Settings, error) {
	made, err := read[hive.AgentClusterInstall](live)
	if err != nil {
		return nil, err
	}
	image, err := p.imageSet(ctx, imageSetName(made))
	if err != nil {
		return nil, err
	}
	ca, err := p.endpointCA(ctx, live.GetNamespace(), made, memory)
	if err != nil {
		return nil, err
	}
	return clusterSettings(made, live.GetAnnotations(), live.GetLabels(), image, ca), nil
}

// startInstall takes the hold back, and with it says how many hosts there are:
// the service waits for exactly so many.
func (a *actor) startInstall(ctx context.Context) error {
	if err := a.tidyManifests(ctx); err != nil {
		return err
	}
	_, live, err := a.current()
	if err != nil {
		return err
	}
	want := map[string]any{"spec": map[string]any{"holdInstallation": false}}
	paths := []path{{"spec", "holdInstallation"}}
	for _, key := range []install.Setting{setting.ControlPlane, setting.Workers, setting.Arbiters} {
		value, said := a.action.Settings[key]
		if !said {
			continue
		}
		var count int64
		if err := value.Decode(&count); err != nil {
			return err
		}
		way := installPaths(key)[0]
		if count == 0 && key == setting.Arbiters {
			if _, there, _ := unstructured.NestedFieldNoCopy(live.Object, way...); !there {
				continue // none is what there is where nothing is said
			}
		}
		if err := unstructured.SetNestedField(want, count, way...); err != nil {
			return err
		}
		paths = append(paths, way)
	}
	_, err = a.some(ctx, live, &unstructured.Unstructured{Object: want}, paths)
	return err
}

// nudge touches the cluster, so that the service looks at it again.
func (a *actor) nudge(ctx context.Context) error {
	_, live, err := a.current()
	if err != nil {
		return err
	}
	return a.touch(ctx, agentInstalls(), live)
}

// record does what Hive's operator would: it writes down that the cluster is
// installed, and how it is reached. The service takes more hosts only then.
func (a *actor) record(ctx context.Context) error {
	deployment, live, err := a.current()
	if err != nil {
		return err
	}
	made, err := read[hive.AgentClusterInstall](live)
	if err != nil {
		return err
	}
	if !metadataComplete(made.Spec.ClusterMetadata) {
		return &install.Fault{
			Code: install.CodeFailure, Op: "record the installation of", On: id(a.at.namespace, deployment.GetName()),
			Err: errors.New("the service has not written the cluster's metadata yet"), Next: "run the same command again in a while",
		}
	}
	metadata, _, err := unstructured.NestedMap(live.Object, "spec", "clusterMetadata")
	if err != nil {
		return err
	}
	return a.patch(ctx, clusterDeployments(), deployment, map[string]any{
		"spec": map[string]any{"installed": true, "clusterMetadata": runtime.DeepCopyJSON(metadata)},
	})
}

// allowAddHosts has the cluster take more hosts: the service does so by itself
// as soon as the ClusterDeployment says that it is installed.
func (a *actor) allowAddHosts(ctx context.Context) error {
	deployment, _, err := a.current()
	if err != nil {
		return err
	}
	cd, err := read[hive.ClusterDeployment](deployment)
	switch {
	case err != nil:
		return err
	case installed(cd):
		return nil
	case hiveRuns(deployment, cd):
		return &install.Fault{
			Code: install.CodeFailure, Op: "let hosts be added to", On: id(a.at.namespace, deployment.GetName()),
			Err: errors.New("the operator of Hive has not written down yet that the cluster is installed"), Next: "run the same command again in a while",
		}
	}
	return a.record(ctx)
}

// withdrawCluster deletes this run's own cluster after making sure that it is
// empty.
func (a *actor) withdrawCluster(ctx context.Context) error {
	deployment, _, err := a.current()
	if err != nil {
		return err
	}
	if err := a.mine(clusterDeployments(), deployment); err != nil {
		return err
	}
	own := id(deployment.GetNamespace(), deployment.GetName())
	for _, u := range a.at.store(agents()).all() {
		if host, err := hostOf(u, a.time.now()); err != nil || host.ClusterID == own {
			return errors.New("it is not empty any more")
		}
	}
	return a.remove(ctx, clusterDeployments(), deployment)
}
