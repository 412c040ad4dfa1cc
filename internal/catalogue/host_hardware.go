package catalogue

// hostHardware are the checks of what a machine is made of and calls itself.
func hostHardware() []ValidationEntry {
	return []ValidationEntry{
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-inventory", Title: "Host has sent its inventory",
				Meaning: "The service knows of the host but has not received its hardware description, so no other check of it can be " +
					"made.",
				Cause: "The host has just booted, or its discovery agent cannot finish the hardware scan.",
				Check: "On the host: journalctl -u agent. In oaictl get hosts the hardware columns are empty.",
				Remedy: "Wait two minutes after the boot. If nothing comes, reboot the host into the discovery image; if it comes " +
					"back the same, collect its logs with oaictl logs.",
			},
			Category: "hardware", Blocking: true, Ignorable: false, Cure: CureWait, Debounce: 2,
			ConsequenceOf: []Ref{{SubjectHost, "connected"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "inventory-not-partially-truncated", Title: "Inventory is complete",
				Meaning: "The hardware description was too long for the service, so that parts of it are missing. The installation may " +
					"start, with less known about the host.",
				Cause: "The machine has an unusually large number of disks, paths or virtual functions.",
				Check: "oaictl describe host NAME: compare disks and interfaces with what the machine has.",
				Remedy: "Take disks and paths that the cluster does not need away from the machine (unmap LUNs, disable unused " +
					"virtual functions), then reboot it into the discovery image.",
				Field: "spec.hosts[].disk",
			},
			Category: "hardware", Blocking: false, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "inventory-not-fully-truncated"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "inventory-not-fully-truncated", Title: "Inventory is readable",
				Meaning: "The hardware description was too long for the service and nothing of it could be used.",
				Cause:   "The machine shows hundreds of disks, multipath paths or virtual functions.",
				Check:   "On the host: lsblk and ip link, counted by wc -l.",
				Remedy: "Take disks and paths that the cluster does not need away from the machine (unmap LUNs, disable unused " +
					"virtual functions), then reboot it into the discovery image.",
			},
			Category: "hardware", Blocking: true, Ignorable: false, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-min-cpu-cores", Title: "Enough CPU cores for any role",
				Meaning: "The host has fewer CPU cores than even the smallest role needs (2).",
				Cause:   "A virtual machine that was made too small, or cores that are disabled in the firmware.",
				Check:   "oaictl describe host NAME, or nproc on the host.",
				Remedy:  "Give the machine more cores, or take it out of the cluster: power it off and run oaictl delete host NAME.",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-cpu-cores-for-role", Title: "Enough CPU cores for its role",
				Meaning: "The host has fewer CPU cores than its role needs: control plane 4, worker 2, arbiter 2, single node 8 (4 " +
					"from OpenShift 4.22), and more with operators.",
				Cause:  "A small machine has got a role that asks for more, or operators raise what is needed.",
				Check:  "oaictl describe host NAME. The message says how many cores are needed and how many there are.",
				Remedy: "Give the machine more cores, give the role to a larger machine in spec.hosts[].role, or leave out operators.",
				Field:  "spec.hosts[].role",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}, {SubjectHost, "has-min-cpu-cores"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-min-memory", Title: "Enough memory for any role",
				Meaning: "The host has less memory than even the smallest role needs (8 GiB).",
				Cause:   "A virtual machine that was made too small, or memory modules that the firmware does not see.",
				Check:   "oaictl describe host NAME, or free -m on the host.",
				Remedy:  "Give the machine more memory, or take it out of the cluster: power it off and run oaictl delete host NAME.",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-memory-for-role", Title: "Enough memory for its role",
				Meaning: "The host has less memory than its role needs: control plane and single node 16 GiB, worker and arbiter 8 " +
					"GiB, and more with operators.",
				Cause: "A small machine has got a role that asks for more, memory is taken by devices or firmware, or operators " +
					"raise what is needed.",
				Check: "oaictl describe host NAME. The message says how much is needed and how much there is.",
				Remedy: "Give the machine more memory, give the role to a larger machine in spec.hosts[].role, or leave out " +
					"operators.",
				Field: "spec.hosts[].role",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}, {SubjectHost, "has-min-memory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "has-min-valid-disks", Title: "A disk that can be installed on",
				Meaning: "No disk of the host can take the installation. A disk has to have 100 GB (arbiter 50 GB), be writable and of " +
					"a supported kind, and not be removable.",
				Cause: "The disks are too small, hidden behind a RAID controller without a volume, on an unsupported bus, or in use " +
					"by LVM or multipath.",
				Check: "oaictl describe host NAME lists every disk with the reasons why it is not eligible. On the host: lsblk -o " +
					"NAME,SIZE,TYPE,TRAN,RO.",
				Remedy: "Add or enlarge a disk, create a volume on the RAID controller, or free the disk; the host reports it within " +
					"a minute, after a reboot at the latest.",
				Field: "spec.hosts[].disk",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "hostname-unique", Title: "Hostname is unique",
				Meaning: "Another host of the cluster has the same hostname.",
				Cause:   "The machines get one name from DHCP or a template, or two entries of the file use one hostname.",
				Check:   "oaictl get hosts shows the hostname of every host.",
				Remedy:  "Give every machine its own name: an entry under spec.hosts with name, or hostname where that shall differ.",
				Field:   "spec.hosts[].hostname",
			},
			Category: "hardware", Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "hostname-valid", Title: "Hostname is valid",
				Meaning: "The hostname is no DNS name that a node can have: lower case letters, digits, dashes and dots, at most 63 a " +
					"label, not localhost.",
				Cause: "DHCP and reverse DNS give the machine no name, so that it calls itself localhost; or the name has capitals " +
					"or underscores.",
				Check:  "hostnamectl on the host; oaictl get hosts.",
				Remedy: "Set the name in the file: an entry under spec.hosts with name, or hostname where that shall differ.",
				Field:  "spec.hosts[].hostname",
			},
			Category: "hardware", Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "compatible-with-cluster-platform", Title: "Host fits the platform",
				Meaning: "The machine is not of the kind that the cluster's platform needs, such as a bare metal server in a vSphere " +
					"or Nutanix cluster.",
				Cause: "spec.platform names another infrastructure than the one the machine runs on.",
				Check: "oaictl describe host NAME: manufacturer and product of the system.",
				Remedy: "Set spec.platform to what all machines have in common: baremetal for servers, none if they differ. Or take " +
					"the machine out.",
				Field: "spec.platform.type",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "compatible-agent", Title: "Discovery agent fits the service",
				Meaning: "The host runs a discovery agent of another version than the service wants.",
				Cause:   "The discovery image is older than the service; the agent is told to replace itself.",
				Check:   "oaictl get events shows upgrade_agent_started, _finished or _failed.",
				Remedy: "Wait some minutes for the upgrade. If it fails, see that the host can pull the agent's image, or boot it " +
					"from a fresh image: oaictl download iso NAME.",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureWait, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "disk-encryption-requirements-satisfied", Title: "Disk encryption is possible",
				Meaning: "The host shall have its disk encrypted and lacks what that takes: a TPM 2.0, or a way to the Tang servers.",
				Cause: "The TPM is missing, is of version 1.2 or switched off in the firmware; or a Tang server does not answer, or " +
					"its thumbprint is wrong.",
				Check: "For TPM: oaictl describe host NAME shows its version. For Tang, from the host: curl http://TANG/adv.",
				Remedy: "Switch the TPM on in the firmware and reboot; for Tang correct url and thumbprint in " +
					"spec.diskEncryption.tang or open the way to the server. Or take the role out of spec.diskEncryption.on.",
				Field: "spec.diskEncryption",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "vsphere-disk-uuid-enabled", Title: "Disk UUIDs are visible",
				Meaning: "The virtual machine does not show its disks' UUIDs, which the vSphere storage driver needs.",
				Cause:   "disk.EnableUUID is not set on the virtual machine.",
				Check:   "In vSphere: VM, Edit settings, Advanced parameters.",
				Remedy:  "Shut the VM down, set disk.EnableUUID to TRUE and boot it into the discovery image again.",
				Field:   "spec.platform.type",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
			ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "no-skip-installation-disk", Title: "Installation disk is not a kept disk",
				Meaning: "The disk chosen for the installation is among the disks that shall not be formatted.",
				Cause:   "spec.hosts[].disk.keep names the disk that the hints, or the service, choose for the installation.",
				Check:   "oaictl plan -f FILE names the installation disk and the kept disks of every host.",
				Remedy:  "Take that disk out of keep, or write hints that choose another disk.",
				Field:   "spec.hosts[].disk.keep",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "no-skip-missing-disk", Title: "Kept disks exist",
				Meaning: "The list of disks that shall not be formatted names a disk that the host does not have.",
				Cause:   "A disk was removed or has another id after a reboot.",
				Check:   "oaictl describe host NAME lists the disks that there are.",
				Remedy:  "Correct spec.hosts[].disk.keep; use a name that stays, such as /dev/disk/by-id/….",
				Field:   "spec.hosts[].disk.keep",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: "sufficient-installation-disk-speed", Title: "Installation disk is fast enough",
				Meaning: "Writing to the installation disk takes longer than etcd bears (10 ms for each synchronous write on control " +
					"plane hosts).",
				Cause: "A spinning or worn disk, a RAID controller without write cache, or storage shared with other load.",
				Check: "The event disk_speed_slower_than_supported has the measured milliseconds. On the host: fio with fdatasync=1.",
				Remedy: "Choose a faster disk with spec.hosts[].disk.hints, switch the controller's write cache on, or give the role " +
					"to another machine. The check runs anew with the next attempt to install.",
				Field: "spec.hosts[].disk.hints",
			},
			Category: "hardware", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
		},
	}
}
