package catalogue

// hostEvents are the events of a host.
func hostEvents() []EventEntry {
	return []EventEntry{
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_registration_succeeded", Title: "Host registered",
				Meaning: "A machine booted the discovery image and registered, for the first time or again.",
			},
			Severity: SeverityInfo,
			Watch: "One host more, or one that rebooted. During an installation a second one means that it booted the image " +
				"again.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_registration_failed", Title: "Host refused",
				Meaning: "A machine could not register; the message says why.",
				Cause:   "The cluster is installing or installed, its image is that of another time, or the cluster was deleted.",
				Remedy:  "Boot it from a fresh image: oaictl download iso NAME.",
			},
			Severity: SeverityError,
			Watch:    "A machine is on that does not become a host.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_registration_setting_properties_failed", Title: "Host not stored",
				Meaning: "The service could not store a host that registered.",
				Remedy:  "Look at the service's logs if it stays.",
			},
			Severity: SeverityError,
			Watch:    "A problem of the service; the host tries again.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_deregistered", Title: "Host deleted",
				Meaning: "A host was deleted from the service. If its agent runs on, it registers again.",
			},
			Severity: SeverityInfo,
			Watch:    "One host less.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_status_updated", Title: "Status of a host changed",
				Meaning: "A host has a new status; the message has the old and the new one. Its severity depends on the new one.",
			},
			Severity: SeverityInfo,
			Watch:    "The main thread of a host. oaictl explain state NAME explains each status.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_role_updated", Title: "Role suggested",
				Meaning: "The service suggests a role for a host whose role is auto.",
				Field:   "spec.hosts[].role",
			},
			Severity: SeverityInfo,
			Watch:    "Roles become final when the installation starts; set spec.hosts[].role to decide them yourself.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_bootstrap_set", Title: "Bootstrap chosen",
				Meaning: "This control plane host starts the cluster and joins last.",
			},
			Severity: SeverityInfo,
			Watch:    "Its logs tell most if the beginning fails.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_approved_updated", Title: "Approval changed",
				Meaning: "The host was approved for the cluster, or no more. Only hubs do this.",
			},
			Severity: SeverityInfo,
			Watch:    "Hosts that are not approved are not installed.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_validation_failed", Title: "A check of a host fails",
				Meaning: "A check of the host that passed, or was waiting, fails now.",
				Remedy:  "oaictl why host NAME.",
			},
			Severity: SeverityWarning,
			Watch:    "Matters if it stands; oaictl explain validation NAME explains it.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_validation_fixed", Title: "A check of a host passes again",
				Meaning: "A check of the host that failed passes now.",
			},
			Severity: SeverityInfo,
			Watch:    "One obstacle less.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_media_disconnected", Title: "Discovery image lost",
				Meaning: "The host cannot read the image that it runs from.",
				Cause:   "Virtual media was ejected or timed out, or the line to it is bad.",
				Remedy:  "Attach the image and boot it again; use spec.boot.image: minimal on slow lines.",
				Field:   "spec.boot.image",
			},
			Severity: SeverityError,
			Watch:    "The host cannot be installed as it is.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_installer_args_applied", Title: "Installer arguments taken",
				Meaning: "The host will be installed with the arguments that the user gave.",
				Field:   "spec.hosts[].installerArgs",
			},
			Severity: SeverityInfo,
			Watch:    "The service took them.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_discovery_ignition_config_applied", Title: "Discovery Ignition taken",
				Meaning: "The discovery image contains Ignition that the user gave.",
				Field:   "spec.discovery.ignition",
			},
			Severity: SeverityInfo,
			Watch:    "Hosts that booted an older image do not have it.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_installation_started", Title: "Host is being added",
				Meaning: "The installation of a host for a running cluster starts.",
			},
			Severity: SeverityInfo,
			Watch:    "The beginning for this host.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_install_progress_updated", Title: "Host reached a stage",
				Meaning: "The host has reached the stage, or the percentage, that the message names.",
			},
			Severity: SeverityInfo,
			Watch:    "Progress. oaictl explain stage NAME explains each.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_stage_timed_out", Title: "Host takes long",
				Meaning: "The host has been in its stage for longer than usual. The service goes on waiting.",
				Remedy:  "oaictl explain stage NAME says what to look at.",
			},
			Severity: SeverityWarning,
			Watch:    "Look at the machine now, rather than when it fails.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "reboots_for_node", Title: "Reboots counted",
				Meaning: "How often the node rebooted before it was done.",
			},
			Severity: SeverityInfo,
			Watch:    "More than two or three hint at a machine that reboots by itself.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_installation_cancelled", Title: "Host cancelled",
				Meaning: "The host's installation was cancelled with that of its cluster.",
				Remedy:  "oaictl reset NAME to begin again; on a hub, oaictl delete cluster NAME.",
			},
			Severity: SeverityInfo,
			Watch:    "The end for this host.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_cancel_installation_failed", Title: "Host not cancelled",
				Meaning: "The host's installation could not be cancelled.",
				Remedy:  "Power the machine off if it must not go on.",
			},
			Severity: SeverityError,
			Watch:    "It may go on writing to its disk.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_installation_reset", Title: "Host reset",
				Meaning: "The host was reset.",
				Remedy:  "Boot the machine into the discovery image.",
			},
			Severity: SeverityInfo,
			Watch:    "It has to boot the discovery image again.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_installation_reset_failed", Title: "Host not reset",
				Meaning: "The host could not be reset.",
				Remedy:  "Delete the host and boot it into the discovery image: oaictl delete host NAME.",
			},
			Severity: SeverityError,
			Watch:    "The host is as it was.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_reset_fetch_failed", Title: "Host not reset (database)",
				Meaning: "The service could not read the host that shall be reset.",
				Remedy:  "Reset again; look at the service's logs if it stays.",
			},
			Severity: SeverityError,
			Watch:    "A problem of the service.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_set_status_failed", Title: "Host's status not stored",
				Meaning: "The service could not note that the host waits for its reboot.",
				Remedy:  "Boot the machine into the discovery image; look at the service's logs if it stays.",
			},
			Severity: SeverityError,
			Watch:    "A problem of the service; the host may seem to hang.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "user_required_complete_installation_reset", Title: "Reboot needed for the reset",
				Meaning: "The host has to boot the discovery image for its reset to be complete.",
				Remedy:  "Boot the machine into the discovery image.",
			},
			Severity: SeverityInfo,
			Watch:    "Somebody, or a BMC, has to act.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_bind_succeeded", Title: "Host bound",
				Meaning: "A free host now belongs to the cluster.",
			},
			Severity: SeverityInfo,
			Watch:    "It registers again within a minute.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_bind_failed", Title: "Host not bound",
				Meaning: "A free host could not be bound to the cluster.",
				Cause:   "It is not ready (known-unbound), or has another architecture than the cluster.",
				Remedy:  "oaictl why host NAME.",
			},
			Severity: SeverityError,
			Watch:    "The cluster lacks this host.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_unbind_succeeded", Title: "Host freed",
				Meaning: "The host belongs to no cluster any more.",
			},
			Severity: SeverityInfo,
			Watch:    "One host less for the cluster.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_unbind_failed", Title: "Host not freed",
				Meaning: "The host could not leave its cluster.",
				Cause:   "Its InfraEnv belongs to that cluster, so that its hosts cannot leave.",
				Remedy:  "Delete the host instead: oaictl delete host NAME.",
			},
			Severity: SeverityError,
			Watch:    "The host is as it was.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "image_status_updated", Title: "Image pulled or not",
				Meaning: "A host tried to pull an image; the message has the result, size and rate.",
				Field:   "spec.registry",
			},
			Severity: SeverityInfo,
			Watch:    "A failure keeps the preparation from succeeding.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "disk_speed_slower_than_supported", Title: "Slow disk",
				Meaning: "A host's disk takes longer for a synchronous write than etcd bears; the message has the milliseconds.",
				Cause:   "A spinning or worn disk, or a controller without write cache.",
				Remedy:  "Choose a faster disk with spec.hosts[].disk.hints, or another machine for the role.",
				Field:   "spec.hosts[].disk.hints",
			},
			Severity: SeverityWarning,
			Watch:    "On a control plane host it keeps the preparation from succeeding.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "quick_disk_format_performed", Title: "Disk wiped",
				Meaning: "The beginning of a disk was wiped, so that nothing boots from it later.",
				Field:   "spec.hosts[].disk.keep",
			},
			Severity: SeverityInfo,
			Watch:    "What was on the disk is lost.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "quick_disk_format_skipped", Title: "Disk kept",
				Meaning: "A disk was left alone because the user said so.",
				Field:   "spec.hosts[].disk.keep",
			},
			Severity: SeverityInfo,
			Watch:    "If it is bootable, the machine may boot it instead of the installation disk.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_logs_uploaded", Title: "Logs of a host arrived",
				Meaning: "A host sent its logs.",
			},
			Severity: SeverityInfo,
			Watch:    "oaictl logs has more now.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "host_boot_logs_uploaded", Title: "Boot logs of a host arrived",
				Meaning: "The logs of a host's first boot from disk arrived.",
			},
			Severity: SeverityInfo,
			Watch:    "oaictl logs has more now.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "upgrade_agent_started", Title: "Agent is being replaced",
				Meaning: "The host's discovery agent is of another version than the service and fetches the right one.",
			},
			Severity: SeverityInfo,
			Watch:    "The host waits for it, a minute or so.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "upgrade_agent_finished", Title: "Agent replaced",
				Meaning: "The host's discovery agent restarts with the right version.",
			},
			Severity: SeverityInfo,
			Watch:    "Goes on by itself.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectHost, Name: "upgrade_agent_failed", Title: "Agent not replaced",
				Meaning: "The host could not pull the agent's image; it tries again.",
				Cause:   "No way to the registry.",
				Remedy:  "Open the way to the registry, or boot the host from a fresh image.",
				Field:   "spec.registry",
			},
			Severity: SeverityError,
			Watch:    "The host cannot be installed until it succeeds.",
		},
	}
}
