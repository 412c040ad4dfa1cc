package create

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type replaceOptions struct {
	addNodeOptions
	removing app.Removing
	With     string
	Backup   bool
	Yes      bool

	old   string
	auto  bool          // the role of the new host was not given
	whole *spec.Cluster // the file as it is
}

// NewReplaceNode is `replace-node`.
func NewReplaceNode(a *app.App) *cobra.Command {
	o := &replaceOptions{addNodeOptions: addNodeOptions{runOptions: runOptions{App: a}}, removing: app.Removing{App: a}}
	command := &cobra.Command{
		Use:   "replace-node NODE -f FILE | NODE --cluster NAME --name HOST --mac MAC",
		Short: "Put another machine in the place of a control plane node",
		RunE: func(command *cobra.Command, given []string) error {
			if len(given) != 1 {
				return app.Usagef("replace-node needs one NODE, the old one; the new host is in the file, or is named with --name")
			}
			o.old = given[0]
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.declare(flags)
	o.host.declare(flags)
	o.ToCluster.Declare(flags)
	o.Approval.Declare(flags)
	o.removing.Declare(flags)
	flags.StringVar(&o.With, "with", "", "`NAME` of the host of the file that takes its place (default: the only one)")
	flags.BoolVar(&o.Backup, "backup-taken", false, "there is a backup of etcd; this is written down")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask")
	return command
}

// replacement is what there is to do, in its order.
type replacement struct {
	client *install.Client // which looks at the installed cluster, too
	found  *install.Found
	leave  *model.Desired // the old node
	join   *spec.Cluster  // the new host
	with   string
	plan   model.Plan // of the old node
}

func (p *replacement) removed() model.NodeRemoval { return p.plan.Removals[0] }

// isGone reports whether nothing is left of the old node.
func (p *replacement) isGone() bool { return len(p.removed().Left) == 0 }

func (o *replaceOptions) run(ctx context.Context) error {
	o.Until, o.AcceptControlPlane = untilReady, true
	if err := o.checkHosts("replace-node"); err != nil {
		return err
	}
	if o.Detach {
		return app.Usagef("replace-node waits for each of its steps, so it cannot be detached; you can stop it, and run it again to continue")
	}
	o.removing.ToCluster = o.ToCluster
	o.removing.ToCluster.Dir, o.removing.Timeout, o.removing.UserTimeout, o.removing.BMCProxy = o.Dir, o.Timeout, o.UserTimeout,
		o.boot.BMCProxy
	if err := o.removing.Check(); err != nil {
		return err
	}
	p, err := o.look(ctx)
	if err != nil {
		return err
	}
	if err := o.allowed(p); err != nil {
		return err
	}
	if o.DryRun {
		return o.Print(printer.Result{Data: output.OfPlan(p.plan, nil), Text: func() string { return o.text(p) }})
	}
	if len(p.plan.Blockers) > 0 {
		return refusal(p.removed().Node, p.plan.Blockers)
	}
	if p.isGone() { // and that was asked for before
		return o.add(ctx, p.join)
	}
	o.Say("%s", escape.Text(strings.TrimSuffix(o.text(p), "\n")))
	if err := o.backup(ctx, p); err != nil {
		return err
	}
	if err := o.Confirm(o.Yes, fmt.Sprintf("replace %s of %s by %s?", p.removed().Node, p.leave.FullName(), p.with)); err != nil {
		return err
	}
	return o.carryOutBoth(ctx, p)
}

// carryOutBoth does the one and then the other. A node whose member of etcd is not well goes first:
// etcd takes no new member beside it. One that is well goes last, so that there are never too few.
func (o *replaceOptions) carryOutBoth(ctx context.Context, p *replacement) error {
	leave := func() error {
		o.removing.Agree(p.leave, p.plan)
		p.leave.Options.Remove.Backup = true
		return o.removing.Run(ctx, p.client, p.leave)
	}
	if p.removed().Dead {
		if err := leave(); err != nil {
			return err
		}
		return o.add(ctx, p.join)
	}
	if err := o.add(ctx, p.join); err != nil {
		return err
	}
	p.leave.Options.Remove.ReplacedBy = "" // with one more, it goes as any other
	return leave()
}

// look finds the cluster, the host that is new, and what is to be done to the old node.
func (o *replaceOptions) look(ctx context.Context) (*replacement, error) {
	join, err := o.hosts(ctx, o.only)
	if err != nil {
		return nil, err
	}
	service, err := o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	found, err := service.Inspect(ctx, install.Target{Name: join.Existing()})
	if err != nil {
		return nil, err
	}
	p := &replacement{found: found, join: join, with: join.Spec.Hosts[0].Name}
	if found.Spec = join; o.whole != nil { // which may name the BMC of the old one, too
		found.Spec = o.whole
	}
	p.leave = found.Desired()
	if p.leave.Options, err = o.removing.Of(ctx, found.Ref, o.old); err != nil {
		return nil, err
	}
	p.leave.Options.Remove.ReplacedBy = p.with
	if p.leave.Options.Remove.Backup, err = o.hasBackup(ctx, p); err != nil { // which says that it had begun, too
		return nil, err
	}
	if p.client, err = o.removing.Client(service, found); err != nil {
		return nil, err
	}
	p.plan, _, err = p.client.PlanRemoval(ctx, p.leave)
	return p, err
}

// only takes the host of a file that takes the old one's place.
func (o *replaceOptions) only(c *spec.Cluster) (*spec.Cluster, error) {
	with := o.With
	has := func(name string) bool {
		return slices.ContainsFunc(c.Spec.Hosts, func(h spec.Host) bool { return h.Name == name })
	}
	switch {
	case with != "" && !has(with):
		return nil, app.Usagef("--with %q is not a host of the file", with)
	case with == "" && len(c.Spec.Hosts) == 1:
		with = c.Spec.Hosts[0].Name
	case with == "":
		return nil, app.Usagef("the file has several hosts; choose the host that replaces %s: --with NAME", o.old)
	}
	if c.Existing() == "" {
		o.whole = c
	}
	join := c.Adding(with)
	switch host := &join.Spec.Hosts[0]; host.Role {
	case spec.ControlPlane, spec.Arbiter:
	case "", spec.Auto:
		host.Role, o.auto = spec.ControlPlane, true
	default:
		return nil, app.Usagef("%s has the role %s. replace-node only replaces control plane hosts and arbiters. For a worker, use "+
			"remove-node, and add another worker with add-node", with, host.Role)
	}
	return join, nil
}

// allowed is why the node cannot be replaced in the present state: what may block its removal is reported before
// anything begins.
func (o *replaceOptions) allowed(p *replacement) error {
	r := p.removed()
	if !p.isGone() && !r.Votes {
		return &model.Fault{
			Code: model.CodeInput, Permanent: true, Op: "replace", On: r.Node, Err: errors.New("it is not a node of the control plane"),
			Next: model.Advicef("{remove-node %s --cluster %s}, and {add-node} for another machine", listtext.Quoted(r.Node),
				listtext.Quoted(p.found.Ref.Name)),
		}
	}
	if err := o.sameRole(p); err != nil {
		return err
	}
	waived := []string{"NoBackup"} // which is asked for
	if !r.Dead {
		waived = append(waived, "EtcdQuorum") // there will be one more then
	}
	p.plan.Blockers = slices.DeleteFunc(p.plan.Blockers, func(b model.Blocker) bool { return slices.Contains(waived, b.Reason) })
	if host := &p.join.Spec.Hosts[0]; !p.isGone() && !r.Dead && strings.EqualFold(host.Name, r.Node) {
		return &model.Fault{
			Code: model.CodeInput, Permanent: true, Op: "replace", On: r.Node,
			Err: errors.New("its member of etcd is healthy, so the new machine joins before the old node is removed, and the two cannot " +
				"have the same name"),
			Next: "if it already is the new machine, there is nothing to do; otherwise give the new host another name; or, to remove the " +
				"old machine first, switch it off, and run the same command again when etcd reports its member as not healthy",
		}
	}
	return nil
}

// sameRole gives the new host the role of the old one.
func (o *replaceOptions) sameRole(p *replacement) error {
	host, r := &p.join.Spec.Hosts[0], p.removed()
	is, was := host.Role == spec.Arbiter, r.Arbiter
	switch {
	case is == was || p.isGone():
		return nil
	case o.auto:
		host.Role = spec.Arbiter
		return nil
	}
	return &model.Fault{
		Code: model.CodeInput, Permanent: true, Op: "replace", On: r.Node, Next: "give the new host the role of the old one",
		Err: fmt.Errorf("%s has the role %s, which is not the role of the old node: only an arbiter can replace an arbiter",
			host.Name, host.Role),
	}
}

// refusal is the error with all blockers.
func refusal(node string, all []model.Blocker) error {
	fault := &model.Fault{Code: model.CodeInput, Permanent: true, Op: "replace", On: node, Next: all[0].Remedy}
	switch all[0].Cure {
	case model.CureOwner:
		fault.Code = model.CodeNotFound
	case model.CureAuth:
		fault.Code = model.CodeAuth
	}
	texts := output.Each(all, func(b model.Blocker) string { return b.Message })
	fault.Err = errors.New(strings.Join(texts, "; besides, "))
	return fault
}

// text is all that will be done, in its order.
func (o *replaceOptions) text(p *replacement) string {
	join := escape.Sprintf("%s joins %s:\n  + boots the discovery image, and is installed\n  … until its node takes work, "+
		"and its member of "+
		"etcd is well\n", p.with, p.leave.FullName())
	leave := app.RemovalText(p.leave, o.Hinted(p.plan))
	if p.removed().Dead || p.isGone() {
		return leave + "Then " + join
	}
	return "First " + join + "Then " + leave
}

// backupFile is the name of the file that records which user has said that there is a backup.
const backupFile = "etcd-backups.jsonl"

// backupFor is how long a backup counts after the user has confirmed it.
const backupFor = 24 * time.Hour

// backupLine is one line of it.
type backupLine struct {
	Time      time.Time `json:"time"`
	ClusterID string    `json:"clusterID"`
	Node      string    `json:"node"` // before whose replacement it was taken
	By        string    `json:"by"`   // "--backup-taken", or "answer"
}

// backup asks the user to confirm that there is a backup of etcd, and records that. A user who continues a replacement
// is not asked again.
func (o *replaceOptions) backup(ctx context.Context, p *replacement) error {
	node, id := p.removed().Node, p.found.Ref.ID
	by := "--backup-taken"
	if !o.Backup {
		if known, err := o.hasBackup(ctx, p); known || err != nil {
			return err
		}
		command := model.Advicef("oc debug --as-root node/%s -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup",
			p.removed().Beside)
		fault := &model.Fault{
			Code: model.CodeNeedsUser, Permanent: true, Op: "replace", On: node, Err: errors.New("a backup of etcd is needed first"),
			Next: model.Advicef("%s; then run the same command again with --backup-taken", command),
		}
		if !o.CanAsk() {
			return fault
		}
		o.Say("Take a backup of etcd first: %s", o.Hint(command))
		if taken, err := o.Ask("have you taken the backup, and copied it from the node?"); !taken || err != nil {
			return errors.Join(err, fault)
		}
		by = "answer"
	}
	line, err := json.Marshal(backupLine{Time: o.Clock.Now().UTC(), ClusterID: id, Node: o.old, By: by})
	if err != nil {
		return err
	}
	return install.Directory(o.Dir).Append(ctx, p.found.Ref, backupFile, append(line, '\n'))
}

// hasBackup reports whether the user has confirmed that before.
func (o *replaceOptions) hasBackup(ctx context.Context, p *replacement) (bool, error) {
	data, err := install.Directory(o.Dir).Record(ctx, p.found.Ref, backupFile)
	if err != nil {
		return false, err
	}
	for text := range bytes.Lines(data) {
		var line backupLine
		if json.Unmarshal(text, &line) != nil {
			continue // of another node or cluster
		}
		if line.ClusterID == p.found.Ref.ID && strings.EqualFold(line.Node, o.old) && o.Clock.Now().Sub(line.Time) < backupFor {
			return true, nil
		}
	}
	return false, nil
}
