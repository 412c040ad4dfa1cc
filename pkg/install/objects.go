package install

import (
	"context"
	"time"
)

// Object is an object of a hub that a cluster is made of, with what its controllers say of it.
type Object struct {
	Kind, Name string
	Conditions []ObjectCondition
	// IPXE is where an InfraEnv's script for a boot over the network is found. It may carry a
	// token: never logged.
	IPXE string
}

// ObjectCondition is what a controller says of an object.
type ObjectCondition struct {
	Type, Status, Reason, Message string
	Since                         time.Time
}

// Objects are the objects that a cluster is made of, none where its service has no such. A [Backend] that has them has a
// method of this name, too.
func (client *Client) Objects(ctx context.Context, clusterID string) ([]Object, error) {
	lister, is := client.Backend.(interface {
		Objects(ctx context.Context, clusterID string) ([]Object, error)
	})
	if !is {
		return nil, nil
	}
	return lister.Objects(ctx, clusterID)
}
