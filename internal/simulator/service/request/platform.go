package request

import (
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

func fillPlatform(c *model.Cluster, p *ClusterCreate) error {
	want, err := platformFrom(p.Platform)
	if err != nil {
		return err
	}
	return choosePlatform(c, want, p.UserManagedNetworking)
}

// platformFrom reads the platform parameter; nil if it is absent.
func platformFrom(p *models.Platform) (*model.Platform, error) {
	if p == nil || p.Type == nil {
		return nil, nil
	}
	want := &model.Platform{Type: string(*p.Type), External: &model.ExternalPlatform{}}
	if want.Type == "external" && (p.External == nil || model.Value(p.External.PlatformName) == "") {
		return nil, wire.BadRequest("External setting must be set when using platform type external")
	}
	if p.External != nil {
		want.External = &model.ExternalPlatform{PlatformName: model.Value(p.External.PlatformName),
			CloudControllerManager: model.Value(p.External.CloudControllerManager)}
	}
	return want, nil
}

// choosePlatform settles the platform and who manages the network: each may
// follow from the other.
func choosePlatform(c *model.Cluster, want *model.Platform, umn *bool) error {
	single := c.IsSingle()
	if want == nil {
		want = &model.Platform{Type: model.PlatformBaremetal, External: &model.ExternalPlatform{}}
		if single || umn != nil && *umn {
			want.Type = model.PlatformNone
		}
	}
	switch want.Type {
	case model.PlatformBaremetal:
		if single {
			return wire.BadRequest("Can't set baremetal platform on single node OpenShift")
		}
		if umn != nil && *umn {
			return wire.BadRequest("Can't set baremetal platform with user-managed-networking enabled")
		}
		c.UserManagedNetworking = new(false)
	case model.PlatformNone, "external":
		if umn != nil && !*umn && !single {
			return wire.BadRequest("Can't set %s platform with user-managed-networking disabled", want.Type)
		}
		c.UserManagedNetworking = new(true)
	default:
		if single {
			return wire.BadRequest("Can't set %s platform on single node OpenShift", want.Type)
		}
		c.UserManagedNetworking = umn
	}
	c.Platform = want
	return nil
}
