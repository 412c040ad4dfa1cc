package catalogue

// infraEnvEvents are the events of an InfraEnv.
func infraEnvEvents() []EventEntry {
	return []EventEntry{
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "infra_env_registered", Title: "InfraEnv created",
				Meaning: "The InfraEnv was created in the service.",
			},
			Severity: SeverityInfo,
			Watch:    "Its discovery image can be downloaded.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "infra_env_registration_failed", Title: "InfraEnv not created",
				Meaning: "The InfraEnv could not be created.",
				Remedy:  "Correct what the error names and run oaictl create cluster -f FILE again.",
			},
			Severity: SeverityError,
			Watch:    "There is no image to boot.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "infra_env_deregistered", Title: "InfraEnv deleted",
				Meaning: "Somebody deleted the InfraEnv.",
			},
			Severity: SeverityInfo,
			Watch:    "Its image is gone; machines that boot it are refused.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "infra_env_deregister_failed", Title: "InfraEnv not deleted",
				Meaning: "The InfraEnv could not be deleted, as a rule because it still has hosts.",
				Remedy:  "Delete its hosts first: oaictl delete host NAME.",
			},
			Severity: SeverityError,
			Watch:    "The InfraEnv is still there.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "image_info_updated", Title: "Image settings changed",
				Meaning: "What the discovery image contains was changed; the message has the new contents.",
			},
			Severity: SeverityInfo,
			Watch:    "Hosts that booted the former image do not have the change; boot them again if it matters.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "ignition_config_image_generated", Title: "Image made",
				Meaning: "A discovery image was made; the message has its contents.",
			},
			Severity: SeverityInfo,
			Watch:    "It can be downloaded.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "existing_image_reused", Title: "Image used again",
				Meaning: "The discovery image was the same as before and was not made anew.",
			},
			Severity: SeverityInfo,
			Watch:    "It can be downloaded.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "generate_image_fetch_failed", Title: "Image not made (database)",
				Meaning: "The service could not read the InfraEnv after it was changed.",
				Remedy:  "Try again; look at the service's logs if it stays.",
			},
			Severity: SeverityError,
			Watch:    "A problem of the service; there is no new image.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "generate_image_format_failed", Title: "Image not made (Ignition)",
				Meaning: "The Ignition of the discovery image could not be put together.",
				Cause:   "An override that does not fit, in spec.discovery.ignition or spec.overrides.infraEnv.",
				Remedy:  "Correct the override.",
				Field:   "spec.discovery.ignition",
			},
			Severity: SeverityError,
			Watch:    "There is no new image.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "generate_minimal_iso_failed", Title: "Minimal image not made",
				Meaning: "The minimal discovery image could not be made.",
				Cause:   "The image service could not fetch what it is made from, or static network settings do not fit.",
				Remedy:  "Look at the image service's logs, or use spec.boot.image: full.",
				Field:   "spec.boot.image",
			},
			Severity: SeverityError,
			Watch:    "There is no new image.",
		},
		{
			Entry: Entry{
				Kind: KindEvent, Subject: SubjectInfraEnv, Name: "upload_image_failed", Title: "Image not stored",
				Meaning: "The discovery image could not be stored.",
				Remedy:  "Look at the service's storage and logs.",
			},
			Severity: SeverityError,
			Watch:    "A problem of the service; there is no new image.",
		},
	}
}
