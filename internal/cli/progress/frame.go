package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type frame struct {
	view          *model.View
	now           time.Time // on the service's clock
	elapsed       time.Duration
	width, height int
	paint         paint
	spin          string
	last          bool   // nothing more will happen
	end           string // the command's own last words, once they are known
}

// widest is how much of a broad terminal is used: longer lines are hard to follow.
const widest = 160

// lines are no wider and no more than the terminal has.
func (f frame) lines() []string {
	f.width = min(f.width, widest)
	lines := []string{f.title()}
	if len(f.view.Hosts) > 0 {
		lines = append(lines, f.hosts(f.height-3)...)
	}
	if blockers := f.view.Plan.Blockers; f.last && (len(blockers) == 0 || strings.Contains(f.end, blockers[0].Message)) {
		return lines
	}
	return append(lines, f.foot())
}

func (f frame) title() string {
	name, state := "", string(model.HostAbsent)
	if d := f.view.Desired; d != nil && d.Spec != nil {
		name = d.Spec.Metadata.Name + "." + d.Spec.Spec.BaseDomain
	}
	if o := f.view.Observed; o != nil && o.Cluster != nil {
		state = string(o.Cluster.State)
		if o.Cluster.State == model.ClusterBlocked && len(f.view.Plan.Blockers) == 0 {
			state = checking
		}
	}
	style := styleActive
	switch model.ClusterState(state) {
	case model.ClusterFailed, model.ClusterCancelled, model.ClusterUnknown:
		style = styleBad
	case model.ClusterBlocked, model.ClusterNeedsUser:
		style = styleWarn
	case model.ClusterInstalled, model.ClusterAddingHosts:
		style = styleGood
	}
	// What can be done without goes first: the bar, then how long it took.
	age, progress := printer.Age(f.elapsed), ""
	rights := []string{age, ""}
	if eta := f.eta(); eta > 0 {
		rights = []string{"about " + left(eta) + " left  " + age, left(eta) + " left", ""}
	}
	if f.view.Percent > 0 {
		progress = fmt.Sprintf("  %s %3d%%", bar(f.view.Percent, clamp(f.width/5, 8, 24)), f.view.Percent)
	}
	right := rights[0]
	room := func() int { return f.width - width(f.spin) - 1 - width(state) - 2 - width(progress) - width(right) - 2 }
	if room() < width(name) {
		progress = ""
	}
	for _, right = range rights {
		if room() >= width(name) {
			break
		}
	}
	name = strings.TrimRight(fit(name, min(width(name), max(room(), 4))), " ")
	line := f.spin + " " + name + "  " + state + progress
	gap := strings.Repeat(" ", max(1, f.width-width(line)-width(right)))
	return f.paint.text(styleStrong, f.spin+" "+name) + "  " + f.paint.text(style, state) + progress + gap + f.paint.text(styleFaint, right)
}

// eta shrinks with each moment since it was worked out, but never to nothing.
func (f frame) eta() time.Duration {
	eta := f.view.ETA
	if o := f.view.Observed; eta > 0 && o != nil && !o.At.IsZero() {
		eta = max(eta-max(f.now.Sub(o.At), 0), time.Minute)
	}
	return eta
}

func bar(percent, cells int) string {
	full := clamp(percent*cells/100, 0, cells)
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }

func (f frame) foot() string {
	plan := f.view.Plan
	switch {
	case len(plan.Blockers) > 0:
		text := firstLine(withFewHosts(plan.Blockers[0]))
		if n := len(plan.Blockers); n > 1 {
			text = fmt.Sprintf("1 of %d: %s", n, text)
		}
		return f.paint.text(styleWarn, cut("  ! "+text, f.width))
	case len(plan.Actions) > 0:
		return f.paint.text(styleFaint, cut("  "+firstLine(plan.Message), f.width))
	default:
		return f.paint.text(styleFaint, cut("  "+f.waits(), f.width))
	}
}

// waits leaves out what single hosts wait for, which is in their lines.
func (f frame) waits() string {
	for _, wait := range f.view.Plan.Waits {
		if wait.Scope == model.ScopeCluster {
			return "waiting for " + firstLine(wait.For)
		}
	}
	return firstLine(f.view.Plan.Message)
}

func cut(text string, cells int) string { return strings.TrimRight(fit(text, cells), " ") }

func (f frame) hosts(room int) []string {
	all := f.cleanHosts()
	hosts := slices.Clone(all)
	slices.SortStableFunc(hosts, func(a, b model.HostView) int {
		return cmp.Compare(hurry(a), hurry(b))
	})
	rest := ""
	if room = max(room-1, 1); len(hosts) > room {
		rest = "  … and " + summary(hosts[max(room-1, 0):])
		hosts = hosts[:max(room-1, 0)]
	}
	if len(all) <= room { // with room for all, the file's order is easier to follow
		hosts = all
	}
	columns := f.columns(hosts)
	names := map[string]bool{}
	for _, host := range all {
		names[host.Name] = true
	}
	lines := []string{f.paint.text(styleFaint, cut(columns.row("HOST", "ROLE", "STAGE", "%", "SINCE", "WAITS FOR"), f.width))}
	for _, host := range hosts {
		host.Waiting = withoutHosts(host.Waiting, names)
		lines = append(lines, f.host(host, columns))
	}
	if rest != "" {
		lines = append(lines, f.paint.text(styleFaint, cut(rest, f.width)))
	}
	return lines
}

func (f frame) cleanHosts() []model.HostView {
	hosts := slices.Clone(f.view.Hosts)
	for i := range hosts {
		h := &hosts[i]
		h.Name, h.Stage, h.Waiting = escape.Word(h.Name), escape.Word(h.Stage), firstLine(h.Waiting)
		h.State = model.HostState(escape.Word(string(h.State)))
	}
	return hosts
}

// hurry orders hosts by how much they need to be seen.
func hurry(h model.HostView) int {
	switch {
	case h.Trouble, h.State == model.HostFailed, h.State == model.HostNeedsUser:
		return 0
	case h.State == model.HostDisconnected, h.State == model.HostBlocked:
		return 1
	case h.State == model.HostInstalled, h.State == model.HostAdded:
		return 3
	default:
		return 2
	}
}

func summary(hosts []model.HostView) string {
	counts := map[string]int{}
	var order []string
	for _, host := range hosts {
		doing := doing(host)
		if counts[doing] == 0 {
			order = append(order, doing)
		}
		counts[doing]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	parts := make([]string, len(order))
	for i, what := range order {
		parts[i] = fmt.Sprintf("%d %s", counts[what], what)
	}
	return fmt.Sprintf("%d more: %s", len(hosts), strings.Join(parts, ", "))
}

func doing(h model.HostView) string {
	if h.Stage == "" || h.State == model.HostFailed || h.State == model.HostNeedsUser {
		return string(h.State)
	}
	return strings.TrimRight(strings.TrimSuffix(h.Stage, "%"), " 0123456789")
}

// columns are the widths of the table's columns; one without a width is left out.
type columns struct{ host, role, stage, percent, age, waits int }

// columns gives what a host waits for the rest of the width. On a narrow terminal the role
// is cut first; on a narrower one columns are left out from the right, the role among them.
func (f frame) columns(hosts []model.HostView) columns {
	c := columns{host: 4, role: 4, stage: 5, percent: 4, age: 5, waits: least}
	for _, h := range hosts {
		c.host = max(c.host, width(h.Name))
		c.role = max(c.role, width(string(h.Role)))
		c.stage = max(c.stage, width(stageOf(h)))
	}
	c.host = min(c.host, max(12, f.width/4))
	if c.over(f.width) > 0 {
		c.role = min(c.role, narrowRole)
	}
	if over := c.over(f.width); over > 0 {
		c.stage = max(min(c.stage, narrowStage), c.stage-over)
	}
	for _, column := range []*int{&c.waits, &c.role, &c.age} {
		if c.over(f.width) > 0 {
			*column = 0
		}
	}
	if c.waits == 0 { // what is left over goes to the stage
		c.stage = max(5, c.stage-c.over(f.width))
		return c
	}
	c.waits -= c.over(f.width)
	return c
}

// least is how much of what a host waits for is worth a column.
const least, narrowStage = 16, 20

// over is negative where there is room left.
func (c columns) over(terminal int) int {
	wide := 0
	for _, column := range []int{c.host, c.role, c.stage, c.percent, c.age, c.waits} {
		if column > 0 {
			wide += column + 2
		}
	}
	return wide - terminal
}

// narrowRole shows of roles: control, worker, arbiter.
const narrowRole = 7

func roleOf(role spec.Role, cells int) string {
	text := escape.Word(string(role))
	if width(text) > cells {
		text, _, _ = strings.Cut(text, "-")
	}
	return text
}

func (c columns) row(host, role, stage, percent, age, waits string) string {
	right := func(text string, cells int) string {
		return strings.Repeat(" ", max(0, cells-width(text))) + text
	}
	var row strings.Builder
	for _, cell := range []struct {
		cells int
		text  string
	}{
		{c.host, fit(host, c.host)}, {c.role, fit(role, c.role)}, {c.stage, fit(stage, c.stage)},
		{c.percent, right(percent, c.percent)}, {c.age, right(age, c.age)}, {c.waits, fit(waits, c.waits)},
	} {
		if cell.cells > 0 {
			row.WriteString("  " + cell.text)
		}
	}
	return row.String()
}

func stageOf(h model.HostView) string {
	switch h.State {
	case model.HostFailed, model.HostNeedsUser, model.HostDisconnected, model.HostCancelled:
		return joined(": ", string(h.State), h.Stage)
	}
	if h.State == model.HostBlocked && !h.Trouble {
		return checking
	}
	if h.Stage == "" {
		return string(h.State)
	}
	return h.Stage
}

func (f frame) host(h model.HostView, c columns) string {
	percent, age := "", ""
	if h.Percent > 0 {
		percent = fmt.Sprintf("%d%%", h.Percent)
	}
	if !h.Since.IsZero() {
		age = printer.Age(f.now.Sub(h.Since))
	}
	row := strings.TrimRight(c.row(h.Name, roleOf(h.Role, c.role), stageOf(h), percent, age, h.Waiting), " ")
	return f.paint.text(hostStyle(h), cut(row, f.width))
}

func hostStyle(h model.HostView) style {
	switch {
	case h.State == model.HostFailed, h.State == model.HostCancelled:
		return styleBad
	case h.Trouble, h.State == model.HostNeedsUser, h.State == model.HostDisconnected:
		return styleWarn
	case h.State == model.HostInstalled, h.State == model.HostAdded:
		return styleGood
	case h.State == model.HostAbsent:
		return styleFaint
	}
	return stylePlain
}

type style string

// The styles are SGR parameters (ECMA-48) of the sixteen colours that themes set.
const (
	stylePlain  style = ""
	styleStrong style = "1"
	styleFaint  style = "2"
	styleBad    style = "31"
	styleGood   style = "32"
	styleWarn   style = "33"
	styleActive style = "36"
)

type paint bool

func (p paint) text(s style, text string) string {
	if !p || s == stylePlain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
