package catalogue

// hostsBeforeInstall are the statuses of a host up to the start of its
// installation.
func hostsBeforeInstall() []StateEntry {
	return []StateEntry{
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "discovering", Title: "Being discovered",
				Meaning: "The host has registered and sends its hardware description.",
				Remedy:  "Wait up to two minutes.",
			},
			Neutral: "Discovering",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "pending-for-input", Title: "Waits for input",
				Meaning: "The host waits for settings of the cluster, as a rule for the machine network.",
				Cause:   "Virtual addresses or machine networks are missing, or were set a moment ago and are being evaluated.",
				Check:   "oaictl why cluster NAME.",
				Remedy:  "Set spec.network.vips, or spec.network.machine for a single node or a user-managed network.",
				Field:   "spec.network",
			},
			Neutral: "Blocked",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "insufficient", Title: "Checks fail",
				Meaning: "Checks of the host fail, or wait for something, so that it cannot be installed.",
				Cause:   "Too little hardware, a network problem, or measurements between the hosts that have just begun.",
				Check:   "oaictl why host NAME.",
				Remedy:  "Cure what oaictl why lists.",
			},
			Neutral: "Blocked",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "disconnected", Title: "Does not call",
				Meaning: "The host has not called the service for three minutes.",
				Cause:   "The machine is off, hung or rebooting, or its way to the service is cut.",
				Check:   "The machine's console, or its BMC.",
				Remedy:  "Power it on or repair its network; boot it into the discovery image if it does not come back.",
			},
			Neutral: "Disconnected", NeedsUser: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "known", Title: "Ready to be installed",
				Meaning: "All checks of the host pass.",
			},
			Neutral: "Ready",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "disabled", Title: "Left out",
				Meaning: "The host was excluded from the installation. Services of today have this no more.",
				Remedy:  "Delete the host and boot it into the discovery image again: oaictl delete host NAME.",
			},
			Neutral: "Blocked",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "preparing-for-installation", Title: "Being prepared",
				Meaning: "The host measures its disk and pulls images.",
				Remedy:  "Wait.",
			},
			Neutral: "Preparing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "preparing-successful", Title: "Prepared",
				Meaning: "The host has done its part of the preparation and waits for the others.",
				Remedy:  "Wait.",
			},
			Neutral: "Preparing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "preparing-failed", Title: "Preparation failed",
				Meaning: "The host could not prepare; it becomes known or insufficient again in a moment, and the cluster ready.",
				Cause:   "The installation disk is too slow, or images cannot be pulled.",
				Check:   "oaictl why host NAME, and the events disk_speed_slower_than_supported and image_status_updated.",
				Remedy:  "Cure what oaictl why lists; the next attempt checks anew.",
			},
			Neutral: "Preparing",
		},
	}
}

// hostsFromInstall are the statuses of a host from the start of its
// installation on.
func hostsFromInstall() []StateEntry {
	return []StateEntry{
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "installing", Title: "Installation begins",
				Meaning: "The host has been told to install and has not begun yet.",
				Remedy:  "Wait.",
			},
			Neutral: "Installing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "installing-in-progress", Title: "Installing",
				Meaning: "The host is being installed; its stage says how far it is.",
				Remedy:  "Wait. oaictl explain stage NAME says what a stage does.",
			},
			Neutral: "Installing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "installing-pending-user-action", Title: "Needs somebody at the machine",
				Meaning: "The host did not come up from its installation disk: it booted the discovery image again, or did not come " +
					"back from its reboot in time.",
				Cause: "The boot order prefers virtual media or the network to the disk, the wrong disk boots, or the machine hangs " +
					"in its firmware.",
				Check:  "The machine's console; the status text names the disk that should have booted.",
				Remedy: "Detach the discovery image, make the named disk first in the boot order and reboot. It goes on by itself.",
			},
			Neutral: "NeedsUser", NeedsUser: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "installed", Title: "Installed",
				Meaning: "The host is a node of the cluster.",
			},
			Neutral: "Installed", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "added-to-existing-cluster", Title: "Added to a running cluster",
				Meaning: "The host has been installed for a running cluster and reboots; the service follows it no further.",
				Check:   "In the cluster: oc get nodes and oc get csr.",
				Remedy: "Approve its certificate requests in the cluster: oc get csr, then oc adm certificate approve NAME, twice for " +
					"every host.",
			},
			Neutral: "Added", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "error", Title: "Installation failed",
				Meaning: "The installation of the host failed. A failed control plane host fails the cluster; a failed worker need " +
					"not.",
				Cause: "Writing the image failed, a stage took too long, the host rebooted in between, or the cluster's installation " +
					"failed as a whole.",
				Check:  "oaictl why host NAME, then oaictl logs NAME.",
				Remedy: "Cure the cause, then oaictl reset NAME (on a hub: oaictl delete cluster NAME) and boot the host into the discovery image again.",
			},
			Neutral: "Failed", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "cancelled", Title: "Cancelled",
				Meaning: "The installation was cancelled while the host was part of it.",
				Remedy:  "oaictl reset NAME (on a hub: oaictl delete cluster NAME) and boot the host into the discovery image again.",
			},
			Neutral: "Cancelled", Terminal: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "resetting", Title: "Being reset",
				Meaning: "The host is on its way back to the beginning.",
				Remedy:  "Wait.",
			},
			Neutral: "Resetting",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "resetting-pending-user-action", Title: "Has to boot the discovery image",
				Meaning: "The cluster was reset and the host has to boot the discovery image again to take part.",
				Cause:   "Its disk, or nothing, boots by itself after a reset.",
				Check:   "The machine's console.",
				Remedy:  "Boot the machine into the discovery image.",
			},
			Neutral: "Resetting", NeedsUser: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "reclaiming", Title: "Being taken back",
				Meaning: "The host leaves a cluster that was deleted and prepares to boot the discovery image from its own disk. Only " +
					"hubs do this.",
				Remedy: "Wait.",
			},
			Neutral: "Releasing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "reclaiming-rebooting", Title: "Reboots to be taken back",
				Meaning: "The host reboots into the discovery image to become free again. Only hubs do this.",
				Remedy:  "Wait; if it does not come back, boot it into the discovery image yourself.",
			},
			Neutral: "Releasing",
		},
	}
}

// hostsOfPools are the statuses of a host that belongs to no cluster, or is about
// to join or leave one.
func hostsOfPools() []StateEntry {
	return []StateEntry{
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "discovering-unbound", Title: "Being discovered, free",
				Meaning: "The host belongs to no cluster yet and sends its hardware description.",
				Remedy:  "Wait up to two minutes.",
			},
			Neutral: "Unbound",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "known-unbound", Title: "Free",
				Meaning: "The host belongs to no cluster and can be bound to one.",
				Remedy:  "oaictl create cluster -f FILE binds the hosts that the file names.",
			},
			Neutral: "Unbound",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "insufficient-unbound", Title: "Free, checks fail",
				Meaning: "The host belongs to no cluster, and checks of it fail, so that it cannot be bound.",
				Cause:   "Too little hardware, or no NTP server.",
				Check:   "oaictl why host NAME.",
				Remedy:  "Cure what oaictl why lists.",
			},
			Neutral: "Unbound",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "disconnected-unbound", Title: "Free, does not call",
				Meaning: "The host belongs to no cluster and has not called the service for three minutes.",
				Cause:   "The machine is off, or its way to the service is cut.",
				Check:   "The machine's console, or its BMC.",
				Remedy:  "Power it on or repair its network; boot it into the discovery image if it does not come back.",
			},
			Neutral: "Unbound", NeedsUser: true,
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "disabled-unbound", Title: "Free, left out",
				Meaning: "The host was excluded. Services of today have this no more.",
				Remedy:  "Delete the host and boot it into the discovery image again: oaictl delete host NAME.",
			},
			Neutral: "Unbound",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "binding", Title: "Being bound",
				Meaning: "The host joins a cluster: its agent stops and registers there.",
				Remedy:  "Wait about a minute.",
			},
			Neutral: "Binding",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "unbinding", Title: "Being unbound",
				Meaning: "The host leaves its cluster: its agent stops and registers in the pool.",
				Remedy:  "Wait about a minute.",
			},
			Neutral: "Releasing",
		},
		{
			Entry: Entry{
				Kind: KindState, Subject: SubjectHost, Name: "unbinding-pending-user-action", Title: "Has to boot the discovery image to be free",
				Meaning: "The host left its cluster during or after an installation and has to boot the discovery image to be free " +
					"again.",
				Cause:  "Its disk boots the installed system, or nothing.",
				Check:  "The machine's console.",
				Remedy: "Boot the machine into the discovery image.",
			},
			Neutral: "Releasing", NeedsUser: true,
		},
	}
}
