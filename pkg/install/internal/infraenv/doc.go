// Package infraenv says which InfraEnvs a cluster.yaml asks for, and which of them each host
// boots: by the architectures of the hosts, and by how many static networks one image holds.
package infraenv
