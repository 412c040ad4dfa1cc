// Package manifest reads and writes the formats in which clusters are described
// elsewhere: the objects of a hub (Hive's and the Assisted Installer's custom
// resources), the files of the agent-based installer, and SiteConfig's
// ClusterInstance.
//
// [Hub] is the one place where a cluster.yaml becomes a hub's objects: what is
// rendered for GitOps and what the hub plane applies is the same. What a format
// cannot say is never dropped: Hub refuses it by name and line, and the other
// writers and the readers list it as [Loss].
package manifest
