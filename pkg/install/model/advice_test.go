package model_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestCommand keeps the braces of a name, and those that other programs are told.
func TestCommand(t *testing.T) {
	text := "look, then " + model.Command("iso show", "'a {b}.iso'") + ", or kubectl patch -p '{\"spec\":{}}'"
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

// TestLiteral: braces that a user typed are no marks, however often advice is shown.
func TestLiteral(t *testing.T) {
	typed := "oaictl delete cluster lab -o 'jsonpath={range .items[*]}{.kind}{end}'"
	if got := model.Advicef("%s", typed).String(); got != typed {
		t.Errorf("got  %s\nwant %s", got, typed)
	}
	next := model.Advicef("give -f %s, or {plan -f FILE}", "'{lab}.yaml'")
	want := "give -f '{lab}.yaml', or oaictl plan -f FILE"
	for shown := next; ; shown = model.Advicef("%s", shown.String()) {
		if got := shown.String(); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if shown == model.Advicef("%s", want) {
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
	next := model.Advicef("give -f %s, or {plan -f FILE}", "'{lab}.yaml'")
	var back model.Advice
	data, err := json.Marshal(next)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || back.String() != next.String() || len(back.Commands()) > 0 {
		t.Errorf("%s became %q, %v", data, back, err)
	}
	if got, want := model.Advicef("%v, %s and %s, %d", errors.New("{a}"), []string{"{b}"}, model.Command("why lab"), 2).String(), "{a}, [{b}] and oaictl why lab, 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
