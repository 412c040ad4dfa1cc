package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/explain"
)

func TestLookup(t *testing.T) {
	cases := []struct {
		kind    explain.Kind
		name    string
		subject explain.Subject
		want    string // "" for not found
	}{
		{explain.KindValidation, "ntp-synced", explain.SubjectHost, "ntp-synced"},
		{explain.KindValidation, "NTP_Synced", explain.SubjectHost, "ntp-synced"},
		{explain.KindValidation, "machine-cidr-defined", explain.SubjectHost, "machine-cidr-defined"},
		{explain.KindValidation, "cluster/machine-cidr-defined", explain.SubjectCluster, "machine-cidr-defined"},
		{explain.KindValidation, "cluster/ntp-synced", "", ""},
		{explain.KindState, "known", explain.SubjectHost, "known"},
		{explain.KindState, "Cluster/installing", explain.SubjectCluster, "installing"},
		{explain.KindStage, "writing-image-to-disk", explain.SubjectHost, "Writing image to disk"},
		{explain.KindStage, "adding router CA", explain.SubjectCluster, "Adding router ca"},
		{explain.KindEvent, "image_info_updated", explain.SubjectInfraEnv, "image_info_updated"},
		{explain.KindEvent, "ntp-synced", "", ""},
		{explain.KindValidation, "", "", ""},
		{"other", "ntp-synced", "", ""},
	}
	for _, c := range cases {
		t.Run(string(c.kind)+" "+c.name, func(t *testing.T) {
			got, ok := explain.Lookup(c.kind, c.name)
			if ok != (c.want != "") || got.Name != c.want || got.Subject != c.subject {
				t.Errorf("got %s/%s, %v", got.Subject, got.Name, ok)
			}
		})
	}
}

func TestFindReturnsBothSubjects(t *testing.T) {
	var got []explain.Subject
	for _, e := range explain.Find(explain.KindState, "insufficient") {
		got = append(got, e.Subject)
	}
	if diff := cmp.Diff([]explain.Subject{explain.SubjectHost, explain.SubjectCluster}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is handed out is the caller's own.
func TestEntriesAreCopies(t *testing.T) {
	v, _ := explain.Validation(explain.SubjectHost, "belongs-to-machine-cidr")
	v.ConsequenceOf[0].ID = "changed"
	all := explain.All(explain.KindEvent)
	all[0].Name = "changed"
	s, _ := explain.Stage("Rebooting")
	s.Paths[0] = "changed"
	again, _ := explain.Validation(explain.SubjectHost, "belongs-to-machine-cidr")
	stage, _ := explain.Stage("Rebooting")
	if again.ConsequenceOf[0].ID == "changed" || explain.All(explain.KindEvent)[0].Name == "changed" || stage.Paths[0] == "changed" {
		t.Error("a caller changed the catalogue")
	}
}

func TestSuggest(t *testing.T) {
	cases := []struct {
		kind explain.Kind
		name string
		want string // the first suggestion
	}{
		{explain.KindValidation, "ntp-sync", "ntp-synced"},
		{explain.KindValidation, "host-name-valid", "hostname-valid"},
		{explain.KindValidation, "majority", "belongs-to-majority-group"},
		{explain.KindValidation, "host/conected", "connected"},
		{explain.KindState, "instaled", "installed"},
		{explain.KindStage, "Rebotting", "Rebooting"},
		{explain.KindEvent, "host_status_update", "host_status_updated"},
		{explain.KindEvent, "qqqqqqqqqqqqqqq", ""},
		{explain.KindEvent, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := explain.Suggest(c.kind, c.name)
			if len(got) > 5 {
				t.Errorf("%d suggestions", len(got))
			}
			first := ""
			if len(got) > 0 {
				first = got[0]
			}
			if first != c.want {
				t.Errorf("suggested %v, want %q first", got, c.want)
			}
			seen := map[string]bool{}
			for _, name := range got {
				if seen[name] {
					t.Errorf("%q is suggested twice", name)
				}
				seen[name] = true
			}
		})
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("ntp-synced")
	f.Add("cluster/Writing image")
	f.Add("///")
	f.Fuzz(func(t *testing.T, name string) {
		for _, kind := range explain.Kinds() {
			for _, e := range explain.Find(kind, name) {
				if e.Kind != kind {
					t.Errorf("%q as %s found %s %s", name, kind, e.Kind, e.Name)
				}
			}
			if got := explain.Suggest(kind, name); len(got) > 5 {
				t.Errorf("%d suggestions for %q", len(got), name)
			}
		}
	})
}
