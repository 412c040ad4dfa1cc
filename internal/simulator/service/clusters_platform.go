package service

import (
	"github.com/openshift/assisted-service/models"
)

func fillPlatform(c *cluster, p *clusterCreate) error {
	want, err := platformFrom(p.Platform)
	if err != nil {
		return err
	}
	return c.choosePlatform(want, p.UserManagedNetworking)
}

// platformFrom reads the platform parameter; nil if it is absent.
func platformFrom(p *models.Platform) (*platform, error) {
	if p == nil || p.Type == nil {
		return nil, nil
	}
	want := &platform{Type: string(*p.Type), External: &externalPlatform{}}
	if want.Type == "external" && (p.External == nil || value(p.External.PlatformName) == "") {
		return nil, badRequest("External setting must be set when using platform type external")
	}
	if p.External != nil {
		want.External = &externalPlatform{PlatformName: value(p.External.PlatformName),
			CloudControllerManager: value(p.External.CloudControllerManager)}
	}
	return want, nil
}

// choosePlatform settles the platform and who manages the network: each may
// follow from the other.
func (c *cluster) choosePlatform(want *platform, umn *bool) error {
	single := c.isSingle()
	if want == nil {
		want = &platform{Type: platformBaremetal, External: &externalPlatform{}}
		if single || umn != nil && *umn {
			want.Type = platformNone
		}
	}
	switch want.Type {
	case platformBaremetal:
		if single {
			return badRequest("Can't set baremetal platform on single node OpenShift")
		}
		if umn != nil && *umn {
			return badRequest("Can't set baremetal platform with user-managed-networking enabled")
		}
		c.UserManagedNetworking = new(false)
	case platformNone, "external":
		if umn != nil && !*umn && !single {
			return badRequest("Can't set %s platform with user-managed-networking disabled", want.Type)
		}
		c.UserManagedNetworking = new(true)
	default:
		if single {
			return badRequest("Can't set %s platform on single node OpenShift", want.Type)
		}
		c.UserManagedNetworking = umn
	}
	c.Platform = want
	return nil
}
