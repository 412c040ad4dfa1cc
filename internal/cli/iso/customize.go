package iso

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/liveimage"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// largestConfig bounds a file that goes into an image, in bytes.
const largestConfig = 64 << 20

type customizeOptions struct {
	liveimage.Options
	Out         liveimage.Output
	Ignition    []string
	AppendKargs []string
	DeleteKargs []string
	ReplaceKarg []string
	ResetKargs  bool
	Keyfiles    []string
	NMState     string
	MACs        []string
	Hostname    string
	NoGrow      bool
	Merge       bool
	Replace     bool
}

func newCustomize(a *app.App) *cobra.Command {
	o := &customizeOptions{Options: liveimage.Options{App: a}}
	command := &cobra.Command{
		Use:   "customize BASE -o OUT",
		Short: "Make an image of a machine's own: Ignition, kernel arguments, network",
		Args:  oneImage("BASE"),
		RunE: func(command *cobra.Command, given []string) error {
			// The environment speaks of -o FORMAT, which this verb does not have.
			if !command.Flags().Changed("output") {
				o.Out.Path = ""
			}
			return o.run(command.Context(), given[0])
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	o.Out.Declare(flags)
	flags.StringArrayVar(&o.Ignition, "ignition", nil, "`FILE` with an Ignition config, - for standard input; may be repeated")
	flags.StringArrayVar(&o.AppendKargs, "append-karg", nil, "append the kernel `ARGUMENT`; may be repeated")
	flags.StringArrayVar(&o.DeleteKargs, "delete-karg", nil, "delete the kernel `ARGUMENT`; may be repeated")
	flags.StringArrayVar(&o.ReplaceKarg, "replace-karg", nil, "replace a kernel argument: `OLD=NEW`, or KEY=OLD=NEW; may be repeated")
	flags.BoolVar(&o.ResetKargs, "reset-kargs", false, "begin with the kernel arguments that the image was built with")
	flags.StringArrayVar(&o.Keyfiles, "network-keyfile", nil, "`FILE.nmconnection` for NetworkManager; may be repeated")
	flags.StringVar(&o.NMState, "nmstate", "", "`FILE` that describes the network as nmstate does, - for standard input")
	flags.StringArrayVar(&o.MACs, "mac", nil, "`NAME=MAC` of an interface of --nmstate; may be repeated")
	flags.StringVar(&o.Hostname, "hostname", "", "`NAME` of the machine while it runs from the image")
	flags.BoolVar(&o.NoGrow, "no-grow", false, "fail rather than make the image larger for a config that does not fit")
	flags.BoolVar(&o.Merge, "merge", false, "keep what BASE carries already")
	flags.BoolVar(&o.Replace, "replace", false, "drop what BASE carries already")
	return command
}

func (o *customizeOptions) run(ctx context.Context, location string) error {
	if err := o.check(location); err != nil {
		return err
	}
	wanted, warnings, err := o.customization(ctx)
	if err != nil {
		return err
	}
	live, err := o.OpenImage(ctx, location)
	if err != nil {
		return err
	}
	defer func() { _ = live.Close() }() // it was only read from
	for _, text := range o.ReplaceKarg {
		r, err := replacement(text, strings.Fields(live.Kargs()))
		if err != nil {
			return err
		}
		wanted.Kargs.Replace = append(wanted.Kargs.Replace, r)
	}
	made, result, err := live.Customize(wanted)
	if err != nil {
		return live.Fault(err)
	}
	files, err := liveimage.WriteImage(ctx, o.App, made, o.Out)
	if err != nil {
		return err
	}
	for _, w := range result.Warnings {
		if !strings.HasPrefix(w, "the Ignition config:") { // said already, by file and line
			warnings = append(warnings, w)
		}
	}
	for _, w := range warnings {
		o.Warn("%s", w)
	}
	if result.Grown {
		o.Say("The Ignition area was made larger, to %s, at the end of the image.", bytesize.Text(result.AreaBytes))
	}
	return o.Saved(files, nil)
}

func (o *customizeOptions) check(location string) error {
	switch {
	case o.Merge && o.Replace:
		return app.Usagef("--merge and --replace cannot be used together")
	case len(o.MACs) > 0 && o.NMState == "":
		return app.Usagef("--mac needs --nmstate")
	}
	if err := checkHostname(o.Hostname); err != nil {
		return err
	}
	if _, err := macFlags(o.MACs); err != nil {
		return err
	}
	if location != app.StdoutName {
		if err := app.CheckSource(location, o.SHA256); err != nil {
			return err
		}
	}
	stdin := 0
	for _, path := range append([]string{o.NMState}, o.Ignition...) {
		if path == app.StdoutName {
			stdin++
		}
	}
	if stdin > 1 || location == app.StdoutName || slices.Contains(o.Keyfiles, app.StdoutName) {
		return app.Usagef("only one Ignition config or the nmstate document can come from standard input; the others must be files")
	}
	return liveimage.CheckOutput(o.App, "-o", o.Out)
}

func (o *customizeOptions) customization(ctx context.Context) (iso.Customization, []string, error) {
	c := iso.Customization{NoGrow: o.NoGrow, Kargs: iso.KargEdit{Append: o.AppendKargs, Delete: o.DeleteKargs, Reset: o.ResetKargs}}
	switch {
	case o.Merge:
		c.Existing = iso.Merge
	case o.Replace:
		c.Existing = iso.Replace
	}
	if o.Hostname != "" {
		c.Hostname = map[string]string{"": o.Hostname}
	}
	var err error
	if c.Keyfiles, err = o.networkFiles(ctx); err != nil {
		return c, nil, err
	}
	var warnings []string
	c.Ignition, warnings, err = o.ignitionConfig(ctx)
	return c, warnings, err
}

// replacement takes OLD=NEW apart, in which both may be KEY=VALUE: OLD is what the image
// has. A NEW that is a value alone is one of the same key.
func replacement(text string, current []string) (iso.Replacement, error) {
	old, fresh, found := strings.Cut(text, "=")
	for i := len(text) - 1; i > 0; i-- {
		if text[i] == '=' && slices.Contains(current, text[:i]) {
			old, fresh = text[:i], text[i+1:]
			break
		}
	}
	// No such argument is there, and there are three parts: it is KEY=OLD=NEW, as coreos-installer has it.
	if value, rest, three := strings.Cut(fresh, "="); three && !strings.Contains(old, "=") && !strings.Contains(rest, "=") &&
		!slices.Contains(current, old) {
		old, fresh = old+"="+value, rest
	}
	if !found || old == "" || fresh == "" {
		return iso.Replacement{}, app.Usagef("--replace-karg %q is not OLD=NEW, such as quiet=debug, or KEY=OLD=NEW", text)
	}
	if key, _, keyed := strings.Cut(old, "="); keyed && !strings.Contains(fresh, "=") {
		fresh = key + "=" + fresh
	}
	return iso.Replacement{Old: old, New: fresh}, nil
}

// ignitionConfig is all configs as one, each checked under its own name.
func (o *customizeOptions) ignitionConfig(ctx context.Context) ([]byte, []string, error) {
	var configs [][]byte
	var warnings []string
	for _, path := range o.Ignition {
		data, err := o.input(ctx, "read the Ignition config", path)
		if err != nil {
			return nil, nil, err
		}
		report, err := ignition.Validate(inputName(path), data)
		if err != nil {
			return nil, nil, &model.Fault{Code: model.CodeInput, Permanent: true, Err: err, Next: model.Advice(nextConfig(data))}
		}
		warnings = append(warnings, report.Warnings()...)
		configs = append(configs, data)
	}
	if len(configs) == 0 {
		return nil, nil, nil
	}
	merged, err := ignition.Merge(configs...)
	if err != nil {
		return nil, nil, liveimage.Fault(fmt.Errorf("merge %s: %w", strings.Join(o.Ignition, ", "), err))
	}
	return merged, warnings, nil
}

// nextConfig knows that people often write Butane, which is YAML.
func nextConfig(data []byte) string {
	if text := bytes.TrimSpace(data); len(text) == 0 || text[0] == '{' {
		return ""
	}
	return "give a config in JSON; butane --strict converts Butane's YAML to JSON"
}

func (o *customizeOptions) networkFiles(ctx context.Context) ([]iso.Keyfile, error) {
	var keyfiles []iso.Keyfile
	from := map[string]string{}
	add := func(path string, files ...iso.Keyfile) error {
		for _, k := range files {
			if other, twice := from[k.Name]; twice {
				return &model.Fault{Code: model.CodeInput, Permanent: true,
					Err: fmt.Errorf("%s and %s both make the network profile %s", other, path, k.Name)}
			}
			from[k.Name] = path
			keyfiles = append(keyfiles, k)
		}
		return nil
	}
	for _, path := range o.Keyfiles {
		data, err := o.input(ctx, "read the network keyfile", path)
		if err != nil {
			return nil, err
		}
		if err := nmstate.CheckKeyfile(filepath.Base(path), data); err != nil {
			return nil, liveimage.Fault(err)
		}
		if err := add(path, iso.Keyfile{Name: filepath.Base(path), Content: data}); err != nil {
			return nil, err
		}
	}
	if o.NMState == "" {
		return keyfiles, nil
	}
	made, err := o.fromNMState(ctx)
	if err != nil {
		return nil, err
	}
	return keyfiles, add(o.NMState, made...)
}

func (o *customizeOptions) fromNMState(ctx context.Context) ([]iso.Keyfile, error) {
	macs, err := macFlags(o.MACs)
	if err != nil {
		return nil, err
	}
	data, err := o.input(ctx, "read the network", o.NMState)
	if err != nil {
		return nil, err
	}
	state, err := nmstate.Parse(inputName(o.NMState), data)
	if err != nil {
		return nil, liveimage.Fault(err)
	}
	for _, p := range state.Ignored() {
		o.Warn("%s", p)
	}
	if err := knownMACs(inputName(o.NMState), state, macs); err != nil {
		return nil, err
	}
	made, err := state.Keyfiles(macs)
	if err != nil {
		return nil, &model.Fault{Code: model.CodeInput, Permanent: true, Err: err,
			Next: model.Advicef("%s", before("give ", lackedMACs(state, macs)))}
	}
	if machine := (nmstate.Machine{Name: inputName(o.NMState), State: state, MACs: macs}); len(made) > 0 {
		for _, err := range nmstate.Conflicts([]nmstate.Machine{machine}) {
			return nil, liveimage.Fault(err)
		}
	}
	return made, nil
}

func (o *customizeOptions) input(ctx context.Context, op, path string) ([]byte, error) {
	var data []byte
	var err error
	if path == app.StdoutName {
		data, err = io.ReadAll(io.LimitReader(o.IO.In, largestConfig+1))
	} else {
		data, err = app.ReadFile(ctx, path, largestConfig)
	}
	if err == nil && len(data) > largestConfig {
		err = fmt.Errorf("it has more than %s", bytesize.Text(largestConfig))
	}
	if err != nil {
		return nil, &model.Fault{
			Code: model.CodeInput, Op: op, On: inputName(path), Permanent: true, Err: app.WithoutPath(err), Next: "name a file that can be read",
		}
	}
	return data, nil
}

func inputName(path string) string {
	if path == app.StdoutName {
		return "standard input"
	}
	return path
}
