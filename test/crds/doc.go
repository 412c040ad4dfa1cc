// Command crds writes the CustomResourceDefinitions in manifests/, by which the
// tests set up a hub: those of Hive, of the AgentClusterInstall and of the Bare
// Metal Operator from the types that these projects publish, and those of
// agent-install.openshift.io from oaictl's own types.
//
// It is a module of its own, so that what those types need never meets what
// oaictl needs.
package main
