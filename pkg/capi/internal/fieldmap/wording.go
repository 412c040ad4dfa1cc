package fieldmap

import (
	"strings"
	"sync"
)

// wording is what advice for people who write cluster.yaml says, and what is done in the objects instead.
var wording = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"write arbiters: 1, or fencing: true with fencing credentials for both hosts",
		"set config.arbiterReplicas: 1, or config.fencing",
		"write topology.required: {workers: 0} and add them with `oaictl add-node` once it is installed, or use 3 control plane machines",
		"leave config.requiredWorkers out, so that they join later, or set replicas: 3",
		"write topology.required: {workers: 0} and add them with `oaictl add-node`",
		"leave config.requiredWorkers out, so that they join later",
		"write topology.fencing: true with two control plane machines, or leave it out",
		"set config.fencing with replicas: 2, or leave it out",
		"write fencing: {} to use the BMC's address and credentials", "name the machine in config.fencing.credentials",
		"write arch: multi", "set config.cpuArchitecture: multi",
		"write platform: none, or leave it out", "set config.platform.type: None, or leave it out",
		"write platform: none", "set config.platform.type: None",
		"for a load balancer of your own write loadBalancer: user-managed",
		"for a load balancer of your own set config.loadBalancer.type: UserManaged",
		"use another address, unless loadBalancer is user-managed",
		"use another address, unless config.loadBalancer.type is UserManaged",
		"write an unused address of the machine network each for api and ingress",
		"set config.apiVIPs and config.ingressVIPs to unused addresses of the machine network",
		"write fencing: {address: redfish+https://HOST/redfish/v1/Systems/ID}",
		"name the machine in config.fencing.credentials, with such an address in the Secret: redfish+https://HOST/redfish/v1/Systems/ID",
		"write tpm, or tang", "write tpmv2, or tang",
		"which only platform none allows", "which only platform None allows",
	)
})

// Reword is a text about cluster.yaml with advice that the objects take.
func Reword(text string) string { return wording().Replace(text) }
