package catalogue

// CategoryKubeAPI is the category of what a hub says of the objects themselves.
// It is none of validations_info.
const CategoryKubeAPI = "kube-api"

// SpecSynced is the check that stands for the condition SpecSynced of an
// AgentClusterInstall and of an Agent (agent-install.openshift.io). It fails for
// the condition's reason InputError and is pending for BackendError.
const SpecSynced = "spec-synced"

// hubObjects are the checks of objects on a hub.
func hubObjects() []ValidationEntry {
	const retried = " What is at fault in the service itself, it tries again by itself."
	return []ValidationEntry{
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectCluster, Name: SpecSynced, Title: "Service takes the cluster as it is described",
				Meaning: "The hub's objects of the cluster say something that the service does not take, or refer to something that " +
					"is not there. It gets no further with the cluster until that is changed.",
				Cause: "A release image that cannot be read, a missing Secret, ConfigMap or ClusterImageSet, manifests or overrides " +
					"that are malformed, or a combination of settings that the service refuses." + retried,
				Check:  "The message says what it is: kubectl get agentclusterinstall NAME -o yaml shows it in the condition SpecSynced.",
				Remedy: "Correct in the file what the message names and run oaictl create cluster -f FILE again.",
				Field:  "spec",
			},
			Category: CategoryKubeAPI, Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
		},
		{
			Entry: Entry{
				Kind: KindValidation, Subject: SubjectHost, Name: SpecSynced, Title: "Service takes the host as it is described",
				Meaning: "The host's Agent on the hub says something that the service does not take. The host keeps what it was set " +
					"to before, and no installation starts with it.",
				Cause: "Installer arguments or Ignition that are malformed, a label that no node can have, a hostname that is not " +
					"valid, a disk that is not there, or root device hints that no disk fits." + retried,
				Check:  "The message says what it is: kubectl get agent NAME -o yaml shows it in the condition SpecSynced.",
				Remedy: "Correct the host in spec.hosts as the message says and run oaictl create cluster -f FILE again.",
				Field:  "spec.hosts",
			},
			Category: CategoryKubeAPI, Blocking: true, Ignorable: false, Cure: CureFile, Debounce: 1,
		},
	}
}
