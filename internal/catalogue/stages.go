package catalogue

import "time"

// stages are the stages of hosts and of finalizing, with their places.
func stages() []StageEntry {
	hosts, finalizing := hostStages(), finalizingStages()
	for i := range hosts {
		if hosts[i].Name != failed {
			hosts[i].Order = i + 1
		}
		hosts[i].Paths = pathsOf(hosts[i].Name)
	}
	for i := range finalizing {
		finalizing[i].Order = i + 1
	}
	return append(hosts, finalizing...)
}

// hostStages are the stages of a host's installation, roughly in their order.
// A text that begins with "If it lasts" blames only a stage beyond its budget.
func hostStages() []StageEntry {
	return []StageEntry{
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: starting, Title: "Starts",
				Meaning: "The host has taken the order to install and starts the installer, which cleans the disks.",
				Cause:   "If it lasts: the installer's image is being pulled, or old LVM or RAID volumes on the disk resist.",
				Check:   "On the host: podman ps -a and journalctl -u agent.",
				Remedy:  "See that the host reaches the registry; wipe the disk if the installer complains about it.",
			},
			Budget: 30 * time.Minute, Usual: 20 * time.Second,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: installing, Title: "Prepares",
				Meaning: "The installer runs on the host: it fetches Ignition and, on the bootstrap host, starts the temporary control " +
					"plane.",
				Cause:  "If it lasts: images come slowly.",
				Check:  "On the host: podman logs of the container assisted-installer.",
				Remedy: "See that the host reaches service and registry at a good rate.",
			},
			Budget: time.Hour, Usual: time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: writing, Title: "Writes the disk",
				Meaning: "CoreOS is written to the installation disk. The percentage counts the image; each step of it starts the time " +
					"anew.",
				Cause:  "If it lasts: a slow disk, or a slow line that the image comes over.",
				Check:  "oaictl get hosts shows the percentage; on the host: iostat -x 2.",
				Remedy: "Repair the line, or choose a faster disk with spec.hosts[].disk.hints and install again.",
				Field:  "spec.hosts[].disk",
			},
			Budget: 30 * time.Minute, Usual: 4 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: copying, Title: "Copies the registry",
				Meaning: "The registry on the discovery image is copied to the disk, for sites without any other one. Other images " +
					"pass it over.",
				Cause:  "If it lasts: virtual media is slow, since tens of gigabytes are read from it.",
				Check:  "On the host: iostat -x 2.",
				Remedy: "Attach the image by USB or from a server near by.",
				Field:  "spec.boot.image",
			},
			Budget: 90 * time.Minute, Usual: 10 * time.Second,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: controlPlane, Title: "Waits for the control plane",
				Meaning: "The bootstrap host waits for two control plane nodes to join; a worker waits until the control plane is " +
					"there to join to.",
				Cause: "If it lasts: the other control plane hosts do not reboot from their disks, or do not reach the API at its " +
					"virtual address.",
				Check:  "The stages of the control plane hosts in oaictl get hosts. On the bootstrap host: journalctl -u bootkube.",
				Remedy: "Look at the control plane hosts first: their boot order, their network, the names api-int and api.",
			},
			Budget: time.Hour, Usual: 12 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: bootkube, Title: "Waits for the first control plane",
				Meaning: "The temporary control plane on the bootstrap host, or the single node's own, comes up and hands over.",
				Cause:   "If it lasts: images cannot be pulled, etcd gets no quorum, or DNS and virtual addresses are wrong.",
				Check:   "On the bootstrap host: journalctl -b -u bootkube -f.",
				Remedy:  "Cure what bootkube complains about; it tries again by itself.",
			},
			Budget: time.Hour, Usual: 8 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: controller, Title: "Waits for the controller",
				Meaning: "The bootstrap host waits for the installer's controller to run in the new cluster, before it reboots into " +
					"it.",
				Cause:  "If it lasts: the controller's image cannot be pulled or its pod finds no node.",
				Check:  "With auth/kubeconfig-noingress: oc get pods -n assisted-installer.",
				Remedy: "Cure what the pod's events say.",
			},
			Budget: time.Hour, Usual: 3 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: rebooting, Title: "Reboots",
				Meaning: "The host reboots into its disk. Until its node is seen, nothing is heard of it.",
				Cause: "If it lasts: the machine boots the discovery image or the network again, hangs in its firmware, or comes up " +
					"without network.",
				Check:  "The machine's console.",
				Remedy: "Detach the discovery image, put the installation disk first in the boot order and reboot.",
			},
			Budget: 40 * time.Minute, SingleNodeBudget: 80 * time.Minute, Usual: 6 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: ignition, Title: "Waits for its configuration",
				Meaning: "The worker has booted its disk and waits until the control plane serves its configuration.",
				Cause:   "If it lasts: the control plane is not up yet, or the worker does not reach api-int on port 22623.",
				Check: "The machine's console shows each attempt; from the host's network: curl -k " +
					"https://api-int.CLUSTER.DOMAIN:22623/healthz.",
				Remedy: "Open port 22623, or correct the record or virtual address of the API.",
			},
			Budget: 24 * time.Hour, Usual: 4 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: configuring, Title: "Configures itself",
				Meaning: "The host has fetched its configuration, applies it and reboots once more.",
				Cause:   "If it lasts: the image of the operating system cannot be pulled or its pool's configuration is broken.",
				Check:   "The machine's console; in the cluster: oc get machineconfigpools.",
				Remedy:  "Cure what the console complains about, then reboot the host.",
			},
			Budget: time.Hour, Usual: 3 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: joined, Title: "Joined",
				Meaning: "The host is a node of the cluster and not ready yet.",
				Cause:   "If it lasts: its network plug-in does not start, or its certificate requests wait for approval.",
				Check:   "In the cluster: oc get nodes, oc get csr, and the events of the node.",
				Remedy:  "Approve pending requests with oc adm certificate approve, and see that the node pulls images.",
			},
			Budget: time.Hour, Usual: 3 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: done, Title: "Done",
				Meaning: "The host is a ready node. A host added to a running cluster counts as done when it reboots.",
			},
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectHost, Name: failed, Title: "Failed",
				Meaning: "The installer on the host gave up; the progress text has its reason.",
				Cause:   "The disk could not be written, an image could not be pulled, or a wait ran out.",
				Check:   "oaictl why host NAME, then oaictl logs NAME.",
				Remedy:  "Cure the reason, then oaictl reset NAME (on a hub: oaictl delete cluster NAME) and boot the host into the discovery image again.",
			},
		},
	}
}

// finalizingStages are the stages of a cluster's finalizing, in their order.
func finalizingStages() []StageEntry {
	return []StageEntry{
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: clusterOps, Title: "Operators of the cluster start",
				Meaning: "The operators that make up the cluster become available: console, ingress, authentication and the others.",
				Cause: "If it lasts: ingress or console cannot be reached through the ingress address, images cannot be pulled, or " +
					"too few nodes can run them.",
				Check:  "oaictl describe cluster NAME; in the cluster: oc get clusteroperators.",
				Remedy: "Cure the first operator that is degraded; the others often wait for it.",
			},
			Budget: 70 * time.Minute, Hard: 10 * time.Hour, Usual: 15 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: routerCA, Title: "Certificate of ingress",
				Meaning: "The certificate authority of ingress is put into the kubeconfig. From here on it can be downloaded.",
				Cause:   "If it lasts: the ingress operator has not made its certificate yet.",
				Check:   "In the cluster: oc get configmap -n openshift-config-managed default-ingress-cert.",
				Remedy:  "Cure the ingress operator.",
			},
			Budget: 70 * time.Minute, Usual: 20 * time.Second,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: olmManifests, Title: "Applies manifests of chosen operators",
				Meaning: "The manifests that install the chosen operators are applied. This never fails the installation.",
				Cause:   "If it lasts: the API does not answer steadily.",
				Check:   "In the cluster: oc get subscriptions -A.",
				Remedy:  "Wait; the service goes on by itself.",
				Field:   "spec.operators",
			},
			Budget: 10 * time.Minute, Usual: 30 * time.Second,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: olmCSVInit, Title: "Chosen operators are unpacked",
				Meaning: "The operator lifecycle manager resolves and unpacks the chosen operators.",
				Cause: "If it lasts: the catalogue's image cannot be pulled, which in a disconnected site means that it is not " +
					"mirrored.",
				Check:  "In the cluster: oc get catalogsources -n openshift-marketplace and oc get installplans -A.",
				Remedy: "Mirror the catalogue, or leave the operators out: the cluster is installed without them, as degraded.",
				Field:  "spec.operators",
			},
			Budget: 70 * time.Minute, Usual: 3 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: olmCSV, Title: "Chosen operators start",
				Meaning: "The chosen operators come up.",
				Cause:   "If it lasts: their pods cannot be scheduled or their images not be pulled.",
				Check:   "In the cluster: oc get csv -A and the events of their pods.",
				Remedy:  "Cure what the pods' events say. Operators that fail leave the cluster installed, as degraded.",
				Field:   "spec.operators",
			},
			Budget: 70 * time.Minute, Usual: 5 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: olmSetupJobs, Title: "Chosen operators are set up",
				Meaning: "Jobs set the chosen operators up, such as a storage cluster for them.",
				Cause:   "If it lasts: a job fails, as a rule for lack of a disk.",
				Check:   "In the cluster: oc get jobs -n assisted-installer and their logs.",
				Remedy:  "Cure what the job complains about.",
				Field:   "spec.operators",
			},
			Budget: 10 * time.Minute, Usual: 2 * time.Minute,
		},
		{
			Entry: Entry{
				Kind: KindStage, Subject: SubjectCluster, Name: finalizingDone, Title: "Done",
				Meaning: "Nothing is left to be done; the cluster becomes installed in a moment.",
			},
		},
	}
}
