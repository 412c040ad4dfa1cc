package rewording

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestSentence(t *testing.T) {
	for _, test := range []struct {
		message string
		remedy  model.Advice
		want    string
	}{
		{"api vips <192.0.2.1> are not verified yet.", "choose another one in spec.network.vips.api", "api vips <192.0.2.1> are not verified yet.: choose another one in OpenshiftAssistedControlPlane spec.config.apiVIPs"},
		{"it is held", "{create cluster -f FILE}, with spec.hold false", "it is held: kubectl apply -f FILE, with OpenshiftAssistedControlPlane spec.config.holdInstallation false"},
		{"cp-0 failed", "{logs host cp-0}", "cp-0 failed: oaictl logs host cp-0"},
		{"nothing", "", "nothing"},
		{"spec.unknown stays", "", "spec.unknown stays"},
	} {
		if got := Sentence(test.message, test.remedy); got != test.want {
			t.Errorf("%q\nwant %q", got, test.want)
		}
	}
}

// TestProblemsAdviseWhatObjectsTake: the webhooks accept what a condition advises to write.
func TestProblemsAdviseWhatObjectsTake(t *testing.T) {
	for text, wants := range map[string][]string{
		"platform: {type: baremetal}, topology: {controlPlane: 1}": {"config.platform.type: None"},
		"platform: {type: nutanix}, network: {userManaged: true}":  {"set config.loadBalancer.type: UserManaged"},
		"topology: {controlPlane: 2}":                              {"set config.arbiterReplicas: 1, or config.fencing"},
	} {
		file := "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec: {baseDomain: example.com, " + text + "}\n"
		_, err := spec.Parse(t.Context(), "cluster.yaml", []byte(file), spec.Env{})
		said := strings.Join(Problems(err), "\n")
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not said: %s", text, want, said)
			}
		}
		if strings.Contains(said, "platform: none") || strings.Contains(said, ": user-managed") || strings.Contains(said, "arbiters: 1") {
			t.Errorf("%s: %s", text, said)
		}
	}
}

func TestError(t *testing.T) {
	err := &model.Fault{Op: "read", On: "x", Err: errors.New("no"), Next: "{get clusters}"}
	if got := Error(err); got != "read x: no: oaictl get clusters" {
		t.Errorf("%q", got)
	}
}

func TestReference(t *testing.T) {
	for _, test := range [][4]string{
		{"ns/lab", "", "ns", "lab"}, {"c0ffee", "", "", "c0ffee"}, {"c0ffee", "ns/env", "ns", "c0ffee"}, {"c0ffee", "env-id", "", "c0ffee"},
	} {
		if got := Reference(test[0], test[1]); got.Namespace != test[2] || got.Name != test[3] {
			t.Errorf("%v: %v", test, got)
		}
	}
}

// TestLongTexts: nothing is longer than an API server takes, and what is cut says so.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("the disk is too small; ", 2000)
	recorder := events.NewFakeRecorder(2)
	Recorder{recorder}.Eventf(nil, nil, "Warning", "Small", "Install", "%s of %d%%", long, 3)
	Recorder{recorder}.Eventf(nil, nil, "Warning", "Small", "Install", "%s of %d%%", "a disk", 3)
	note, whole := strings.CutPrefix(<-recorder.Events, "Warning Small ")
	if !whole || len(note) > 1024 || len(note) < 1000 || !strings.HasSuffix(note, "…") {
		t.Errorf("the note has %d bytes: %q", len(note), note)
	}
	if note := <-recorder.Events; note != "Warning Small a disk of 3%" {
		t.Errorf("a short note is %q", note)
	}
	if message := Message(long); len(message) > 32768 || !strings.HasSuffix(message, "…") || Message("as it is") != "as it is" {
		t.Errorf("the message has %d bytes", len(message))
	}
	if lines := Lines([]string{long, long}); lines != Message(long+"; "+long) {
		t.Errorf("lines have %d bytes", len(lines))
	}
}
