package catalogue

// events are the events that have a name. Those without one are measurements
// (category metrics) and nobody's business but the service's.
func events() []EventEntry {
	all := clusterEvents()
	all = append(all, hostEvents()...)
	return append(all, infraEnvEvents()...)
}

// clusterEvents are the events of a cluster.
func clusterEvents() []EventEntry {
	return []EventEntry{
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_registration_succeeded", Title: "Cluster registered",
				Meaning: "The cluster was created in the service.",
			},
			Severity: SeverityInfo,
			Watch:    "The beginning.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_registration_failed", Title: "Cluster not registered",
				Meaning: "The cluster could not be created; only older services send this.",
				Remedy:  "Correct what the error names and create the cluster again.",
			},
			Severity: SeverityError,
			Watch:    "Nothing was made; the request's own error says why.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_deregistered", Title: "Cluster deleted",
				Meaning: "Somebody deleted the cluster from the service.",
			},
			Severity: SeverityInfo,
			Watch:    "The end, whoever asked for it; a watcher of this cluster can stop.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_deregister_failed", Title: "Cluster not deleted",
				Meaning: "The service could not delete the cluster.",
				Remedy:  "Delete it again; while it installs, cancel it first.",
			},
			Severity: SeverityError,
			Watch:    "The cluster is still there.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "after_inactivity_cluster_deregistered", Title: "Deleted for inactivity",
				Meaning: "The service deleted a cluster that nobody had touched for a long time.",
				Remedy:  "Create the cluster again and boot the hosts from a fresh image.",
			},
			Severity: SeverityInfo,
			Watch:    "The cluster is gone; machines still in the discovery image are refused.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "inactive_clusters_deregistered", Title: "Inactive clusters deleted",
				Meaning: "The service cleared away clusters that nobody had touched for a long time.",
			},
			Severity: SeverityInfo,
			Watch:    "Housekeeping of the service.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "clusters_permanently_deleted", Title: "Deleted clusters forgotten",
				Meaning: "The service removed clusters that were deleted some time ago from its database.",
			},
			Severity: SeverityInfo,
			Watch:    "Housekeeping of the service.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_status_updated", Title: "Status of the cluster changed",
				Meaning: "The cluster has a new status; the message names it.",
			},
			Severity: SeverityInfo,
			Watch:    "The main thread of an installation. oaictl explain state NAME explains each status.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_validation_failed", Title: "A check of the cluster fails",
				Meaning: "A check of the cluster that passed, or was waiting, fails now.",
				Remedy:  "oaictl why cluster NAME.",
			},
			Severity: SeverityWarning,
			Watch:    "Matters if it stands; oaictl explain validation NAME explains it.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_validation_fixed", Title: "A check of the cluster passes again",
				Meaning: "A check of the cluster that failed passes now.",
			},
			Severity: SeverityInfo,
			Watch:    "One obstacle less.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_prepare_installation_started", Title: "Preparation started",
				Meaning: "The install request was accepted; hosts measure disks and pull images.",
			},
			Severity: SeverityInfo,
			Watch:    "The installation has begun; changes of the file have no effect any more.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "prepare_installation_failed", Title: "Preparation failed",
				Meaning: "The preparation failed and the cluster is as before the request. No disk has been written to.",
				Cause: "A disk that is too slow, images that cannot be pulled, Ignition that cannot be made from the manifests, or a " +
					"host that stopped.",
				Remedy: "oaictl why cluster NAME; then run oaictl create cluster -f FILE again.",
			},
			Severity: SeverityWarning,
			Watch:    "The installation did not start. Each of these events is one failed attempt.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "installation_preparing_timed_out", Title: "Preparation timed out",
				Meaning: "The preparation took too long and was given up.",
				Cause:   "Hosts that stopped answering, or images that come very slowly.",
				Remedy:  "oaictl why cluster NAME; then run oaictl create cluster -f FILE again.",
			},
			Severity: SeverityWarning,
			Watch:    "The installation did not start.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_installation_completed", Title: "Installed",
				Meaning: "The installation ended in success.",
			},
			Severity: SeverityInfo,
			Watch:    "The end. Read the cluster's status text too: it says if something is degraded.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_installation_failed", Title: "Installation failed",
				Meaning: "The installation failed; the message has the reason.",
				Remedy: "oaictl why cluster NAME, then oaictl logs NAME; cure the cause, oaictl reset NAME (on a hub: oaictl delete cluster NAME), " +
					"and boot the hosts into the discovery image.",
			},
			Severity: SeverityCritical,
			Watch:    "The end.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_installation_canceled", Title: "Installation cancelled",
				Meaning: "Somebody cancelled the installation.",
				Remedy:  "oaictl reset NAME to begin again; on a hub, oaictl delete cluster NAME.",
			},
			Severity: SeverityInfo,
			Watch:    "The end of this attempt; disks may have been written to.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cancel_installation_failed", Title: "Could not cancel",
				Meaning: "The request to cancel was refused, as a rule because nothing was being installed.",
			},
			Severity: SeverityError,
			Watch:    "What was going on goes on.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cancel_install_start_failed", Title: "Could not cancel (database)",
				Meaning: "The service's database did not let it begin to cancel.",
				Remedy:  "Cancel again; look at the service's logs if it stays.",
			},
			Severity: SeverityError,
			Watch:    "The installation goes on; the service has a problem.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cancel_install_commit_failed", Title: "Could not cancel (database)",
				Meaning: "The service's database did not take the cancellation.",
				Remedy:  "Cancel again; look at the service's logs if it stays.",
			},
			Severity: SeverityError,
			Watch:    "The installation goes on; the service has a problem.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_installation_reset", Title: "Reset",
				Meaning: "The cluster was reset and its hosts have to boot the discovery image again.",
				Remedy:  "Boot all hosts into the discovery image.",
			},
			Severity: SeverityInfo,
			Watch:    "A new beginning with the same cluster.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "reset_installation_failed", Title: "Could not reset",
				Meaning: "The request to reset was refused or failed.",
				Remedy:  "Only an installation that runs, failed or was cancelled can be reset.",
			},
			Severity: SeverityError,
			Watch:    "The cluster is as it was.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_finalizing_stage_updated", Title: "Finalizing goes on",
				Meaning: "Finalizing has reached its next stage; the message names it.",
			},
			Severity: SeverityInfo,
			Watch:    "Progress. oaictl explain stage NAME explains each.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "finalizing_stage_timed_out", Title: "Finalizing takes long",
				Meaning: "A stage of finalizing lasts longer than usual. The service goes on waiting.",
				Remedy:  "oaictl explain stage NAME says what to look at.",
			},
			Severity: SeverityWarning,
			Watch:    "Look now, rather than when it fails.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_operator_status", Title: "An operator's status",
				Meaning: "One of the cluster's operators reports a new status.",
			},
			Severity: SeverityInfo,
			Watch:    "Progress of finalizing.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_operator_report", Title: "Operators with problems",
				Meaning: "The message lists operators that are not well. During finalizing that is normal for a while.",
			},
			Severity: SeverityInfo,
			Watch:    "Shows which operator finalizing waits for.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_degraded_OLM_operators_failed", Title: "Chosen operators failed",
				Meaning: "The cluster is installed, and the operators that the message names are not.",
				Remedy:  "In the cluster: oc get csv -A and oc get subscriptions -A; install them again there.",
				Field:   "spec.operators",
			},
			Severity: SeverityWarning,
			Watch:    "Installed, but degraded.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "cluster_logs_uploaded", Title: "Logs of the cluster arrived",
				Meaning: "The controller in the new cluster sent its logs.",
			},
			Severity: SeverityInfo,
			Watch:    "oaictl logs has more now.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "validations_ignored", Title: "Checks ignored",
				Meaning: "The installation starts although checks fail, because the user said to ignore them.",
				Field:   "spec.ignoreValidations",
			},
			Severity: SeverityInfo,
			Watch:    "If it fails later, look at these checks first.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "install_config_applied", Title: "install-config overrides taken",
				Meaning: "The cluster's install-config was changed by overrides.",
				Field:   "spec.overrides.installConfig",
			},
			Severity: SeverityInfo,
			Watch:    "The service took them; it does not check what they mean.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "proxy_settings_changed", Title: "Proxy changed",
				Meaning: "The cluster's proxy settings were changed.",
				Field:   "spec.proxy",
			},
			Severity: SeverityInfo,
			Watch:    "Hosts that use the proxy of the discovery image keep that.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "api_ingress_vip_updated", Title: "Virtual addresses set",
				Meaning: "The cluster's virtual addresses were leased by DHCP.",
				Field:   "spec.network.vips",
			},
			Severity: SeverityInfo,
			Watch:    "Only with addresses from DHCP, which services of today do not offer.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "api_ingress_vip_timed_out", Title: "No lease for the virtual addresses",
				Meaning: "No DHCP server gave addresses for API and ingress.",
				Remedy:  "Set spec.network.vips.",
				Field:   "spec.network.vips",
			},
			Severity: SeverityWarning,
			Watch:    "The installation cannot start without.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectCluster, Name: "expired_image_deleted", Title: "Old image deleted",
				Meaning: "A discovery image that had expired was deleted.",
			},
			Severity: SeverityInfo,
			Watch:    "Housekeeping; oaictl download iso makes it anew.",
		},
	}
}
