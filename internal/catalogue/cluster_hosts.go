package catalogue

// clusterHosts are the checks of a cluster over all of its hosts.
func clusterHosts() []ValidationEntry {
	return []ValidationEntry{
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "all-hosts-are-ready-to-install", Title: "All hosts are ready",
				Meaning: "At least one host of the cluster is not ready to be installed.",
				Cause:   "Checks of that host fail, or it is off, being discovered, or waits for input.",
				Check:   "oaictl get hosts, then oaictl why host NAME.",
				Remedy: "Cure what oaictl why lists for the hosts. A host that shall not take part: power it off and run oaictl " +
					"delete host NAME.",
				Field: "spec.hosts",
			},
			Category: "hosts-data", Blocking: true, Ignorable: false, Cure: CureWait, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, AnyBlocking}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "sufficient-masters-count", Title: "Right number of control plane hosts",
				Meaning: "The number of hosts that are, or can become, control plane hosts is not the number that the cluster asks " +
					"for.",
				Cause: "Hosts have not booted yet, too many hosts have the role, or too few may get it; with two, the arbiter or the " +
					"fencing credentials are missing.",
				Check:  "oaictl get hosts: count the roles and compare them with spec.topology.controlPlane.",
				Remedy: "Boot the missing hosts into the discovery image, or correct spec.hosts[].role and spec.topology.",
				Field:  "spec.topology.controlPlane",
			},
			Category: "hosts-data", Blocking: true, Ignorable: false, Cure: CureMachine, Debounce: 1,
		},
	}
}

// clusterConfiguration are the checks of what a cluster was asked to be.
func clusterConfiguration() []ValidationEntry {
	return []ValidationEntry{
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "pull-secret-set", Title: "Pull secret is set",
				Meaning: "The cluster has no pull secret.",
				Cause:   "It was never sent, or cleared by somebody else. Imported clusters have none.",
				Check:   "oaictl describe cluster NAME says whether there is one; the service never shows it.",
				Remedy:  "Set spec.pullSecret and run oaictl create cluster -f FILE --resend-secrets.",
				Field:   "spec.pullSecret",
			},
			Category: "configuration", Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: "platform-requirements-satisfied", Title: "Platform's own requirements are met",
				Meaning: "The platform asks for something that the cluster does not have, such as manifests of a cloud controller " +
					"manager for an external platform.",
				Cause:  "spec.platform is external (for example oci) and the vendor's manifests are missing.",
				Check:  "The message says what is missing.",
				Remedy: "Add the vendor's manifests to spec.manifests, or choose another spec.platform.",
				Field:  "spec.platform",
			},
			Category: "configuration", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
	}
}
