package media

import (
	"context"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestHostOfAnInstalledCluster: the message says how the host joins the cluster, and not to install again.
func TestHostOfAnInstalledCluster(t *testing.T) {
	cluster := &spec.Cluster{}
	cluster.Metadata.Name = "lab"
	cluster.Spec.Hosts = []spec.Host{{Name: "cp-0"}}
	for state, want := range map[model.ClusterState]string{
		model.ClusterInstalled:   "oaictl add-node -f lab.yaml",
		model.ClusterAddingHosts: "oaictl add-node -f lab.yaml",
		model.ClusterReady:       "oaictl create cluster -f lab.yaml --detach",
	} {
		service := seenService{observed: &model.Observed{Cluster: &model.Cluster{State: state}}}
		_, err := boot.NewImages(t.Context(), boot.ImagesConfig{Service: service, Spec: cluster})
		err = (&hostMediaOptions{File: "lab.yaml"}).notRegistered(err)
		if model.FaultOf(err).Next.String() != want || app.CodeOf(err) != model.CodeNotFound {
			t.Errorf("%s: %v, next %q", state, err, model.FaultOf(err).Next)
		}
		if installed := strings.Contains(want, "add-node"); installed != strings.Contains(err.Error(), "the cluster is installed") {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// seenService shows one observation, and does nothing else.
type seenService struct {
	install.Backend
	observed *model.Observed
}

func (s seenService) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	return s.observed, nil
}
