package kubeconfig_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// mergeCase is a kubeconfig that there is, and what becomes of the cluster lab that is merged
// into it. In it {server}, {ca}, {cert} and {key} are the cluster's own.
type mergeCase struct {
	there  string
	beside []string // further kubeconfigs
	wish   kubeconfig.Wish
	done   kubeconfig.Done
	name   string
	taken  string // why there is no name
	has    []string
	used   []string // what else uses what was overwritten
}

// The entries of a cluster as they are once they were merged, as one was that was merged
// before, and as a person has them.
const (
	mergedContext = "contexts:\n- {name: lab, context: {cluster: lab, user: lab, namespace: mine}}\n"
	mergedCluster = "clusters:\n- name: lab\n  cluster: {server: '{server}', certificate-authority-data: {ca}}\n"
	mergedUser    = "users:\n- name: lab\n  user: {client-certificate-data: {cert}, client-key-data: {key}}\n"
	mark          = `extensions: [{name: oaictl.io/cluster, extension: {id: "1", server: "{server}"}}]`
)

func mergeCases(t *testing.T, lab way) map[string]mergeCase {
	t.Helper()
	again, ended, newer := newWay(t, "lab.example.com"), lab.endingAt(t, noon()), lab.endingAt(t, noon().AddDate(20, 0, 0))
	strange := newWay(t, "lab.example.org")
	person, personKey := certificate(t, "me", noon())
	endedUser := ended.filled(mergedUser)
	wish := kubeconfig.Wish{Names: []string{"lab", "lab.example.com"}}
	force := kubeconfig.Wish{Names: wish.Names, Overwrite: true}
	cases := map[string]mergeCase{
		"nothing":              {done: kubeconfig.Added, name: "lab"},
		"a comment":            {there: "# mine\n", done: kubeconfig.Added, name: "lab", has: []string{"# mine\n"}},
		"no newline":           {there: "# mine", done: kubeconfig.Added, name: "lab", has: []string{"# mine\n"}},
		"null":                 {there: "null\n", done: kubeconfig.Added, name: "lab"},
		"empty lists":          {there: "clusters: []\nusers: null\ncontexts:\n", done: kubeconfig.Added, name: "lab"},
		"JSON":                 {there: `{"kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://a"}}]}`, done: kubeconfig.Added, name: "lab"},
		"others":               {there: others, done: kubeconfig.Added, name: "lab", has: []string{"# on the way out", "novelty: kept", "command: login"}},
		"already there":        {there: mergedCluster + mergedUser + mergedContext, done: kubeconfig.Unchanged, name: "lab"},
		"already marked":       {there: mergedCluster[:len(mergedCluster)-2] + ", " + mark + "}\n" + mergedUser + mergedContext, done: kubeconfig.Unchanged, name: "lab"},
		"spelt otherwise":      {there: strings.ReplaceAll(mergedCluster, "{server}", "https://API.lab.example.com:6443/") + mergedUser + mergedContext, done: kubeconfig.Unchanged, name: "lab"},
		"by proxy":             {there: mergedCluster[:len(mergedCluster)-2] + ", proxy-url: 'http://p'}\n" + mergedUser + mergedContext, done: kubeconfig.Unchanged, name: "lab"},
		"cluster only":         {there: mergedCluster, done: kubeconfig.Refreshed, name: "lab"},
		"user only":            {there: mergedUser, done: kubeconfig.Refreshed, name: "lab"},
		"no user":              {there: mergedCluster + mergedContext, done: kubeconfig.Refreshed, name: "lab", has: []string{"namespace: mine"}},
		"ended":                {there: mergedCluster + endedUser + mergedContext, done: kubeconfig.Refreshed, name: "lab", has: []string{"namespace: mine"}},
		"a newer one":          {there: mergedCluster + newer.filled(mergedUser) + mergedContext, done: kubeconfig.Unchanged, name: "lab"},
		"a newer one, forced":  {there: mergedCluster + newer.filled(mergedUser) + mergedContext, wish: force, done: kubeconfig.Refreshed, name: "lab"},
		"a newer one, rotated": {there: strings.ReplaceAll(mergedCluster, "{ca}", b64(again.ca+lab.ca)) + newer.filled(mergedUser) + mergedContext, done: kubeconfig.Unchanged, name: "lab"},
		"rotated, with an extension": {
			there: strings.ReplaceAll(mergedCluster, "{ca}}", b64(again.ca+lab.ca)+", extensions: [{name: mine, extension: {a: 1}}]}") + mergedUser + mergedContext,
			done:  kubeconfig.Refreshed, name: "lab", has: []string{"name: mine}"},
		},
		"rotated": {
			there: strings.ReplaceAll(mergedCluster, "{ca}", b64(again.ca+lab.ca)) + endedUser + mergedContext, done: kubeconfig.Refreshed, name: "lab",
		},
		"marked, with other certificates": {
			there: strings.ReplaceAll(mergedCluster, "{ca}}", b64(again.ca)+", "+mark+"}") + strings.ReplaceAll(endedUser, "}", ", "+lab.filled(mark)+"}") + mergedContext,
			done:  kubeconfig.Refreshed, name: "lab",
		},
		"ended, with an extension": {
			there: mergedCluster + strings.ReplaceAll(endedUser, "}", ", extensions: [{name: mine, extension: {a: 1}}]}") + mergedContext,
			done:  kubeconfig.Refreshed, name: "lab", has: []string{"name: mine}"},
		},
		"no verification": {there: strings.ReplaceAll(mergedCluster, "certificate-authority-data: {ca}", "insecure-skip-tls-verify: true") + mergedUser + mergedContext, taken: "has other certificates"},
		"no verification, marked": {
			there: strings.ReplaceAll(mergedCluster, "certificate-authority-data: {ca}", "insecure-skip-tls-verify: true, "+mark) + mergedUser + mergedContext, done: kubeconfig.Refreshed, name: "lab",
		},
		"another cluster":         {there: strange.filled(mergedCluster + mergedUser + mergedContext), done: kubeconfig.Added, name: "lab.example.com"},
		"another cluster, forced": {there: strange.filled(mergedCluster + mergedUser + mergedContext), wish: force, done: kubeconfig.Overwritten, name: "lab"},
		"another cluster, another name": {
			there: strange.filled(mergedCluster + mergedUser + mergedContext), wish: kubeconfig.Wish{Names: []string{"mine"}}, done: kubeconfig.Added, name: "mine",
		},
		"another cluster, no other name": {
			there: strange.filled(mergedCluster + mergedUser + mergedContext), wish: kubeconfig.Wish{Names: []string{"lab"}}, taken: "the cluster there is at https://api.lab.example.org:6443, and this one at https://api.lab.example.com:6443",
		},
		"both names taken": {
			there: "users: [{name: lab, user: {token: a}}, {name: lab.example.com, user: {token: b}}]", taken: "the user there has other credentials",
		},
		"second name is ours": {
			there: "users:\n- {name: lab, user: {token: a}}\n- name: lab.example.com\n  user: {client-certificate-data: {cert}, client-key-data: {key}}\n" +
				strings.ReplaceAll(mergedCluster, "name: lab", "name: lab.example.com") + "contexts: [{name: lab.example.com, context: {cluster: lab.example.com, user: lab.example.com}}]\n",
			done: kubeconfig.Unchanged, name: "lab.example.com",
		},
		"installed again":         {there: again.filled(mergedCluster + mergedUser + mergedContext), taken: "the cluster there is also at https://api.lab.example.com:6443, but has other certificates"},
		"installed again, forced": {there: again.filled(mergedCluster + mergedUser + mergedContext), wish: force, done: kubeconfig.Overwritten, name: "lab"},
		"installed again, marked": {
			there: again.filled(strings.ReplaceAll(mergedCluster, "{ca}}", "{ca}, "+strings.Replace(mark, `"1"`, `"0"`, 1)+"}") + mergedUser + mergedContext), taken: "the cluster there is an earlier one at https://api.lab.example.com:6443, with the id 0",
		},
		"same id on another hub": {
			there: strange.filled(strings.ReplaceAll(mergedCluster, "{ca}}", "{ca}, "+mark+"}") + mergedUser + mergedContext), done: kubeconfig.Added, name: "lab.example.com",
		},
		"context elsewhere":      {there: mergedCluster + mergedUser + "contexts: [{name: lab, context: {cluster: lab, user: me}}]\n", done: kubeconfig.Added, name: "lab.example.com"},
		"context leads nowhere":  {there: "contexts: [{name: lab, context: {cluster: '', user: ''}}]\n", done: kubeconfig.Added, name: "lab.example.com"},
		"a person's token":       {there: mergedCluster + "users: [{name: lab, user: {token: a}}]\n" + mergedContext, done: kubeconfig.Added, name: "lab.example.com"},
		"a person's plugin":      {there: mergedCluster + "users: [{name: lab, user: {exec: {command: login, apiVersion: client.authentication.k8s.io/v1beta1}}}]\n" + mergedContext, done: kubeconfig.Added, name: "lab.example.com"},
		"a person's certificate": {there: mergedCluster + "users: [{name: lab, user: {client-certificate-data: " + b64(person) + ", client-key-data: " + b64(personKey) + "}}]\n" + mergedContext, done: kubeconfig.Added, name: "lab.example.com"},
		"ended, of no context":   {there: endedUser, done: kubeconfig.Added, name: "lab.example.com"},
		"acts as somebody":       {there: mergedCluster + strings.ReplaceAll(endedUser, "}", ", as: me}") + mergedContext, done: kubeconfig.Refreshed, name: "lab", has: []string{"as: me"}},
		"overwritten, shared": {
			there: "users: [{name: lab, user: {token: a}}]\ncontexts: [{name: b, context: {cluster: x, user: lab}}, {name: a, context: {cluster: lab, user: z}}]\n", wish: force,
			done: kubeconfig.Overwritten, name: "lab", used: []string{"a", "b"},
		},
		"overwriting nothing":    {wish: force, done: kubeconfig.Added, name: "lab"},
		"overwriting itself":     {there: mergedCluster + mergedUser + mergedContext, wish: force, done: kubeconfig.Unchanged, name: "lab"},
		"taken beside":           {beside: []string{"contexts: [{name: lab, context: {cluster: x, user: z}}]"}, done: kubeconfig.Added, name: "lab.example.com"},
		"nothing beside":         {beside: []string{"", "kind: Config\n"}, done: kubeconfig.Added, name: "lab"},
		"names that YAML knows":  {wish: kubeconfig.Wish{Names: []string{"on"}}, done: kubeconfig.Added, name: "on"},
		"a name of digits":       {wish: kubeconfig.Wish{Names: []string{"012"}}, there: others, done: kubeconfig.Added, name: "012"},
		"a name with all things": {wish: kubeconfig.Wish{Names: []string{"a: b #c '\"\n{d}"}}, there: others, done: kubeconfig.Added, name: "a: b #c '\"\n{d}"},
		"CRLF":                   {there: strings.ReplaceAll(others, "\n", "\r\n"), done: kubeconfig.Added, name: "lab", has: []string{"novelty: kept"}},
		"null between braces":    {there: "a: {b, c: }\nclusters: [{name: b}]\n", done: kubeconfig.Added, name: "lab"},
		"aliases elsewhere":      {there: "x: &a {server: 'https://a'}\nclusters:\n- name: a\n  cluster: *a\n- name: b\n  cluster: {<<: *a, proxy-url: 'http://p'}\n", done: kubeconfig.Added, name: "lab", has: []string{"x: &a {", "cluster: *a", "{<<: *a, "}},
		"list by an alias":       {there: "x: &a\n- name: a\n  cluster: {server: 'https://a'}\nclusters: *a\n", done: kubeconfig.Added, name: "lab", has: []string{"x: &a"}},
		"entry by an alias":      {there: strings.Replace(mergedUser, "user: {", "user: &u {", 1) + mergedCluster + mergedContext + "x: *u\n", done: kubeconfig.Unchanged, name: "lab"},
		"ended, by an alias":     {there: "x: &u {client-certificate-data: " + b64(ended.cert) + ", client-key-data: " + b64(ended.key) + "}\nusers: [{name: lab, user: *u}, {name: old, user: *u}]\n" + mergedCluster + mergedContext, done: kubeconfig.Refreshed, name: "lab", has: []string{"x: &u {", "{name: old, user: *u}"}},
	}
	for name, c := range cases {
		if c.wish.Names == nil {
			c.wish = wish
		}
		cases[name] = c
	}
	return cases
}

// others is the kubeconfig of a person, with all kinds of entries.
const others = `# my clusters
apiVersion: v1
kind: Config
preferences: {colors: true}
novelty: kept # that kubectl has not heard of
extensions:
- name: tool
  extension: {a: [1, 2.50, "3"], big: 12345678901234567890}
clusters:
  # on the way out
  - name: old
    cluster:
      server: https://old:6443
      certificate-authority: ca.crt
      novelty: kept
      extensions:
      - {name: client.authentication.k8s.io/exec, extension: {audience: me}}
  - cluster: {server: "https://new", insecure-skip-tls-verify: true}
    name: "yes"
users:
- name: me
  user: &me
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      args: [--token, "on"]
      env: [{name: A, value: "1"}]
      interactiveMode: Never
      provideClusterInfo: true
      novelty: kept
- {name: twin, user: *me}
- name: provider
  user: {auth-provider: {name: oidc, config: {id-token: a}}}
- name: robot
  user: {tokenFile: token, as: you, as-groups: [a], as-user-extra: {b: [c]}}
contexts:
- name: work
  context: {cluster: old, user: me, namespace: team, extensions: [{name: k9s, extension: {pod: 1}}]}
current-context: work
`

func TestMerge(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	access := lab.access(t, "1")
	for name, tt := range mergeCases(t, lab) {
		t.Run(name, func(t *testing.T) {
			there := lab.filled(tt.there)
			var beside []*kubeconfig.Config
			for _, text := range tt.beside {
				beside = append(beside, parse(t, text))
			}
			merged, err := parse(t, there).Merge(beside, access, tt.wish)
			if tt.taken != "" {
				why, is := errors.AsType[*kubeconfig.Taken](err)
				if !is || !strings.Contains(err.Error(), tt.taken) || why.Path != "config" || merged.Text != nil {
					t.Errorf("got %v, want %s", err, tt.taken)
				}
				return
			}
			if stays := strings.HasPrefix(name, "a newer one") && !tt.wish.Overwrite; merged.Newer.IsZero() == stays {
				t.Errorf("what is there ends on %v", merged.Newer)
			}
			if err != nil || merged.Done != tt.done || merged.Name != tt.name || !slices.Equal(merged.Others, tt.used) {
				t.Fatalf("%q is %s, %v, %v", merged.Name, merged.Done, merged.Others, err)
			}
			if (merged.Text == nil) != (tt.done == kubeconfig.Unchanged) {
				t.Fatalf("it is %s, and written:\n%s", merged.Done, merged.Text)
			}
			if merged.Text != nil {
				leadsTo(t, string(merged.Text), lab, merged.Name)
				keeps(t, there, string(merged.Text), merged.Name)
			}
			for _, want := range tt.has {
				if !strings.Contains(string(merged.Text), want) {
					t.Errorf("there is no %q in\n%s", want, merged.Text)
				}
			}
			if merged.Text == nil {
				return
			}
			again, err := parse(t, string(merged.Text)).Merge(beside, access, tt.wish)
			if err != nil || again.Done != kubeconfig.Unchanged || again.Name != merged.Name || again.Text != nil {
				t.Errorf("once more, %q is %s, %v\n%s", again.Name, again.Done, err, again.Text)
			}
		})
	}
}

// TestMergeReadsFilesThatAreThere compares what entries name by path, from their own folder.
func TestMergeReadsFilesThatAreThere(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	dir := t.TempDir()
	for name, text := range map[string]string{"ca.crt": lab.ca, "me.crt": lab.cert, "me.key": lab.key} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	byPath := lab.filled("clusters: [{name: lab, cluster: {server: '{server}', certificate-authority: ca.crt}}]\n" +
		"users: [{name: lab, user: {client-certificate: me.crt, client-key: me.key}}]\n" + mergedContext)
	for folder, want := range map[string]kubeconfig.Done{dir: kubeconfig.Unchanged, t.TempDir(): kubeconfig.Overwritten} {
		there := must.Get(kubeconfig.Parse(filepath.Join(folder, "config"), []byte(byPath)))(t)
		merged, err := there.Merge(nil, lab.access(t, "1"), kubeconfig.Wish{Names: []string{"lab"}, Overwrite: true})
		if err != nil || merged.Done != want || strings.Contains(string(merged.Text), "me.key") {
			t.Errorf("it is %s, %v\n%s", merged.Done, err, merged.Text)
		}
	}
}

// leadsTo holds a context to be that of the way, and to need no other file.
func leadsTo(t *testing.T, text string, w way, name string) {
	t.Helper()
	used, err := parse(t, text).Use(name)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if used == nil {
		used = []byte(text)
	}
	got, err := parse(t, string(used)).Access()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !got.SameCluster(w.access(t, "1")) || got.ID != "" && got.ID != "1" {
		t.Errorf("%s leads to %s (%s)", name, got.Server(), got.ID)
	}
	entry := generic(t, text)
	for _, list := range []string{"contexts/", "clusters/", "users/"} {
		if entry[list+name] == nil {
			t.Errorf("there is no %s%s", list, name)
		}
	}
	for _, secret := range []string{b64(w.key), b64(w.cert)} {
		if !strings.Contains(text, secret) {
			t.Errorf("the credentials are not those that were merged:\n%s", text)
		}
	}
}

// keeps holds all but the entries of a name, and the current context where there was none, to
// be as before: also what kubectl does not know.
func keeps(t testing.TB, before, after, name string) {
	t.Helper()
	was, is := generic(t, before), generic(t, after)
	for _, tree := range []map[string]any{was, is} {
		for _, entry := range []string{"contexts/" + name, "clusters/" + name, "users/" + name} {
			delete(tree, entry)
		}
	}
	for _, field := range []string{"apiVersion", "kind", "current-context"} {
		if was[field] == nil || was[field] == "" {
			delete(was, field)
			delete(is, field)
		}
	}
	for _, tree := range []map[string]any{was, is} { // a list that is null holds nothing to lose
		maps.DeleteFunc(tree, func(_ string, value any) bool { return value == nil })
	}
	if len(was) == 0 && len(is) == 0 {
		return
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("it is not all kept:\n%s", diff)
	}
}

// TestMergeKeepsHowItIsWritten compares the text: it changes where the entries are.
func TestMergeKeepsHowItIsWritten(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	there := "# head\n\napiVersion: v1\nkind: Config\nclusters:\n# first\n- cluster:\n    server: https://a # here\n    odd: yes\n  name: a\ncontexts: []\ncurrent-context: \"\"\nusers: []\n# tail\n"
	merged := must.Get(parse(t, there).Merge(nil, lab.access(t, "1"), kubeconfig.Wish{Names: []string{"lab"}, Use: true}))(t)
	marked := "extensions:\n    - extension:\n        id: \"1\"\n        server: {server}\n      name: oaictl.io/cluster\n"
	want := lab.filled("# head\n\napiVersion: v1\nkind: Config\nclusters:\n# first\n- cluster:\n    server: https://a # here\n    odd: yes\n  name: a\n" +
		"- cluster:\n    certificate-authority-data: {ca}\n    " + marked + "    server: {server}\n  name: lab\n" +
		"contexts:\n- context:\n    cluster: lab\n    " + marked + "    user: lab\n  name: lab\ncurrent-context: lab\n" +
		"users:\n- name: lab\n  user:\n    client-certificate-data: {cert}\n    client-key-data: {key}\n    " + marked + "# tail\n")
	check.Same(t, want, string(merged.Text))
}

// TestMergeRefusesWhatHangsTogether changes nothing where that would change something else,
// also what kubectl does not look at.
func TestMergeRefusesWhatHangsTogether(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	ended := lab.endingAt(t, noon())
	for _, other := range []string{"- {name: twin, user: *u}\n", "novelty: *u\n"} {
		there := lab.filled(mergedCluster+mergedContext) + ended.filled("users:\n- name: lab\n  user: &u {client-certificate-data: {cert}, client-key-data: {key}}\n") + other
		merged, err := parse(t, there).Merge(nil, lab.access(t, ""), kubeconfig.Wish{Names: []string{"lab"}})
		if err == nil || !strings.Contains(err.Error(), "YAML anchors") || merged.Text != nil {
			t.Errorf("%s: %v\n%s", other, err, merged.Text)
		}
	}
}

// TestCurrentContext is switched where that was asked for, and nowhere else.
func TestCurrentContext(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	access := lab.access(t, "")
	wish := kubeconfig.Wish{Names: []string{"lab"}}
	for _, tt := range []struct {
		there, before, now string
		use, written       bool
	}{
		{"current-context: work\n", "work", "work", false, true},
		{"current-context: work\n", "work", "lab", true, true},
		{"", "", "", false, true},
		{"", "", "lab", true, true},
		{mergedCluster + mergedUser + mergedContext + "current-context: work\n", "work", "lab", true, true},
		{mergedCluster + mergedUser + mergedContext + "current-context: lab\n", "lab", "lab", true, false},
		{mergedCluster + mergedUser + mergedContext, "", "", false, false},
	} {
		wish.Use = tt.use
		merged, err := parse(t, lab.filled(tt.there)).Merge(nil, access, wish)
		if err != nil || merged.Before != tt.before || merged.Current != tt.now || (merged.Text != nil) != tt.written {
			t.Errorf("%q with %v: %+v, %v", tt.there, tt.use, merged, err)
		}
		if merged.Text != nil && parse(t, string(merged.Text)).Current() != tt.now {
			t.Errorf("%q with %v: %s", tt.there, tt.use, merged.Text)
		}
	}
}

// TestPlace finds the kubeconfig that has the cluster, as kubectl reads several.
func TestPlace(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	ours, foreign, empty := lab.filled(mergedCluster+mergedUser+mergedContext), "contexts: [{name: lab, context: {cluster: x, user: z}}]", ""
	second := strings.ReplaceAll(ours, "lab\n", "lab.example.com\n")
	second = strings.ReplaceAll(second, ": lab,", ": lab.example.com,")
	for name, tt := range map[string]struct {
		files []string
		want  int
	}{
		"one": {[]string{empty}, 0}, "none has it": {[]string{empty, empty}, 1}, "the first has it": {[]string{ours, empty}, 0}, "the second has it": {[]string{empty, ours, empty}, 1},
		"hidden by another's": {[]string{foreign, ours, empty}, 2}, "by its second name": {[]string{foreign, second, empty}, 1},
	} {
		var files []*kubeconfig.Config
		for _, text := range tt.files {
			files = append(files, parse(t, text))
		}
		check.Equal(t, kubeconfig.Place(files, lab.access(t, "1"), kubeconfig.Wish{Names: []string{"lab", "lab.example.com"}}, len(files)-1), tt.want, name)
	}
}

// FuzzMergeKeepsEverything merges into each file that kubectl can read.
func FuzzMergeKeepsEverything(f *testing.F) {
	lab := newWay(f, "lab.example.com")
	access := lab.access(f, "1")
	for _, text := range []string{others, lab.filled(mergedCluster + mergedUser + mergedContext), lab.filled(installed), "", "# a\n", "{}", "a: &a [b]\nusers: *a\n", "users: [{name: lab, user: null}]", "clusters: [{}]", "a: {0}\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		there, err := kubeconfig.Parse("config", []byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		wish := kubeconfig.Wish{Names: []string{"lab", "lab.example.com"}}
		merged, err := there.Merge(nil, access, wish)
		if err != nil || merged.Text == nil {
			return
		}
		keeps(t, text, string(merged.Text), merged.Name)
		again, err := parse(t, string(merged.Text)).Merge(nil, access, wish)
		if err != nil || again.Text != nil {
			t.Errorf("once more, it is %s: %v\n%s", again.Done, err, merged.Text)
		}
	})
}
