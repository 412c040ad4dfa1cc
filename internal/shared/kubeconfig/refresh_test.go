package kubeconfig_test

import (
	"slices"
	"strings"
	"testing"
)

// TestRenew: the entries that had the old access get the new one, and no other entry does.
func TestRenew(t *testing.T) {
	now := newWay(t, "lab.example.com")
	old, older, newer := now.endingAt(t, noon()), now.endingAt(t, noon().AddDate(-1, 0, 0)), now.endingAt(t, noon().AddDate(20, 0, 0))
	strange, rotated := newWay(t, "lab.example.org"), old
	rotated.ca = older.cert + now.ca
	merged := mergedCluster + mergedUser + mergedContext
	marked := strings.ReplaceAll(merged, "}\nusers", ", "+mark+"}\nusers")
	marked = strings.ReplaceAll(marked, "{key}}", "{key}, "+mark+"}")
	for name, tt := range map[string]struct {
		there string
		want  []string
		has   []string // of the ways, in base64
		not   []string
	}{
		"nothing":                     {there: ""},
		"others":                      {there: others},
		"as merged":                   {there: old.filled(merged), want: []string{"lab"}, has: []string{now.key}, not: []string{old.key}},
		"by another name":             {there: old.filled(strings.ReplaceAll(installed, "admin", "mine")), want: []string{"mine"}, has: []string{now.key}, not: []string{old.key}},
		"new already":                 {there: now.filled(merged)},
		"in two contexts":             {there: old.filled(merged) + "- {name: work, context: {cluster: lab, user: lab, namespace: a}}\n- {name: other, context: {cluster: x, user: x}}\n", want: []string{"lab", "work"}, has: []string{now.key}},
		"rotated":                     {there: rotated.filled(merged), want: []string{"lab"}, has: []string{now.key, rotated.ca}},
		"another's":                   {there: strange.filled(merged)},
		"a token of the same cluster": {there: old.filled(mergedCluster) + "users: [{name: lab, user: {token: a}}]\n" + mergedContext},
		"older, unknown":              {there: older.filled(merged)},
		"older, marked":               {there: older.filled(marked), want: []string{"lab"}, has: []string{now.key}, not: []string{older.key}},
		"newer, marked":               {there: newer.filled(marked)},
		"marked by another hub":       {there: strange.filled(marked)},
	} {
		t.Run(name, func(t *testing.T) {
			renewed, err := parse(t, tt.there).Renew(old.access(t, "1"), now.access(t, "1"))
			if err != nil || !slices.Equal(renewed.Contexts, tt.want) || (renewed.Text == nil) != (len(tt.want) == 0) {
				t.Fatalf("%v, %v\n%s", renewed.Contexts, err, renewed.Text)
			}
			for _, part := range tt.has {
				if !strings.Contains(string(renewed.Text), b64(part)) {
					t.Errorf("there is no %s in\n%s", b64(part), renewed.Text)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(string(renewed.Text), b64(part)) {
					t.Errorf("there is still %s in\n%s", b64(part), renewed.Text)
				}
			}
			if renewed.Text == nil {
				return
			}
			if again, err := parse(t, string(renewed.Text)).Renew(old.access(t, "1"), now.access(t, "1")); err != nil || again.Text != nil {
				t.Errorf("once more, %v, %v", again.Contexts, err)
			}
		})
	}
}

// TestRenewKeepsEverything else, and what a person added to an entry.
func TestRenewKeepsEverything(t *testing.T) {
	now := newWay(t, "lab.example.com")
	old := now.endingAt(t, noon())
	there := others + old.filled("- name: lab # mine\n  context: {cluster: lab, user: lab}\n")
	there = strings.Replace(there, "users:\n", "users:\n- name: lab\n  user:\n    # from the install\n    client-certificate-data: "+b64(old.cert)+"\n    client-key-data: "+b64(old.key)+" # keep safe\n    as: me\n    novelty: kept\n", 1)
	there = strings.Replace(there, "current-context: work\n", "", 1) + "current-context: work\n"
	renewed, err := parse(t, there).Renew(old.access(t, ""), now.access(t, ""))
	if err != nil || !slices.Equal(renewed.Contexts, []string{"lab"}) {
		t.Fatalf("%v, %v", renewed.Contexts, err)
	}
	keeps(t, there, string(renewed.Text), "lab")
	for _, want := range []string{b64(now.key), "as: me", "    novelty: kept\n", "# from the install", " # keep safe\n", "- name: lab # mine"} {
		if !strings.Contains(string(renewed.Text), want) {
			t.Errorf("there is no %q in\n%s", want, renewed.Text)
		}
	}
}
