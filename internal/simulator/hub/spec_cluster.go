package hub

import (
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

func referred(ref *hubapi.Reference) key { return key{objects.KindCluster, ref.Namespace, ref.Name} }
