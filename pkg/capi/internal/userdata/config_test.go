//go:build e2e

package userdata_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
)

func TestConfigOf(t *testing.T) {
	for _, test := range []struct {
		name string
		spec v1beta1.OpenshiftAssistedConfigSpec
		want userdata.Config
	}{
		{name: "nothing"},
		{
			name: "commands and paths",
			spec: v1beta1.OpenshiftAssistedConfigSpec{
				PreBootstrapCommands: []string{"a"}, PostBootstrapCommands: []string{"b"},
				BootstrapCommandSentinelDir: "/var/lib/x/", PostBootstrapKubeconfigPath: "/a/../b",
			},
			want: userdata.Config{PreCommands: []string{"a"}, PostCommands: []string{"b"}, SentinelDir: "/var/lib/x", Kubeconfig: "/b"},
		},
		{
			name: "node registration",
			spec: v1beta1.OpenshiftAssistedConfigSpec{NodeRegistration: v1beta1.NodeRegistrationOptions{
				Name:               "$METADATA_NAME",
				KubeletExtraLabels: []string{"metal3.io/uuid=$METADATA_UUID", " a=b ", "node-role.kubernetes.io/infra", "a=c", "b=${METADATA_X}=y"},
				ProviderID:         `openstack://"$METADATA_UUID"`,
			}},
			want: userdata.Config{
				Name: "$METADATA_NAME", ProviderID: "openstack://$METADATA_UUID",
				Labels: map[string]string{"metal3.io/uuid": "$METADATA_UUID", "a": "c", "node-role.kubernetes.io/infra": "", "b": "${METADATA_X}=y"},
			},
		},
		{
			name: "quoted as for a shell",
			spec: v1beta1.OpenshiftAssistedConfigSpec{NodeRegistration: v1beta1.NodeRegistrationOptions{
				Name: `"$METADATA_NAME"`, KubeletExtraLabels: []string{`metal3.io/uuid="${METADATA_UUID}"`, `a="b"`, `"c=d"`},
			}},
			want: userdata.Config{
				Name: "$METADATA_NAME", Labels: map[string]string{"metal3.io/uuid": "${METADATA_UUID}", "a": "b", "c": "d"},
			},
		},
		{
			name: "variable without its $",
			spec: v1beta1.OpenshiftAssistedConfigSpec{NodeRegistration: v1beta1.NodeRegistrationOptions{Name: "METADATA_LOCAL_HOSTNAME"}},
			want: userdata.Config{Name: "$METADATA_LOCAL_HOSTNAME"},
		},
		{
			name: "static name in capitals",
			spec: v1beta1.OpenshiftAssistedConfigSpec{NodeRegistration: v1beta1.NodeRegistrationOptions{Name: "CP-0.Example.com"}},
			want: userdata.Config{Name: "cp-0.example.com"},
		},
		{
			name: "the hostname that the service is told",
			spec: v1beta1.OpenshiftAssistedConfigSpec{Hostname: "cp-0", NodeRegistration: v1beta1.NodeRegistrationOptions{Name: "$METADATA_NAME"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := userdata.ConfigOf(&v1beta1.OpenshiftAssistedConfig{Spec: test.spec})
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want.SentinelDir == "" {
				want.SentinelDir, want.Kubeconfig = userdata.DefaultSentinelDir, userdata.DefaultKubeconfig
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The fields are merged over the annotations.
func TestOverridesOfConfig(t *testing.T) {
	override := func(path, content string) string {
		return `{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/both","overwrite":true,"contents":{"source":"data:,` + content + `"}},{"path":"` + path + `","contents":{"source":"data:,x"}}]}}`
	}
	config := &v1beta1.OpenshiftAssistedConfig{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			v1beta1.DiscoveryIgnitionOverrideAnnotation: override("/etc/discovery", "annotation"),
			v1beta1.IgnitionOverrideAnnotation:          override("/etc/annotation", "annotation"),
		}},
		Spec: v1beta1.OpenshiftAssistedConfigSpec{IgnitionOverride: override("/etc/field", "field")},
	}
	c, err := userdata.ConfigOf(config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Annotations[v1beta1.DiscoveryIgnitionOverrideAnnotation], string(c.DiscoveryOverride)); diff != "" {
		t.Error(diff)
	}
	install, err := userdata.Install(c, userdata.Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, "")
	m.apply(install)
	for path, want := range map[string]string{"/etc/both": "field", "/etc/annotation": "x", "/etc/field": "x"} {
		if got := m.read(m.root + path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	config := &v1beta1.OpenshiftAssistedConfig{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			v1beta1.DiscoveryIgnitionOverrideAnnotation: "\n{]",
			v1beta1.IgnitionOverrideAnnotation:          `{"ignition":{"version":"3.4.0"}}`,
		}},
		Spec: v1beta1.OpenshiftAssistedConfigSpec{
			BootstrapCommandSentinelDir: "relative", PostBootstrapKubeconfigPath: "/with blank",
			NodeRegistration: v1beta1.NodeRegistrationOptions{Name: "no_hostname", KubeletExtraLabels: []string{"a=b", "=x", "k=no value!"}},
			KernelArguments: []v1beta1.KernelArgument{
				{Operation: v1beta1.KernelArgumentAppend, Value: "fine=a,b"},
				{Operation: v1beta1.KernelArgumentAppend, Value: `dyndbg="file x +p"`},
				{Operation: "add", Value: "a"},
				{Operation: v1beta1.KernelArgumentDelete, Value: "--x"},
			},
		},
	}
	_, err := userdata.ConfigOf(config)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"metadata.annotations[openshiftassistedconfig.cluster.x-k8s.io/discovery-ignition-override]:2:2: ",
		"metadata.annotations[openshiftassistedconfig.cluster.x-k8s.io/ignition-override]: ignition.version: the service takes specifications up to 3.2.0, not 3.4.0",
		`spec.bootstrapCommandSentinelDir: "relative" is no absolute path`,
		`spec.postBootstrapKubeconfigPath: "/with blank"`,
		`spec.nodeRegistration.name: "no_hostname" is no hostname`,
		`spec.nodeRegistration.kubeletExtraLabels[1]: "=x" is no label: `,
		`spec.nodeRegistration.kubeletExtraLabels[2]: "k=no value!" is no label: `,
		`spec.kernelArguments[1].value: the service does not take "dyndbg=\"file x +p\""`,
		`spec.kernelArguments[2].operation: "add" is not append, delete or replace`,
		`spec.kernelArguments[3].value: the service does not take "--x"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != 10 {
		t.Errorf("there are %d errors:\n%v", got, err)
	}
}

func TestResolve(t *testing.T) {
	m := userdata.Metadata{Name: "worker-0", UUID: "u1", Namespace: "metal3", Values: map[string]string{"rack id": "r4", "é": "accent", "uuid": "u2", "empty": ""}}
	for _, test := range []struct {
		text, want string
		unknown    bool
	}{
		{text: ""},
		{text: "static", want: "static"},
		{text: "$METADATA_NAME", want: "worker-0"},
		{text: "${METADATA_NAME}", want: "worker-0"},
		{text: "$METADATA_LOCAL_HOSTNAME/$METADATA_METAL3_NAMESPACE", want: "worker-0/metal3"},
		{text: "metal3://$METADATA_METAL3_NAMESPACE/${METADATA_METAL3_NAME}/x", want: "metal3://metal3/worker-0/x"},
		{text: "$METADATA_UUID", want: "u2"},
		{text: "a${METADATA_RACK_ID}b", want: "ar4b"},
		{text: "$METADATA__", want: "accent"},
		{text: "x$METADATA_EMPTY", want: "x"},
		{text: "$METADATA_NAMEX", unknown: true},
		{text: "$METADATA_OTHER", unknown: true},
		{text: "$metadata_name", unknown: true},
		{text: "$NAME", unknown: true},
		{text: "$METADATA_NAME-$METADATA_OTHER", unknown: true},
		{text: "$", want: "$"},
		{text: "$5 ${ $", want: "$5 ${ $"},
		{text: "$$METADATA_NAME", want: "$worker-0"},
		{text: "${METADATA_NAME", want: "${METADATA_NAME"},
	} {
		got, known := userdata.Resolve(test.text, m)
		if got != test.want || known == test.unknown {
			t.Errorf("%q: %q, %v", test.text, got, known)
		}
	}
	for _, text := range []string{"$METADATA_NAME", "$METADATA_UUID", "$METADATA_METAL3_NAME", "$METADATA_METAL3_NAMESPACE"} {
		if got, known := userdata.Resolve(text, userdata.Metadata{}); known {
			t.Errorf("%q of nothing is known: %q", text, got)
		}
	}
}

// The machine reads a config drive as ValuesOf reads the Secret that it was made of.
func TestValuesOf(t *testing.T) {
	values, err := userdata.ValuesOf([]byte("name: machine-0\nRack-Id: 4\nratio: 1.5\nspare: true\nnothing: null\nlist: [1, <a>]\nmap: {b: 1, a: '2'}\ntext: |\n  a\n  b\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"name": "machine-0", "Rack-Id": "4", "ratio": "1.5", "spare": "true", "list": `[1,"<a>"]`, "map": `{"a":"2","b":1}`, "text": "a\nb\n",
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	drive := `{"name":"machine-0","Rack-Id":4,"ratio":1.5,"spare":true,"nothing":null,"list":[1,"<a>"],"map":{"a":"2","b":1},"text":"a\nb\n"}`
	m := installed(t, userdata.Config{PreCommands: []string{"true"}}, userdata.Metadata{}, drive)
	m.boot()
	m.healthy()
	delete(values, "text") // it does not fit on a line
	outside := installed(t, userdata.Config{PreCommands: []string{"true"}}, userdata.Metadata{Values: values}, "")
	outside.boot()
	outside.healthy()
	if diff := cmp.Diff(outside.metadata(), m.metadata()); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"- a", "a: [", "text"} {
		if _, err := userdata.ValuesOf([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
