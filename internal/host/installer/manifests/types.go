package manifests

// The types are the parts of Kubernetes' types that the manifests use. k8s.io/api has whole ones, which would make the program
// of the machines three megabytes larger; a test reads the manifests with them.

type head struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
}

type metadata struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

type machineConfig struct {
	head
	Spec map[string]any `json:"spec"`
}

// Rule is a rule of a ClusterRole.
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
}

type role struct {
	head
	Rules []Rule `json:"rules"`
}

type subject struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	APIGroup  string `json:"apiGroup,omitempty"`
}

type binding struct {
	head
	RoleRef  subject   `json:"roleRef"`
	Subjects []subject `json:"subjects"`
}

type config struct {
	head
	Data map[string]string `json:"data"`
}

type secretObject struct {
	head
	Type       string            `json:"type"`
	StringData map[string]string `json:"stringData"`
}

type jobObject struct {
	head
	Spec jobSpec `json:"spec"`
}

type jobSpec struct {
	BackoffLimit int         `json:"backoffLimit"`
	Template     podTemplate `json:"template"`
}

type podTemplate struct {
	Metadata metadata `json:"metadata"`
	Spec     podSpec  `json:"spec"`
}

type podSpec struct {
	HostAliases        []hostAlias       `json:"hostAliases,omitempty"`
	Containers         []container       `json:"containers"`
	RestartPolicy      string            `json:"restartPolicy"`
	HostNetwork        bool              `json:"hostNetwork"`
	NodeSelector       map[string]string `json:"nodeSelector"`
	ServiceAccountName string            `json:"serviceAccountName"`
	Tolerations        []toleration      `json:"tolerations"`
	Volumes            []volume          `json:"volumes"`
}

type hostAlias struct {
	IP        string   `json:"ip"`
	Hostnames []string `json:"hostnames"`
}

type container struct {
	Name            string     `json:"name"`
	Image           string     `json:"image"`
	ImagePullPolicy string     `json:"imagePullPolicy"`
	Env             []variable `json:"env"`
	VolumeMounts    []mount    `json:"volumeMounts"`
}

type variable struct {
	Name      string  `json:"name"`
	Value     string  `json:"value,omitempty"`
	ValueFrom *source `json:"valueFrom,omitempty"`
}

type source struct {
	ConfigMapKeyRef configKey `json:"configMapKeyRef"`
}

type configKey struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional,omitempty"`
}

type mount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

type toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Effect   string `json:"effect"`
}

type volume struct {
	Name     string        `json:"name"`
	HostPath *hostPath     `json:"hostPath,omitempty"`
	Secret   *secretVolume `json:"secret,omitempty"`
}

type hostPath struct {
	Path string `json:"path"`
}

type secretVolume struct {
	SecretName string      `json:"secretName"`
	Items      []keyToPath `json:"items"`
}

type keyToPath struct {
	Key  string `json:"key"`
	Path string `json:"path"`
	Mode int    `json:"mode"`
}
