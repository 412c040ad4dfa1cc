package catalogue

// clusterStates are the statuses of a cluster.
func clusterStates() []StateEntry {
	return []StateEntry{
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "insufficient", Title: "Checks fail",
				Meaning: "Checks of the cluster or of its hosts fail. Every new cluster begins here, before any host has booted.",
				Cause:   "Hosts have not registered yet, or something that the installation needs is missing or wrong.",
				Check:   "oaictl why cluster NAME.",
				Remedy:  "Boot the hosts of the cluster, then cure what oaictl why lists.",
			},
			Neutral: "Blocked",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "pending-for-input", Title: "Waits for input",
				Meaning: "Something that only the user or the hosts can bring is missing: virtual addresses, machine network, base " +
					"domain or pull secret.",
				Cause:  "No host has sent its inventory yet, from which the machine network is derived; or a setting is missing.",
				Check:  "oaictl why cluster NAME.",
				Remedy: "Boot the hosts if none has registered; otherwise set what oaictl why names.",
			},
			Neutral: "Discovering",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "ready", Title: "Ready to be installed",
				Meaning: "All checks pass and the installation may start. After a request to install it means that the preparation " +
					"failed.",
				Check:  "oaictl get events shows prepare_installation_failed if there was an attempt.",
				Remedy: "oaictl create cluster -f FILE starts the installation, and tries a failed preparation again.",
			},
			Neutral: "Ready",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "preparing-for-installation", Title: "Being prepared",
				Meaning: "Hosts measure their disks and pull images while the service makes manifests and Ignition. It takes a few " +
					"minutes, 18 at most.",
				Remedy: "Wait.",
			},
			Neutral: "Preparing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "installing", Title: "Installing",
				Meaning: "The hosts are being installed.",
				Remedy:  "Wait; oaictl wait cluster NAME --for installed follows it.",
			},
			Neutral: "Installing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "installing-pending-user-action", Title: "Needs somebody at a machine",
				Meaning: "A host did not come up from its disk: it booted the discovery image again, or did not come back from its " +
					"reboot.",
				Cause: "The boot order prefers virtual media or the network to the disk, or another disk than the installation disk " +
					"boots.",
				Check: "oaictl why cluster NAME names the hosts; look at their consoles.",
				Remedy: "Detach the discovery image, make the installation disk first in the boot order and reboot these hosts. The " +
					"installation then goes on by itself; after 24 hours it fails.",
			},
			Neutral: "NeedsUser", NeedsUser: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "finalizing", Title: "Operators come up",
				Meaning: "Enough nodes have joined. The cluster's operators start and the chosen ones are installed.",
				Check:   "oaictl describe cluster NAME shows the finalizing stage and the operators.",
				Remedy:  "Wait.",
			},
			Neutral: "Finalizing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "installed", Title: "Installed",
				Meaning: "The cluster is installed. Its status text says so if workers did not join or chosen operators failed.",
				Check:   "oaictl describe cluster NAME; a degraded cluster names the operators.",
				Remedy:  "oaictl download kubeconfig NAME, then oc get nodes and oc get clusteroperators.",
			},
			Neutral: "Installed", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "error", Title: "Installation failed",
				Meaning: "The installation failed and does not go on.",
				Cause: "A control plane host was lost, too few workers remained, the operators did not come up in time, or somebody " +
					"had to act and did not within a day.",
				Check:  "oaictl why cluster NAME, then oaictl logs NAME.",
				Remedy: "Cure the cause, then oaictl reset NAME (on a hub: oaictl delete cluster NAME) and boot all hosts into the discovery image again.",
			},
			Neutral: "Failed", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "cancelled", Title: "Cancelled",
				Meaning: "Somebody cancelled the installation. Disks may have been written to already.",
				Check:   "oaictl get events: cluster_installation_canceled.",
				Remedy:  "oaictl reset NAME and boot all hosts into the discovery image again, or, as always on a hub, oaictl delete cluster NAME.",
			},
			Neutral: "Cancelled", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "adding-hosts", Title: "Takes further hosts",
				Meaning: "The cluster runs and takes further hosts. A cluster that the service installed has been installed to get " +
					"here.",
				Check:  "oaictl get hosts.",
				Remedy: "Boot further hosts with an image of an InfraEnv of this cluster.",
			},
			Neutral: "AddingHosts", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectCluster, Name: "unmonitored", Title: "Not looked after",
				Meaning: "The cluster only holds the settings of a disconnected image; the service does not check or install it.",
				Check:   "oaictl describe cluster NAME.",
				Remedy:  "Make a cluster with oaictl create cluster -f FILE to have one installed.",
			},
			Neutral: "Draft", Terminal: true,
		},
	}
}
