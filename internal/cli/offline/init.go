package offline

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/texttemplate"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// pullSecretPage is where a person gets a pull secret.
const pullSecretPage = "https://console.redhat.com/openshift/install/pull-secret"

type initOptions struct {
	*app.App
	Output string

	Name, BaseDomain, Version    string
	PullSecret, SSHKey           string
	MachineNetwork, API, Ingress string
	ControlPlane, Workers        []string // their MAC addresses
	BMCs                         []string // their addresses, those of the control plane first
	BMCCredentials               string
	Gateway, DNS, FirstAddress   string // of static networks
}

// NewInit is `init`.
func NewInit(a *app.App) *cobra.Command {
	o := &initOptions{App: a}
	command := &cobra.Command{
		Use:   "init",
		Short: "Write a cluster.yaml with comments, from a few answers or flags",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	flags := command.Flags()
	flags.StringVarP(&o.Output, "output", "o", "cluster.yaml",
		"`FILE` to write, - for standard output; a file that is there is not overwritten")
	flags.StringVar(&o.Name, "name", "", "`NAME` of the cluster")
	flags.StringVar(&o.BaseDomain, "base-domain", "", "`DOMAIN` in which the cluster's names are: its API is api.NAME.DOMAIN")
	flags.StringVar(&o.Version, "openshift-version", "", "`VERSION` of OpenShift, such as 4.20 for its newest release")
	flags.StringVar(&o.PullSecret, "pull-secret", "", "`FILE` with the pull secret (default pull-secret.json); get it from "+pullSecretPage)
	flags.StringVar(&o.SSHKey, "ssh-key", "", "`FILE` with the public key that may log in to the machines")
	flags.StringVar(&o.MachineNetwork, "machine-network", "", "`CIDR` of the network that the machines are in")
	flags.StringVar(&o.API, "api-vip", "", "unused `ADDRESS` of that network for the API; none for a single node")
	flags.StringVar(&o.Ingress, "ingress-vip", "", "unused `ADDRESS` of that network for *.apps; none for a single node")
	flags.StringSliceVar(&o.ControlPlane, "control-plane-mac", nil, "`MAC` address of a machine of the control plane (repeat it for more)")
	flags.StringSliceVar(&o.Workers, "worker-mac", nil, "`MAC` address of a worker (repeat it for more)")
	flags.StringSliceVar(&o.BMCs, "bmc", nil,
		"`ADDRESS` of a machine's BMC, in the order of the MAC addresses (repeat it for each machine): oaictl then boots the machines")
	flags.StringVar(&o.BMCCredentials, "bmc-credentials", "", "`FILE` with user:password of the BMCs")
	flags.StringVar(&o.FirstAddress, "first-address", "",
		"`ADDRESS` of the first machine; the others follow. Without it the machines get theirs by DHCP")
	flags.StringVar(&o.Gateway, "gateway", "", "`ADDRESS` of the router, with --first-address")
	flags.StringVar(&o.DNS, "dns", "", "`ADDRESS` of the DNS server, with --first-address")
	return command
}

func (o *initOptions) run(ctx context.Context) error {
	if err := o.free(); err != nil {
		return err
	}
	if err := o.complete(ctx); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	text, err := o.document()
	if err != nil {
		return err
	}
	// The paths in the file are relative to it, so that it is checked under its own name.
	name := o.Output
	if name == app.StdoutName {
		name = "cluster.yaml"
	}
	if err := o.CheckText(ctx, name, text); err != nil {
		return err
	}
	if o.Output == app.StdoutName {
		_, err := o.IO.Out.Write(text)
		return err
	}
	if err := writeNew(o.Output, text); err != nil {
		return err
	}
	o.Say("Read it, and change what does not fit your cluster. Then:")
	for _, command := range []string{"validate -f", "create cluster --simulate -f", "create cluster -f"} {
		o.Say("  %s", o.Hint(model.Command(command, listtext.Quoted(o.Output))))
	}
	return o.Saved([]output.Download{{File: o.Output, Bytes: int64(len(text))}}, nil)
}

// free refuses early if the file is there already, so that no question is asked for nothing.
func (o *initOptions) free() error {
	if o.Output == app.StdoutName {
		return nil
	}
	_, err := os.Lstat(o.Output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = fs.ErrExist
	}
	return notNew(o.Output, err)
}

func notNew(path string, err error) error {
	if !errors.Is(err, fs.ErrExist) {
		return app.NotWritten(path, err)
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "write", On: path, Permanent: true, Err: errors.New("it already exists, and oaictl does not overwrite it"),
		Next: "give -o another FILE",
	}
}

// writeNew writes a file that is not there.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return notNew(path, err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return app.NotWritten(path, err)
	}
	return nil
}

// question is what a person is asked where a flag is missing.
type question struct {
	flag  string
	text  string
	value *string
	list  *[]string
	usual string // what an empty answer means
	must  bool
}

// complete asks for what no flag says, or says which flags are missing where no person can be asked.
func (o *initOptions) complete(ctx context.Context) error {
	single := func() bool { return len(o.ControlPlane) == 1 }
	questions := []question{
		{flag: "name", text: "Name of the cluster", value: &o.Name, usual: "lab", must: true},
		{flag: "base-domain", text: "Domain that it is in, as in NAME.DOMAIN", value: &o.BaseDomain, usual: "example.com", must: true},
		{flag: "openshift-version", text: "Version of OpenShift", value: &o.Version, usual: "4.20", must: true},
		{flag: "pull-secret", text: "File with the pull secret, from " + pullSecretPage, value: &o.PullSecret, usual: "pull-secret.json"},
		{flag: "ssh-key", text: "File with a public SSH key, empty for none", value: &o.SSHKey},
		{flag: "control-plane-mac", text: "MAC addresses of the machines of the control plane (one, or three and more)", list: &o.ControlPlane,
			must: true},
		{flag: "worker-mac", text: "MAC addresses of the workers, empty for none", list: &o.Workers},
		{flag: "machine-network", text: "Network that the machines are in", value: &o.MachineNetwork, usual: "192.168.127.0/24", must: true},
		{flag: "api-vip", text: "Unused address of it for the API", value: &o.API, must: true},
		{flag: "ingress-vip", text: "Unused address of it for *.apps", value: &o.Ingress, must: true},
	}
	asked := o.CanAsk() && !o.anyGiven(questions)
	var missing []string
	for _, q := range questions {
		given := q.value != nil && *q.value != "" || q.list != nil && len(*q.list) > 0
		if given || single() && strings.HasSuffix(q.flag, "-vip") {
			continue
		}
		answer := ""
		if asked {
			var err error
			if answer, err = o.AskText(ctx, q.text, q.usual); err != nil {
				return err
			}
		} else if !q.must {
			answer = q.usual
		}
		switch {
		case answer == "" && q.must:
			missing = append(missing, "--"+q.flag)
		case q.list != nil:
			*q.list = strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
		default:
			*q.value = answer
		}
	}
	if len(missing) > 0 {
		return app.Usagef("init needs %s; without any of these flags, it asks at a terminal", listtext.ListText(missing))
	}
	return nil
}

func (o *initOptions) anyGiven(questions []question) bool {
	for _, q := range questions {
		if q.value != nil && *q.value != "" || q.list != nil && len(*q.list) > 0 {
			return true
		}
	}
	return false
}

// check refuses flags that do not go together. What the file says is checked as validate does.
func (o *initOptions) check() error {
	machines := len(o.ControlPlane) + len(o.Workers)
	_, err := netip.ParsePrefix(o.MachineNetwork)
	first, failed := netip.ParseAddr(cmp.Or(o.FirstAddress, "::"))
	switch {
	case err != nil:
		return app.Usagef("--machine-network %q is not a network such as 192.168.127.0/24", o.MachineNetwork)
	case failed != nil:
		return app.Usagef("--first-address %q is not an IP address", o.FirstAddress)
	case len(o.BMCs) != 0 && len(o.BMCs) != machines:
		return app.Usagef("--bmc is given %s for %s: give --bmc for each machine, or for no machine", listtext.CountText(len(o.BMCs), "time"),
			listtext.CountText(machines, "machine"))
	case len(o.BMCs) > 0 && o.BMCCredentials == "":
		return app.Usagef("--bmc needs --bmc-credentials FILE, with user:password")
	case len(o.BMCs) == 0 && o.BMCCredentials != "":
		return app.Usagef("--bmc-credentials needs --bmc ADDRESS")
	case o.FirstAddress == "" && o.Gateway+o.DNS != "":
		return app.Usagef("--gateway and --dns need --first-address: without it, machines get their settings from DHCP")
	case o.FirstAddress != "" && (o.Gateway == "" || o.DNS == ""):
		return app.Usagef("--first-address needs --gateway and --dns")
	case len(o.ControlPlane) == 1 && o.API+o.Ingress != "":
		return app.Usagef("a single node has no virtual addresses: omit --api-vip and --ingress-vip")
	}
	for range machines {
		if o.FirstAddress != "" && !first.IsValid() {
			return app.Usagef("--first-address %s: there are not enough addresses after it", o.FirstAddress)
		}
		first = first.Next()
	}
	path := o.PullSecret
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &model.Fault{
			Code: model.CodeInput, Op: "read the pull secret", On: path, Permanent: true, Err: errors.New("there is no such file"),
			Next: model.Advicef("get it from %s, and save it as %s; --pull-secret names another FILE", pullSecretPage, path),
		}
	}
	return nil
}

// starter is the text of the file.
//
//go:embed cluster.yaml.tmpl
var starter string

// document is the file's text.
func (o *initOptions) document() ([]byte, error) {
	prefix, err := netip.ParsePrefix(o.MachineNetwork)
	if err != nil {
		return nil, err
	}
	address, _ := netip.ParseAddr(o.FirstAddress)
	var machines []any
	add := func(role, name string, macs []string) {
		for i, mac := range macs {
			m := texttemplate.Values{"Name": fmt.Sprintf("%s-%d", name, i), "Role": role, "MAC": mac, "Address": "", "BMC": ""}
			if address.IsValid() {
				m["Address"], address = netip.PrefixFrom(address, prefix.Bits()).String(), address.Next()
			}
			if len(o.BMCs) > 0 {
				m["BMC"] = o.BMCs[len(machines)]
			}
			machines = append(machines, m)
		}
	}
	add("control-plane", "cp", o.ControlPlane)
	add("worker", "worker", o.Workers)
	return texttemplate.Text("cluster.yaml", starter, texttemplate.Values{
		"Name": o.Name, "BaseDomain": o.BaseDomain, "Version": o.Version, "PullSecret": o.besides(o.PullSecret), "SSHKey": o.besides(o.SSHKey),
		"MachineNetwork": o.MachineNetwork, "API": o.API, "Ingress": o.Ingress, "Machines": machines,
		"Credentials": o.besides(o.BMCCredentials), "Gateway": o.Gateway, "DNS": o.DNS, "Single": len(o.ControlPlane) == 1,
	})
}

// besides is a path as the file has it: what a person types is relative to the current folder, and what the file says is
// relative to the file.
func (o *initOptions) besides(path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "~") || o.Output == app.StdoutName || filepath.Dir(o.Output) == "." {
		return path
	}
	relative, err := filepath.Rel(filepath.Dir(o.Output), path)
	if err != nil {
		if whole, err := filepath.Abs(path); err == nil {
			return whole
		}
		return path
	}
	return relative
}
