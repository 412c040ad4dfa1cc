package catalogue

// hostNetwork are the checks of how a machine is reached and what it reaches.
func hostNetwork() []ValidationEntry {
	return []ValidationEntry{
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "connected", Title: "Host is connected",
				Meaning: "The host's agent has not called the service for more than three minutes.",
				Cause:   "The machine is off, hung or rebooting, or has lost the network or the proxy on the way to the service.",
				Check:   "Look at the machine's console. On the host: journalctl -u agent, and curl of the service's address.",
				Remedy: "Power the machine on, or bring the network back. It reconnects by itself; if it does not, boot it into the " +
					"discovery image again.",
				Field: "spec.hosts[].net",
			},
			Category: "network", Blocking: true, Ignorable: false, Cure: CureMachine, Debounce: 2,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "media-connected", Title: "Discovery media can be read",
				Meaning: "The host cannot read from the discovery image that it runs from.",
				Cause:   "Virtual media was ejected, timed out, or is served over a slow or broken line.",
				Check:   "The BMC's console and its virtual media page; the event host_media_disconnected.",
				Remedy: "Attach the media again and boot from it. On slow lines use spec.boot.image: minimal, and leave the media " +
					"attached until the host has rebooted into its disk.",
				Field: "spec.boot.image",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "machine-cidr-defined", Title: "Machine network is known to the host",
				Meaning: "The cluster has no machine network yet, so the host cannot be judged against it.",
				Cause: "Neither virtual addresses nor machine networks are set, or the hosts' inventories have not arrived to derive " +
					"it from.",
				Check:  "oaictl get validations; the cluster's check of the same name says more.",
				Remedy: "Set spec.network.vips, or spec.network.machine for a single node or a user-managed network.",
				Field:  "spec.network.machine",
			},
			Category: "network", Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 3,
			ConsequenceOf: []Ref{{SubjectCluster, "machine-cidr-defined"}, {SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "belongs-to-machine-cidr", Title: "Host has an address in the machine network",
				Meaning: "No interface of the host has an address in each machine network.",
				Cause: "The host sits in another subnet or VLAN, got no DHCP lease, or its static address is in the wrong network; " +
					"or the machine network in the file is mistyped.",
				Check: "oaictl describe host NAME lists its addresses; compare them with spec.network.machine. On the host: ip " +
					"address.",
				Remedy: "Plug the host into the right network, correct spec.hosts[].net for it, or correct spec.network.machine.",
				Field:  "spec.hosts[].net",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "machine-cidr-defined"}, {SubjectCluster, "machine-cidr-defined"}, {SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "belongs-to-majority-group", Title: "Host reaches most of the others",
				Meaning: "The host cannot reach the majority of the cluster's hosts over the machine network. It shows for a moment " +
					"whenever a host joins or leaves.",
				Cause: "A switch port, VLAN or firewall separates the hosts, two hosts share an address, or the peers are off.",
				Check: "From the host ping the addresses of the others; oaictl describe host NAME has what it reached.",
				Remedy: "Put all hosts of the cluster into one network without filters between them. A failure that lasts less than a " +
					"minute needs nothing.",
				Field: "spec.hosts[].net",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{
				{SubjectHost, "connected"}, {SubjectHost, "machine-cidr-defined"}, {SubjectCluster, "machine-cidr-defined"},
				{SubjectHost, "belongs-to-machine-cidr"}, {SubjectHost, "no-ip-collisions-in-network"},
			},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-default-route", Title: "Host has a default route",
				Meaning: "The host has no default route.",
				Cause:   "The static network has no gateway, or DHCP hands out none.",
				Check:   "On the host: ip route and ip -6 route.",
				Remedy:  "Set spec.network.defaults.gateway, or gateway for the host; with DHCP, let the server hand out a router.",
				Field:   "spec.network.defaults.gateway",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "valid-platform-network-settings", Title: "Network fits the platform",
				Meaning: "The virtual network hardware of the machine cannot carry the cluster's network.",
				Cause: "A virtual machine on a platform whose emulated network adapter or virtual network does not let virtual " +
					"addresses through.",
				Check: "The message names the platform and what is missing; oaictl describe host NAME shows product and interfaces.",
				Remedy: "Change the virtual machine as the message says, or set spec.network.loadBalancer: user-managed or " +
					"spec.network.userManaged: true.",
				Field: "spec.network.userManaged",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "ntp-synced", Title: "Clock follows an NTP server",
				Meaning: "The host has not synchronised its clock with any NTP server. This alone does not hold the installation up, " +
					"but clocks that differ do.",
				Cause: "NTP (UDP 123) is blocked, no server is configured or handed out, or the first synchronisation is still under " +
					"way.",
				Check: "On the host: chronyc sources -v. oaictl describe host NAME lists the servers and their state.",
				Remedy: "Name servers that the hosts reach in spec.network.defaults.ntp (added to those of DHCP) or spec.network.ntp " +
					"(instead of them), or open UDP port 123.",
				Field: "spec.network.defaults.ntp",
			},
			Category: "network", Blocking: false, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "connected"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "time-synced-between-host-and-service", Title: "Clock agrees with the service's",
				Meaning: "The host's clock is more than four minutes away from the service's.",
				Cause:   "A wrong hardware clock without NTP to correct it, or a service whose own clock is wrong.",
				Check:   "date -u on the host, on this machine and on the service.",
				Remedy: "Let the host reach an NTP server (spec.network.defaults.ntp), or set its hardware clock in the firmware to " +
					"UTC and reboot. If all hosts fail, correct the service's clock.",
				Field: "spec.network.defaults.ntp",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "ntp-synced"}, {SubjectHost, "connected"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "container-images-available", Title: "Container images can be pulled",
				Meaning: "The host could not pull the images that the installation needs.",
				Cause: "No way to the registry (firewall, proxy, DNS), a mirror that lacks the release, a pull secret without that " +
					"registry, or a certificate that is not trusted.",
				Check: "The event image_status_updated names the image. On the host: podman pull --authfile " +
					"/root/.docker/config.json IMAGE.",
				Remedy: "Open the way to the registries or set spec.proxy; in a disconnected site complete spec.registry.mirrors and " +
					"spec.registry.trustBundle; or correct the pull secret. The check runs anew with the next attempt to install.",
				Field: "spec.registry",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "sufficient-network-latency-requirement-for-role", Title: "Latency to the other hosts is low",
				Meaning: "Packets between this host and others of its role take longer than the role bears: 100 ms between control " +
					"plane hosts, 1000 ms between workers.",
				Cause:  "Hosts at distant sites, or a congested line.",
				Check:  "From the host ping the hosts that the message names.",
				Remedy: "Bring the machines nearer together, relieve the line, or give the role to other machines.",
				Field:  "spec.hosts[].role",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "belongs-to-majority-group"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "sufficient-packet-loss-requirement-for-role", Title: "No packets are lost to the other hosts",
				Meaning: "More packets between this host and others of its role are lost than the role bears: none between control " +
					"plane hosts, 10 % between workers.",
				Cause:  "A bad cable or port, a duplex or MTU mismatch, or a bond that the switch does not know of.",
				Check:  "From the host ping -c 100 the hosts that the message names; ip -s link for errors.",
				Remedy: "Repair the link. A single lost measurement passes by itself.",
				Field:  "spec.hosts[].net",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "belongs-to-majority-group"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "api-domain-name-resolved-correctly", Title: "API name resolves",
				Meaning: "The host does not resolve api.CLUSTER.DOMAIN to the address that it should.",
				Cause: "The DNS record is missing or wrong, or the host asks another DNS server. With a user-managed network, load " +
					"balancer or a single node the record has to exist.",
				Check: "On the host: dig +short api.CLUSTER.DOMAIN.",
				Remedy: "Create the record at the DNS server that the hosts ask, for the address of the API; or point the hosts to " +
					"the right server in spec.network.defaults.dns.",
				Field: "spec.network.defaults.dns",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "api-int-domain-name-resolved-correctly", Title: "Internal API name resolves",
				Meaning: "The host does not resolve api-int.CLUSTER.DOMAIN to the address that it should.",
				Cause: "The DNS record is missing or wrong, or the host asks another DNS server. With a user-managed network, load " +
					"balancer or a single node the record has to exist.",
				Check: "On the host: dig +short api-int.CLUSTER.DOMAIN.",
				Remedy: "Create the record at the DNS server that the hosts ask, for the internal address of the API; or point the " +
					"hosts to the right server in spec.network.defaults.dns.",
				Field: "spec.network.defaults.dns",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "apps-domain-name-resolved-correctly", Title: "Names of routes resolve",
				Meaning: "The host does not resolve names below apps.CLUSTER.DOMAIN to the address that it should.",
				Cause: "The wildcard record *.apps is missing or wrong, or the host asks another DNS server. With a user-managed " +
					"network, load balancer or a single node it has to exist.",
				Check: "On the host: dig +short console-openshift-console.apps.CLUSTER.DOMAIN.",
				Remedy: "Create the wildcard record *.apps.CLUSTER.DOMAIN at the DNS server that the hosts ask, for the address of " +
					"ingress; or correct spec.network.defaults.dns.",
				Field: "spec.network.defaults.dns",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "release-domain-name-resolved-correctly", Title: "Name of the release registry resolves",
				Meaning: "The host does not resolve the name of the registry that the release image comes from. Where everything goes " +
					"through a proxy or a mirror that may be as it should.",
				Cause: "A DNS server without a way to the internet, or a mirror whose name it does not know.",
				Check: "On the host: dig +short quay.io, or the name of the mirror.",
				Remedy: "Correct spec.network.defaults.dns, or create the mirror's record. Nothing is to be done if a proxy resolves " +
					"the names.",
				Field: "spec.network.defaults.dns",
			},
			Category: "network", Blocking: false, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "dns-wildcard-not-configured", Title: "No DNS wildcard for the whole domain",
				Meaning: "Names that must not exist below CLUSTER.DOMAIN resolve, so that a wildcard answers for them. Nodes would " +
					"then take wrong addresses for real ones.",
				Cause: "A wildcard record *.CLUSTER.DOMAIN or *.DOMAIN, a search domain from DHCP that has one, or a router that " +
					"answers every name itself.",
				Check: "On the host: dig +short validateNoWildcardDNS.CLUSTER.DOMAIN with and without a dot at the end; both have to " +
					"be empty. cat /etc/resolv.conf for the search domains.",
				Remedy: "Remove the wildcard (that of *.apps stays), take the domain out of the DHCP search list, or choose another " +
					"spec.baseDomain.",
				Field: "spec.baseDomain",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "non-overlapping-subnets", Title: "Networks of the host do not overlap",
				Meaning: "Two interfaces of the host are in networks that overlap, so that it is open which one packets take.",
				Cause:   "Two ports plugged into one network without a bond, or a wrong prefix length.",
				Check:   "On the host: ip -brief address.",
				Remedy: "Unplug or disable one of the interfaces, make them a bond in spec.hosts[].net.bond, or correct the prefix " +
					"length.",
				Field: "spec.hosts[].net",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "no-ip-collisions-in-network", Title: "Addresses are used once",
				Meaning: "An address of this host is used by another machine as well.",
				Cause: "A static address within the DHCP range, a copied entry in the file, or a machine from an earlier " +
					"installation that is still on.",
				Check:  "From a machine in the network: arping -D ADDRESS shows both MAC addresses; the message has them too.",
				Remedy: "Give one of them another address in spec.hosts[].net, or switch off the machine that does not belong there.",
				Field:  "spec.hosts[].net.ip",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "no-iscsi-nic-belongs-to-machine-cidr", Title: "iSCSI traffic has its own network",
				Meaning: "The installation disk is reached over iSCSI through an interface in the machine network. The cluster's " +
					"network would cut the host off from its disk.",
				Cause:  "The iSCSI target is reached over the same interface as the cluster.",
				Check:  "On the host: iscsiadm -m session -P 1, and ip -brief address.",
				Remedy: "Give iSCSI an interface in a network of its own, or choose a local disk with spec.hosts[].disk.hints.",
				Field:  "spec.hosts[].disk.hints",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "machine-cidr-defined"}, {SubjectCluster, "machine-cidr-defined"}, {SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "mtu-valid", Title: "MTU works end to end",
				Meaning: "Packets as large as the interface's MTU do not reach some other hosts.",
				Cause:   "Jumbo frames are set on the hosts and not on all switches between them.",
				Check:   "From the host: ping -M do -s SIZE PEER, with SIZE = MTU − 28.",
				Remedy:  "Set one MTU on all switch ports and hosts: spec.network.defaults.mtu, or mtu for the host.",
				Field:   "spec.network.defaults.mtu",
			},
			Category: "network", Blocking: false, Ignorable: true, Cure: CureMachine, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "belongs-to-majority-group"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "ignition-downloadable", Title: "Ignition of the running cluster can be fetched",
				Meaning: "A host that shall join a running cluster cannot download its Ignition from that cluster's machine config " +
					"server.",
				Cause: "The API's address or name does not resolve or is not reachable on port 22624 (or 22623 with certificate), or " +
					"the machine config pool does not exist.",
				Check: "On the host: curl http://api.CLUSTER.DOMAIN:22624/config/worker.",
				Remedy: "Open the port, correct the DNS record, or set spec.ignitionEndpoint; see that spec.hosts[].machineConfigPool " +
					"exists in the cluster.",
				Field: "spec.ignitionEndpoint",
			},
			Category: "network", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "connected"}},
		},
	}
}
