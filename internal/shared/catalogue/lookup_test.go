package catalogue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/catalogue"
)

func TestLookup(t *testing.T) {
	cases := []struct {
		kind    catalogue.Kind
		name    string
		subject catalogue.Subject
		want    string // "" for not found
	}{
		{catalogue.KindValidation, "ntp-synced", catalogue.SubjectHost, "ntp-synced"},
		{catalogue.KindValidation, "NTP_Synced", catalogue.SubjectHost, "ntp-synced"},
		{catalogue.KindValidation, "machine-cidr-defined", catalogue.SubjectHost, "machine-cidr-defined"},
		{catalogue.KindValidation, "cluster/machine-cidr-defined", catalogue.SubjectCluster, "machine-cidr-defined"},
		{catalogue.KindValidation, "cluster/ntp-synced", "", ""},
		{catalogue.KindState, "known", catalogue.SubjectHost, "known"},
		{catalogue.KindState, "Cluster/installing", catalogue.SubjectCluster, "installing"},
		{catalogue.KindStage, "writing-image-to-disk", catalogue.SubjectHost, "Writing image to disk"},
		{catalogue.KindStage, "adding router CA", catalogue.SubjectCluster, "Adding router ca"},
		{catalogue.KindEvent, "image_info_updated", catalogue.SubjectInfraEnv, "image_info_updated"},
		{catalogue.KindEvent, "ntp-synced", "", ""},
		{catalogue.KindValidation, "", "", ""},
		{"other", "ntp-synced", "", ""},
	}
	for _, c := range cases {
		t.Run(string(c.kind)+" "+c.name, func(t *testing.T) {
			got, ok := catalogue.Lookup(c.kind, c.name)
			if ok != (c.want != "") || got.Name != c.want || got.Subject != c.subject {
				t.Errorf("got %s/%s, %v", got.Subject, got.Name, ok)
			}
		})
	}
}

func TestFindReturnsBothSubjects(t *testing.T) {
	var got []catalogue.Subject
	for _, e := range catalogue.Find(catalogue.KindState, "insufficient") {
		got = append(got, e.Subject)
	}
	if diff := cmp.Diff([]catalogue.Subject{catalogue.SubjectHost, catalogue.SubjectCluster}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is handed out is the caller's own.
func TestEntriesAreCopies(t *testing.T) {
	v, _ := catalogue.Validation(catalogue.SubjectHost, "belongs-to-machine-cidr")
	v.ConsequenceOf[0].ID = "changed"
	all := catalogue.All(catalogue.KindEvent)
	all[0].Name = "changed"
	s, _ := catalogue.Stage("Rebooting")
	s.Paths[0] = "changed"
	again, _ := catalogue.Validation(catalogue.SubjectHost, "belongs-to-machine-cidr")
	stage, _ := catalogue.Stage("Rebooting")
	if again.ConsequenceOf[0].ID == "changed" || catalogue.All(catalogue.KindEvent)[0].Name == "changed" || stage.Paths[0] == "changed" {
		t.Error("a caller changed the catalogue")
	}
}

func TestSuggest(t *testing.T) {
	cases := []struct {
		kind catalogue.Kind
		name string
		want string // the first suggestion
	}{
		{catalogue.KindValidation, "ntp-sync", "ntp-synced"},
		{catalogue.KindValidation, "host-name-valid", "hostname-valid"},
		{catalogue.KindValidation, "majority", "belongs-to-majority-group"},
		{catalogue.KindValidation, "host/conected", "connected"},
		{catalogue.KindState, "instaled", "installed"},
		{catalogue.KindStage, "Rebotting", "Rebooting"},
		{catalogue.KindEvent, "host_status_update", "host_status_updated"},
		{catalogue.KindEvent, "qqqqqqqqqqqqqqq", ""},
		{catalogue.KindEvent, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := catalogue.Suggest(c.kind, c.name)
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
		for _, kind := range catalogue.Kinds() {
			for _, e := range catalogue.Find(kind, name) {
				if e.Kind != kind {
					t.Errorf("%q as %s found %s %s", name, kind, e.Kind, e.Name)
				}
			}
			if got := catalogue.Suggest(kind, name); len(got) > 5 {
				t.Errorf("%d suggestions for %q", len(got), name)
			}
		}
	})
}
