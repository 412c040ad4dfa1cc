package apiobject

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadsWhatIsThere(t *testing.T) {
	o := &Object{Object: map[string]any{"spec": map[string]any{"name": "one", "on": true}}}
	if Text(o, "spec", "name") != "one" || Text(o, "spec", "on") != "" || Text(o, "spec", "other") != "" {
		t.Error("a text is not read as it is there")
	}
	if !Truth(o, "spec", "on") || Truth(o, "spec", "name") || Truth(o, "status", "on") {
		t.Error("a truth value is not read as it is there")
	}
	status := Status(o)
	status["phase"] = "Running"
	if _, has := o.Object["status"]; has || Condition(o, "Ready") != nil {
		t.Error("an object without a status got one")
	}
}

func TestFinalizers(t *testing.T) {
	o := &Object{Object: map[string]any{}}
	if !AddFinalizer(o, "a") || AddFinalizer(o, "a") || !AddFinalizer(o, "b") {
		t.Error("a finalizer is not added once")
	}
	if !DropFinalizer(o, "a") || DropFinalizer(o, "a") || HasFinalizer(o, "a") {
		t.Error("a finalizer is not dropped once")
	}
	if diff := cmp.Diff([]string{"b"}, o.GetFinalizers()); diff != "" {
		t.Errorf("other finalizers changed: %s", diff)
	}
}

func TestConditions(t *testing.T) {
	at := func(kind, status, time string) map[string]any {
		return map[string]any{"type": kind, "status": status, "lastTransitionTime": time}
	}
	list := SetCondition([]any{at("Other", "True", "1")}, at("Ready", "False", "1"))
	list = SetCondition(list, at("Ready", "False", "2"))
	if diff := cmp.Diff([]any{at("Other", "True", "1"), at("Ready", "False", "1")}, list); diff != "" {
		t.Errorf("a condition whose status stays the same: %s", diff)
	}
	list = SetCondition(list, at("Ready", "True", "3"))
	o := &Object{Object: map[string]any{"status": map[string]any{"conditions": list}}}
	if diff := cmp.Diff(at("Ready", "True", "3"), Condition(o, "Ready")); diff != "" {
		t.Errorf("a condition whose status changes: %s", diff)
	}
	list = DropCondition(DropCondition(list, "Ready"), "Ready")
	if diff := cmp.Diff([]any{at("Other", "True", "1")}, list); diff != "" {
		t.Errorf("conditions after one is dropped: %s", diff)
	}
}
