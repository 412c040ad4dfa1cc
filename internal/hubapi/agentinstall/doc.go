// Package agentinstall holds the objects of the API group
// agent-install.openshift.io, version v1beta1: discovery images (InfraEnv), the
// static networks in them (NMStateConfig), the hosts that booted them (Agent) and
// labels by what those hosts are (AgentClassification).
//
// A field that has to be there even if it is empty is written whatever it holds;
// a list that the service always sends is left out only if it is nil. The
// CustomResourceDefinitions that the tests use are generated from these types.
//
// +groupName=agent-install.openshift.io
// +versionName=v1beta1
package agentinstall
