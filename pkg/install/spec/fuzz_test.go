package spec

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// For every file of any kind, Parse ends with a cluster or with problems that have a place, and Load with a cluster
// only where that is the file's kind.
func FuzzLoad(f *testing.F) {
	many := must.Get(os.ReadFile("testdata/many-problems.yaml"))(f)
	for _, seed := range []string{good, string(many), "", "a: *a", "&a [*a]", "- - - - x", "{{{", "<<: {a: 1}", nodes, "kind: Nodes\nspec: {hosts: [{addresses: [\"::1%a\"], taints: [{}]}]}", "spec: {cluster: [a]}", "a: !!str 1\n? b\n", "spec: {hosts: [{net: {nmstate: {interfaces: [{}]}}}]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env := world(map[string]string{"pull-secret.json": goodPullSecret})
		env.Nodes = true
		c, err := Parse(t.Context(), "cluster.yaml", []byte(text), env)
		_, strict := Parse(t.Context(), "cluster.yaml", []byte(text), world(map[string]string{"pull-secret.json": goodPullSecret}))
		if (strict == nil) != (err == nil && c.Kind == Kind) {
			t.Errorf("of any kind: %v; a Cluster: %v", err, strict)
		}
		if err == nil {
			check.Do(t, check.Err(c.AddedTo(Target{Name: "lab", Arch: Multi})))
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

// The short form makes nmstate that can be read back and that describes the same interfaces, for any input.
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

// Input that is made to be slow is refused in time: the memory that is allocated for it grows
// with its size and not with the square of it, and the processor works for seconds at most.
func TestHostileInputIsRefusedSoon(t *testing.T) {
	for name, made := range map[string]func(size int) string{
		"open brackets":  func(size int) string { return strings.Repeat("[", size) },
		"open braces":    func(size int) string { return strings.Repeat("{", size) },
		"dashes":         func(size int) string { return strings.Repeat("- ", size/2) },
		"question marks": func(size int) string { return strings.Repeat("? ", size/2) },
		"aliases":        aliases,
		"keys":           unknownKeys,
		"fields":         func(size int) string { return strings.Repeat("a: 1\n", size/5) },
		"question lines": func(size int) string { return strings.Repeat("? a\n", size/4) },
		"maps in a list": func(size int) string { return strings.Repeat("- a: 1\n  b: 2\n", size/14) },
		"networks": func(size int) string {
			return strings.Replace(good, machine, "    machine: ["+strings.Repeat("10.0.0.0/24,", size/256)+"]\n", 1)
		},
		"documents": func(size int) string { return strings.Repeat("a: 1\n---\n", size/9) },
		"endings":   func(size int) string { return strings.Repeat("a: 1\n...\n", size/9) },
		"too large": func(size int) string { return strings.Repeat("#", size+yamltree.MaxSize) },
	} {
		t.Run(name, func(t *testing.T) {
			const most = yamltree.MaxSize - 100
			var few, many work
			for size, spent := range map[int]*work{most / 4: &few, most: &many} {
				text := made(size)
				*spent = workOf(func() {
					if _, err := parse(t, text, nil); err == nil {
						t.Error("was not refused")
					}
				})
			}
			t.Logf("a quarter: %d bytes, %s; the whole: %d bytes, %s", few.bytes, few.processor, many.bytes, many.processor)
			const small = 16 << 20 // what any file takes
			if many.bytes > 6*few.bytes+small {
				t.Errorf("four times the text takes %d times the memory", many.bytes/few.bytes)
			}
			if many.processor > 10*time.Second {
				t.Errorf("takes %s of the processor", many.processor)
			}
		})
	}
}

// aliases is a file that grows without bound when its aliases are followed.
func aliases(size int) string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i <= size>>15; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), i-1)
	}
	return text
}

// unknownKeys is a file of fields that a cluster does not have.
func unknownKeys(size int) string {
	var keys strings.Builder
	for i := 0; keys.Len() < size; i++ {
		keys.WriteString("k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + "\x20: 1\n")
	}
	return keys.String()
}

// work is what this process has spent: other programs of the machine do not count.
type work struct {
	bytes     uint64
	processor time.Duration
}

func workOf(do func()) work {
	var before, after runtime.MemStats
	began := processorTime()
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return work{bytes: after.TotalAlloc - before.TotalAlloc, processor: processorTime() - began}
}
