package catalogue

// clusterNetwork are the checks of a cluster's networks, addresses and clocks.
func clusterNetwork() []ValidationEntry {
	return []ValidationEntry{
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "machine-cidr-defined", Title: "Machine network is defined",
				Meaning: "The cluster has no machine network. The service derives it from the virtual addresses and the hosts' " +
					"inventories; a single node and a user-managed network need it set.",
				Cause: "Virtual addresses are missing or in no network of any host, or no host has sent its inventory yet; or " +
					"spec.network.machine is missing.",
				Check: "oaictl get hosts: at least one host needs an address in the network of the virtual addresses.",
				Remedy: "Set spec.network.vips to addresses in the hosts' network, or spec.network.machine for a single node or a " +
					"user-managed network.",
				Field: "spec.network.machine",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 3,
			ConsequenceOf: []Ref{{SubjectCluster, "api-vips-defined"}, {SubjectCluster, "ingress-vips-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "cluster-cidr-defined", Title: "Pod network is defined",
				Meaning: "No network is defined for pods.",
				Cause:   "The list was cleared, by an explicit empty value or by somebody else.",
				Check:   "oaictl describe cluster NAME.",
				Remedy:  "Set spec.network.cluster, for example cidr 10.128.0.0/14 with hostPrefix 23.",
				Field:   "spec.network.cluster",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "service-cidr-defined", Title: "Service network is defined",
				Meaning: "No network is defined for services.",
				Cause:   "The list was cleared, by an explicit empty value or by somebody else.",
				Check:   "oaictl describe cluster NAME.",
				Remedy:  "Set spec.network.service, for example 172.30.0.0/16.",
				Field:   "spec.network.service",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "no-cidrs-overlapping", Title: "Networks do not overlap",
				Meaning: "Machine, pod and service network overlap.",
				Cause:   "The site uses 10.128.0.0/14 or 172.30.0.0/16 itself, which are the defaults for pods and services.",
				Check: "oaictl validate -f FILE finds overlaps in the file; oaictl describe cluster NAME shows the machine network " +
					"that was derived.",
				Remedy: "Choose networks for pods and services that the site does not use.",
				Field:  "spec.network.cluster",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectCluster, "machine-cidr-defined"}, {SubjectCluster, "cluster-cidr-defined"}, {SubjectCluster, "service-cidr-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "networks-same-address-families", Title: "Networks agree on IPv4 and IPv6",
				Meaning: "Machine, pod and service networks are not all of the same families, IPv4, IPv6 or both.",
				Cause:   "Dual stack was set for some of the networks only.",
				Check:   "oaictl validate -f FILE.",
				Remedy:  "Give each of spec.network.machine, cluster and service one network of every family that the cluster uses.",
				Field:   "spec.network",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectCluster, "machine-cidr-defined"}, {SubjectCluster, "cluster-cidr-defined"}, {SubjectCluster, "service-cidr-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "network-prefix-valid", Title: "Pod network has room for the nodes",
				Meaning: "The prefix length that each node gets does not fit the pod network: too few nodes, or too few addresses for " +
					"a node.",
				Cause:  "A small cidr, or a hostPrefix that is not longer than that of the cidr.",
				Check:  "The number of nodes is 2 to the power of (hostPrefix − prefix of the cidr).",
				Remedy: "Enlarge spec.network.cluster[].cidr, or correct hostPrefix (usually 23 for IPv4, 64 for IPv6).",
				Field:  "spec.network.cluster[].hostPrefix",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectCluster, "cluster-cidr-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "machine-cidr-equals-to-calculated-cidr", Title: "Machine network holds the virtual addresses",
				Meaning: "The machine network that is set is not the one in which the virtual addresses are.",
				Cause:   "A mistyped address or network, or hosts whose prefix length differs from the file's.",
				Check:   "oaictl describe host NAME shows the networks of a host with their prefix lengths.",
				Remedy: "Correct spec.network.vips or spec.network.machine so that all hosts and all virtual addresses are in one " +
					"network.",
				Field: "spec.network.vips",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectCluster, "machine-cidr-defined"}, {SubjectCluster, "api-vips-defined"}, {SubjectCluster, "ingress-vips-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "api-vips-defined", Title: "API address is defined",
				Meaning: "The cluster needs a virtual address for its API and has none.",
				Cause:   "spec.network.vips.api is missing on a platform where the cluster balances its own load.",
				Check:   "oaictl describe cluster NAME.",
				Remedy: "Set spec.network.vips.api to a free address in the machine network, or spec.network.userManaged: true if " +
					"load balancer and DNS are yours.",
				Field: "spec.network.vips.api",
			},
			Category: "network", Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "api-vips-valid", Title: "API address is usable",
				Meaning: "The virtual address of the API is not in a machine network, not free, or the same as another address.",
				Cause: "Some other machine answers at that address, for example a node of an earlier installation, or it lies within " +
					"the DHCP range; or the address is mistyped.",
				Check:  "From a machine in the network: arping -D ADDRESS must get no answer.",
				Remedy: "Switch off the machine that uses the address, or choose another one in spec.network.vips.api.",
				Field:  "spec.network.vips.api",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectCluster, "api-vips-defined"}, {SubjectCluster, "machine-cidr-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "ingress-vips-defined", Title: "Ingress address is defined",
				Meaning: "The cluster needs a virtual address for ingress and has none.",
				Cause:   "spec.network.vips.ingress is missing on a platform where the cluster balances its own load.",
				Check:   "oaictl describe cluster NAME.",
				Remedy: "Set spec.network.vips.ingress to a free address in the machine network, or spec.network.userManaged: true if " +
					"load balancer and DNS are yours.",
				Field: "spec.network.vips.ingress",
			},
			Category: "network", Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "ingress-vips-valid", Title: "Ingress address is usable",
				Meaning: "The virtual address of ingress is not in a machine network, not free, or the same as another address.",
				Cause: "Some other machine answers at that address, for example a node of an earlier installation, or it lies within " +
					"the DHCP range; or the address is mistyped.",
				Check:  "From a machine in the network: arping -D ADDRESS must get no answer.",
				Remedy: "Switch off the machine that uses the address, or choose another one in spec.network.vips.ingress.",
				Field:  "spec.network.vips.ingress",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectCluster, "ingress-vips-defined"}, {SubjectCluster, "machine-cidr-defined"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "dns-domain-defined", Title: "Base domain is defined",
				Meaning: "The cluster has no base domain.",
				Cause:   "The cluster was made without one, by something else than oaictl.",
				Check:   "oaictl describe cluster NAME.",
				Remedy:  "Set spec.baseDomain.",
				Field:   "spec.baseDomain",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "ntp-server-configured", Title: "Clocks of the hosts agree",
				Meaning: "The clocks of the hosts differ by more than certificates and etcd bear.",
				Cause:   "Some hosts follow an NTP server and others do not.",
				Check:   "oaictl get validations shows the hosts on which ntp-synced fails; date -u on each.",
				Remedy: "Name NTP servers that every host reaches in spec.network.defaults.ntp or spec.network.ntp, or open UDP port " +
					"123.",
				Field: "spec.network.defaults.ntp",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "ntp-synced"}, {SubjectHost, "time-synced-between-host-and-service"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "network-type-valid", Title: "Network type fits the version",
				Meaning: "The network plug-in cannot be used with this version, platform or set of networks.",
				Cause: "OpenShiftSDN with 4.15 or later, or with IPv6 or a single node; a third-party plug-in where it is not " +
					"supported.",
				Check:  "oaictl describe cluster NAME.",
				Remedy: "Set spec.network.type: OVNKubernetes, or leave it out.",
				Field:  "spec.network.type",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "custom-manifests-requirements-satisfied", Title: "Manifests of the network plug-in are there",
				Meaning: "The network type is one whose manifests the user has to bring, and none have been uploaded.",
				Cause:   "spec.network.type is Calico, Cilium, CiscoACI or None, without the vendor's manifests.",
				Check:   "oaictl download manifests NAME shows what the service has.",
				Remedy: "Add the vendor's manifests to spec.manifests. The service looks at whether there are any, not at what they " +
					"say.",
				Field: "spec.manifests",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
	}
}
