// Package hive holds the objects of Hive and of its extension for the
// assisted-service: ClusterDeployment and ClusterImageSet of hive.openshift.io/v1,
// as far as an install reads and writes them, and AgentClusterInstall of
// extensions.hive.openshift.io/v1beta1, whole.
//
// A ClusterDeployment that was read into these types must not be written back
// whole, since Hive's has fields for other platforms that are not here.
package hive
