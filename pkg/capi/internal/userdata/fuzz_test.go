//go:build e2e

package userdata_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// A variable has the same name and value on the machine and outside of it.
func FuzzMetadata(f *testing.F) {
	for _, key := range []string{"local-hostname", "A.é $(touch evil)\"\n", ""} {
		f.Add(key, "value $(touch evil) \"\\`")
	}
	for _, value := range []string{"x\nMETADATA_OTHER=y", "\x00", "plain"} {
		f.Add("key", value)
	}
	discovery, err := userdata.Discovery([]byte(discoveryIgnition), userdata.Config{Name: "$METADATA_KEY"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			t.Skip() // JSON cannot hold it
		}
		m := newMachine(t, string(mustJSON(t, map[string]string{key: value, "~": "x"})))
		m.apply(discovery)
		m.boot()
		m.healthy()
		inside := m.metadata()
		outside := userdata.Metadata{Values: map[string]string{key: value, "~": "x"}}
		for variable, value := range inside {
			if got, known := userdata.Resolve("${"+variable+"}", outside); !known || got != value {
				t.Errorf("%s is %q on the machine and %q, %v, outside", variable, value, got, known)
			}
		}
		if exists(m.root+"/evil") || exists(m.root+"/tmp/evil") {
			t.Error("metadata was executed")
		}
		if name := m.hostname(); name != "localhost" && name != strings.TrimRight(strings.ToLower(value), "\n") {
			t.Errorf("the hostname is %q of %q", name, value)
		}
	})
}

// What comes out is a valid config or an error, and the same each time.
func FuzzConfigs(f *testing.F) {
	f.Add("$METADATA_NAME", "a=$METADATA_X", "echo $METADATA_NAME", "/var/lib/x", `{"ignition":{"version":"3.1.0"}}`, "name", "value")
	f.Add("cp-0", "a", "\x00\xff", "/..", `{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"capoa-pre-bootstrap.service","enabled":false}]}}`, "", "")
	f.Add("${", "kubernetes.io/a=$METADATA_X", "'", "", "{", "é", "\n")
	f.Add("$METADATA_X$METADATA_Y", "a=", "", "/a b", `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/oaictl/node.json","append":[{"source":"data:,x"}]}]}}`, "x", "$METADATA_X")
	f.Fuzz(func(t *testing.T, name, label, command, dir, override, key, value string) {
		config := &v1beta1.OpenshiftAssistedConfig{Spec: v1beta1.OpenshiftAssistedConfigSpec{
			NodeRegistration:     v1beta1.NodeRegistrationOptions{Name: name, KubeletExtraLabels: []string{label, "z=$METADATA_Z"}, ProviderID: name},
			PreBootstrapCommands: []string{command}, PostBootstrapCommands: []string{command, command},
			BootstrapCommandSentinelDir: dir, PostBootstrapKubeconfigPath: dir,
			IgnitionOverride: override, DiscoveryIgnitionOverride: override,
		}}
		metadata := userdata.Metadata{Values: map[string]string{key: value}}
		read, err := userdata.ConfigOf(config)
		byHand := userdata.Config{
			Name: name, Labels: map[string]string{key: label}, ProviderID: value, PreCommands: []string{command},
			SentinelDir: dir, Kubeconfig: dir, InstallOverride: []byte(override), DiscoveryOverride: []byte(override),
		}
		configs := []userdata.Config{byHand}
		if err == nil {
			configs = append(configs, read)
		}
		for _, c := range configs {
			for what, make := range map[string]func() ([]byte, error){
				"install":   func() ([]byte, error) { return userdata.Install(c, metadata) },
				"discovery": func() ([]byte, error) { return userdata.Discovery([]byte(discoveryIgnition), c) },
			} {
				got, err := make()
				if (err == nil) != (got != nil) {
					t.Fatalf("%s: both or none of %q and %v", what, got, err)
				}
				if err != nil {
					continue
				}
				if _, err := ignition.Validate(what, got); err != nil {
					t.Fatal(err)
				}
				if again, err := make(); err != nil || !bytes.Equal(got, again) {
					t.Fatalf("%s: another result, %v", what, err)
				}
			}
		}
	})
}

// The arguments have only the flags that the service takes, each with its value, and those
// that are last are there.
func FuzzInstallerArgs(f *testing.F) {
	f.Add("+a -b =c=d =c +a")
	f.Add("=console=ttyS1 -console=ttyS1")
	f.Fuzz(func(t *testing.T, text string) {
		var words []string
		for _, word := range strings.Fields(text) {
			if len(word) > 1 && strings.ContainsRune("+-=", rune(word[0])) {
				words = append(words, word)
			}
		}
		args := userdata.InstallerArgs(arguments(strings.Join(words, " ")))
		if len(args)%2 != 0 {
			t.Fatalf("odd: %q", args)
		}
		for i := 0; i < len(args); i += 2 {
			if args[i] != "--append-karg" && args[i] != "--delete-karg" {
				t.Fatalf("%q", args)
			}
		}
		if len(words) == 0 {
			return
		}
		last := words[len(words)-1]
		kernel := strings.Fields(installKernelArguments("console=tty0 "+last[1:], args))
		found := 0
		for _, argument := range kernel {
			if argument == last[1:] {
				found++
			}
		}
		if last[0] == '-' && found != 0 || last[0] == '+' && found == 0 || last[0] == '=' && found != 1 {
			t.Fatalf("%q make %q", words, kernel)
		}
	})
}
