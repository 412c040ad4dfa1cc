package manifests

import "strconv"

func labels() map[string]string { return map[string]string{"app": Controller} }

func of(apiVersion, kind, name string) head {
	return head{APIVersion: apiVersion, Kind: kind, Metadata: metadata{Name: name, Namespace: Namespace}}
}

// namespace allows the controller's pod to use the host's network and files.
func namespace() head {
	return head{APIVersion: "v1", Kind: "Namespace", Metadata: metadata{Name: Namespace, Labels: map[string]string{
		"security.openshift.io/scc.podSecurityLabelSync": "false",
		"pod-security.kubernetes.io/enforce":             "privileged",
		"pod-security.kubernetes.io/audit":               "privileged",
		"pod-security.kubernetes.io/warn":                "privileged",
	}}}
}

func serviceAccount() head { return of("v1", "ServiceAccount", Controller) }

func clusterRole(rules []Rule) role {
	return role{head: of("rbac.authorization.k8s.io/v1", "ClusterRole", Controller), Rules: rules}
}

func roleBinding() binding {
	return binding{
		head:     of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", Controller),
		RoleRef:  subject{Kind: "ClusterRole", Name: Controller, APIGroup: "rbac.authorization.k8s.io"},
		Subjects: []subject{{Kind: "ServiceAccount", Name: Controller, Namespace: Namespace}},
	}
}

func networkPolicy() head {
	return of("networking.k8s.io/v1", "NetworkPolicy", "assisted-installer-network-policy")
}

func configMap(o Options) config {
	c := config{head: of("v1", "ConfigMap", configName), Data: map[string]string{
		"cluster-id":             o.ClusterID,
		"inventory-url":          o.ServiceURL,
		"skip-cert-verification": strconv.FormatBool(o.Insecure),
		"ca-cert-path":           o.CACertPath,
		"check-cluster-version":  strconv.FormatBool(o.CheckClusterVersion),
		"control-plane-count":    strconv.Itoa(o.ControlPlaneCount),
		"must-gather-image":      o.MustGatherImage,
	}}
	c.Metadata.Labels = labels()
	return c
}

func secret(o Options) secretObject {
	s := secretObject{
		head: of("v1", "Secret", secretName), Type: "Opaque", StringData: map[string]string{"pull-secret-token": o.PullSecretToken},
	}
	s.Metadata.Labels = labels()
	return s
}

// job runs the controller on a control plane node, also before the node's network works.
func job(o Options) jobObject {
	const tries = 100
	pod := podSpec{
		Containers: []container{{
			Name: Controller, Image: o.Image, ImagePullPolicy: "IfNotPresent", Env: variables(o),
		}},
		RestartPolicy:      "OnFailure",
		HostNetwork:        true,
		NodeSelector:       map[string]string{"node-role.kubernetes.io/master": ""},
		ServiceAccountName: Controller,
		Tolerations:        tolerations(o.SingleNode),
	}
	for _, ip := range o.ServiceIPs {
		pod.HostAliases = append(pod.HostAliases, hostAlias{IP: ip, Hostnames: []string{serviceName}})
	}
	for _, m := range mounts(o) {
		pod.Volumes = append(pod.Volumes, m.volume)
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, mount{Name: m.volume.Name, MountPath: m.at})
	}
	return jobObject{
		head: of("batch/v1", "Job", Controller),
		Spec: jobSpec{BackoffLimit: tries, Template: podTemplate{Metadata: metadata{Labels: labels()}, Spec: pod}},
	}
}

func variables(o Options) []variable {
	fromConfig := func(name, key string, optional bool) variable {
		return variable{Name: name, ValueFrom: &source{configKey{Name: configName, Key: key, Optional: optional}}}
	}
	return []variable{
		fromConfig("CLUSTER_ID", "cluster-id", false),
		fromConfig("INVENTORY_URL", "inventory-url", false),
		fromConfig("CA_CERT_PATH", "ca-cert-path", true),
		fromConfig("SKIP_CERT_VERIFICATION", "skip-cert-verification", true),
		{Name: "OPENSHIFT_VERSION", Value: o.OpenShiftVersion},
		{Name: "NOTIFY_NUM_REBOOTS", Value: strconv.FormatBool(o.NotifyNumReboots)},
		fromConfig("CONTROL_PLANE_COUNT", "control-plane-count", true),
		fromConfig("CHECK_CLUSTER_VERSION", "check-cluster-version", true),
		fromConfig("MUST_GATHER_IMAGE", "must-gather-image", true),
	}
}

func tolerations(singleNode bool) []toleration {
	keys := []string{"node-role.kubernetes.io/master"}
	if singleNode {
		keys = append(keys, "node.kubernetes.io/not-ready", "node.kubernetes.io/network-unavailable")
	}
	var all []toleration
	for _, key := range keys {
		all = append(all, toleration{Key: key, Operator: "Exists", Effect: "NoSchedule"})
	}
	return all
}

// mounted is a volume, and where the container has it.
type mounted struct {
	volume
	at string
}

func mounts(o Options) []mounted {
	fromHost := func(name, path, at string) mounted {
		return mounted{volume{Name: name, HostPath: &hostPath{path}}, at}
	}
	const onlyOwner = 0o400
	all := []mounted{
		fromHost("host-ca-bundle", "/etc/pki", "/etc/pki"),
		fromHost("host-var-run-resolv-conf", "/var/run/NetworkManager/resolv.conf", "/tmp/var-run-resolv.conf"),
		fromHost("host-resolv-conf", "/etc/resolv.conf", "/tmp/host-resolv.conf"),
		{volume{Name: "pull-secret", Secret: &secretVolume{
			SecretName: secretName, Items: []keyToPath{{Key: "pull-secret-token", Path: "token", Mode: onlyOwner}},
		}}, "/etc/" + Controller},
	}
	if o.SingleNode {
		all = append(all, fromHost("sno-bootstrap-files", "/etc/kubernetes/bootstrap-secrets", "/tmp/bootstrap-secrets"))
	}
	if o.CACertPath != "" {
		all = append(all, fromHost("service-ca-cert-config", o.CACertPath, o.CACertPath))
	}
	return all
}
