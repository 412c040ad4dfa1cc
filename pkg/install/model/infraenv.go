package model

import "github.com/oaictl/oaictl/pkg/install/spec"

// InfraEnvPlan is an InfraEnv that the file asks for.
type InfraEnvPlan struct {
	// Name is the cluster's for the first, and the cluster's with a number, from
	// 2, for further ones. One that serves a host alone has the name that the file says.
	Name  string
	Arch  spec.Arch // the CPU architecture of its machines, "" for the service's own
	Hosts []string  // the names of the hosts that boot its image
	Alone string    // the name of the one host that it serves, "" where it may serve others
	// Settings are what the InfraEnv shall hold, the static networks of those
	// hosts among them.
	Settings Settings
}
