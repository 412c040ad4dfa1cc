package spec

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// Whatever stands in a file of any kind, LoadAny ends with a cluster or with problems that
// have a place, and Load with a cluster only where that is the file's kind.
func FuzzLoad(f *testing.F) {
	many, err := os.ReadFile("testdata/many-problems.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{good, string(many), "", "a: *a", "&a [*a]", "- - - - x", "{{{", "<<: {a: 1}", nodes, "kind: Nodes\nspec: {hosts: [{addresses: [\"::1%a\"], taints: [{}]}]}", "spec: {cluster: [a]}", "a: !!str 1\n? b\n", "spec: {hosts: [{net: {nmstate: {interfaces: [{}]}}}]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env := world(map[string]string{"pull-secret.json": goodPullSecret})
		c, err := ParseAny(t.Context(), "cluster.yaml", []byte(text), env)
		_, strict := Parse(t.Context(), "cluster.yaml", []byte(text), world(map[string]string{"pull-secret.json": goodPullSecret}))
		if (strict == nil) != (err == nil && c.Kind == Kind) {
			t.Errorf("of any kind: %v; a Cluster: %v", err, strict)
		}
		if err == nil {
			if _, err := c.AddedTo(Target{Name: "lab", Arch: Multi}); err != nil {
				t.Error(err)
			}
			for i := range c.Spec.Hosts {
				c.StaticNetwork(&c.Spec.Hosts[i])
			}
			return
		}
		var problems *Problems
		if !errors.As(err, &problems) || len(problems.List) == 0 {
			t.Fatalf("got %v, want problems", err)
		}
		for _, problem := range problems.List {
			if problem.Line < 1 || problem.Column < 1 || problem.Message == "" {
				t.Errorf("%+v has no place or no message", problem)
			}
		}
	})
}

// The short form makes nmstate that can be read back and says the same
// interfaces, whatever was put into it.
func FuzzStaticNetwork(f *testing.F) {
	f.Add("192.168.10.9/24", "fd10::9/64", "192.168.10.1", "eno1", 100, 9000, true)
	f.Add("dhcp", "auto", "x", "yes: \"\n", -1, 0, false)
	f.Fuzz(func(t *testing.T, ip, ip6, gateway, name string, vlan, mtu int, bonded bool) {
		h := Host{Match: Match{MAC: "52:54:00:00:00:01"}, Net: &HostNet{IP: ip, IP6: ip6, Gateway: gateway, Interface: name, VLAN: vlan, MTU: mtu}}
		if bonded {
			h.Net.Interfaces = []NIC{{Name: name, MAC: "52:54:00:00:00:02"}}
			h.Net.Bond = &Bond{Ports: []string{name, "52:54:00:00:00:03"}}
		}
		c := &Cluster{Spec: ClusterSpec{Hosts: []Host{h}}}
		text, macs, ok := c.StaticNetwork(&c.Spec.Hosts[0])
		again, _, _ := c.StaticNetwork(&c.Spec.Hosts[0])
		if !ok || text != again {
			t.Fatalf("not the same twice:\n%s\n%s", text, again)
		}
		root, problems := parseTree([]byte(text))
		if len(problems) > 0 {
			t.Fatalf("cannot be read back: %v\n%s", problems, text)
		}
		interfaces, _ := root.Get("interfaces")
		for i, mac := range macs {
			if got := textOf(interfaces.Items[i], "name"); got != mac.Name && utf8.ValidString(mac.Name) {
				t.Errorf("interface %d is %q, want %q", i, got, mac.Name)
			}
		}
	})
}

// Input that is made to be slow is refused in time.
func TestHostileInputIsRefusedSoon(t *testing.T) {
	const size = yamltree.MaxSize - 100
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, pair := range []string{"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"} {
		bomb += string(pair[1]) + ": &" + string(pair[1]) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(pair[0])+",", 9), ",") + "]\n"
	}
	var keys strings.Builder
	for i := 0; keys.Len() < size/16; i++ {
		keys.WriteString("k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + "\x20: 1\n")
	}
	for name, text := range map[string]string{
		"open brackets":  strings.Repeat("[", size),
		"open braces":    strings.Repeat("{", size),
		"dashes":         strings.Repeat("- ", size/2),
		"question marks": strings.Repeat("? ", size/2),
		"aliases":        bomb,
		"keys":           keys.String(),
		"networks":       strings.Replace(good, machine, "    machine: ["+strings.Repeat("10.0.0.0/24,", 4000)+"]\n", 1),
		"too large":      strings.Repeat("#", yamltree.MaxSize+1),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := parse(t, text, nil); err == nil {
				t.Error("was not refused")
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			t.Log(time.Since(start))
		})
	}
}
