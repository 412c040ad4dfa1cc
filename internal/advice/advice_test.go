package advice_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/advice"
)

func TestFill(t *testing.T) {
	all := advice.Names{Cluster: "lab", Hosts: []string{"cp-0", "cp-1"}, Stage: "Rebooting"}
	one := advice.Names{Cluster: "lab", Hosts: []string{"cp-0"}}
	for _, tt := range []struct {
		advice advice.Text
		names  advice.Names
		want   string
	}{
		{"Cure the cause, then {reset NAME} (on a hub: {delete cluster NAME}) and boot.", all, "Cure the cause, then oaictl reset lab (on a hub: oaictl delete cluster lab) and boot."},
		{"{describe host NAME}, or nproc on the host.", all, "oaictl describe host cp-0, or nproc on the host."},
		{"power it off and run {delete host NAME}.", all, "power it off and run oaictl delete host cp-0 (or another of them)."},
		{"power it off and run {delete host NAME}.", one, "power it off and run oaictl delete host cp-0."},
		{"{explain stage NAME} says what a stage does.", all, `oaictl explain stage "Rebooting" says what a stage does.`},
		{"{explain stage NAME} says what a stage does.", one, "oaictl explain stage NAME says what a stage does."},
		{"kubectl get csr, then kubectl certificate approve NAME, twice", all, "kubectl get csr, then kubectl certificate approve NAME, twice"},
		{"{wait cluster NAME --for installed}", advice.Names{}, "oaictl wait cluster NAME --for installed"},
	} {
		if got := tt.advice.Fill(tt.names).String(); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.advice, got, tt.want)
		}
	}
}

// TestCommand keeps the braces of a name, and those that other programs are told.
func TestCommand(t *testing.T) {
	text := "look, then " + advice.Command("iso show", "'a {b}.iso'") + ", or kubectl patch -p '{\"spec\":{}}'"
	if got, want := text.String(), "look, then oaictl iso show 'a {b}.iso', or kubectl patch -p '{\"spec\":{}}'"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := text.Map(strings.ToUpper).Commands(); len(got) != 0 {
		t.Errorf("%q are no commands", got)
	}
	if got := text.Commands(); !slices.Equal(got, []string{"iso show 'a {b}.iso'"}) {
		t.Errorf("commands %q", got)
	}
}

// TestLiteral: braces that somebody typed are no marks, however often advice is shown.
func TestLiteral(t *testing.T) {
	typed := "oaictl delete cluster lab -o 'jsonpath={range .items[*]}{.kind}{end}'"
	if got := advice.Literal(typed).String(); got != typed {
		t.Errorf("got  %s\nwant %s", got, typed)
	}
	next := advice.Sprintf("give -f %s, or {plan -f FILE}", "'{lab}.yaml'")
	want := "give -f '{lab}.yaml', or oaictl plan -f FILE"
	for shown := next; ; shown = advice.Literal(shown.String()) {
		if got := shown.String(); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if shown == advice.Literal(want) {
			break
		}
	}
	named := next.Map(func(command string) string { return strings.ReplaceAll(command, "FILE", "'{a}.yaml'") })
	if got, want := named.String(), "give -f '{lab}.yaml', or oaictl plan -f '{a}.yaml'"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestJSON: advice that was written is read as it was shown.
func TestJSON(t *testing.T) {
	next := advice.Sprintf("give -f %s, or {plan -f FILE}", "'{lab}.yaml'")
	var back advice.Text
	data, err := json.Marshal(next)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || back.String() != next.String() || len(back.Commands()) > 0 {
		t.Errorf("%s became %q, %v", data, back, err)
	}
	if got, want := advice.Sprintf("%v, %s and %s, %d", errors.New("{a}"), []string{"{b}"}, advice.Command("why lab"), 2).String(), "{a}, [{b}] and oaictl why lab, 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
