package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type convertOptions struct {
	*app.App
	File        string
	From        string
	To          string
	Dir         string
	Report      string
	WithSecrets bool
	foreign     app.Foreign
}

// NewConvert is `convert`.
func NewConvert(a *app.App) *cobra.Command {
	o := &convertOptions{App: a}
	command := &cobra.Command{
		Use:   "convert -f FILE|DIR",
		Short: "Turn other formats into cluster.yaml, or cluster.yaml into them",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` or folder to convert, - for standard input")
	flags.StringVar(&o.From, "from", "", "what it is: `"+strings.Join(FormatsRead(), "|")+"` (default: find out)")
	flags.StringVar(&o.To, "to", string(convert.FormatCluster), "what to make of it: `"+strings.Join(FormatsWritten(), "|")+"`")
	flags.StringVarP(&o.Dir, "output", "o", "", "`DIR` to write to, instead of standard output; ztp and agent need one")
	flags.StringVar(&o.Report, "report", "", "`FILE` to write what is left behind to, as JSON, - for standard output")
	o.foreign.DeclareMissing(flags)
	flags.BoolVar(&o.WithSecrets, "with-secrets", false, "write secrets into what is made, where its format holds them")
	return command
}

// FormatsRead are the values of --from.
func FormatsRead() []string {
	return output.Each(append(convert.Formats(), convert.FormatCluster), func(f convert.Format) string { return string(f) })
}

// FormatsWritten are the values of --to.
func FormatsWritten() []string {
	return []string{string(convert.FormatCluster), string(convert.FormatZTP), string(convert.FormatAgent),
		string(convert.FormatClusterInstance)}
}

func (o *convertOptions) check() error {
	if o.File == "" {
		return app.Usagef("convert needs -f FILE")
	}
	if o.From != "" {
		if err := app.OneOf("--from", o.From, FormatsRead()...); err != nil {
			return err
		}
	}
	if err := app.OneOf("--to", o.To, FormatsWritten()...); err != nil {
		return err
	}
	switch {
	case o.From == string(convert.FormatCluster) && o.To == o.From:
		return app.Usagef("--from cluster and --to cluster: there is nothing to convert")
	case o.Dir == "" && (o.To == string(convert.FormatZTP) || o.To == string(convert.FormatAgent)):
		return app.Usagef("--to %s makes several files: give -o DIR", o.To)
	case o.Report == app.StdoutName && o.Dir == "":
		return app.Usagef("--report - and the result cannot both use standard output: give -o DIR")
	case o.WithSecrets && o.To == string(convert.FormatCluster):
		return app.Usagef("--with-secrets is only for other formats: a cluster.yaml never contains a secret, and with -o the secrets are " +
			"files next to it")
	}
	return nil
}

func (o *convertOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	how := o.foreign.Options()
	how.Format = convert.Format(o.From)
	from, err := o.Open(ctx, o.File, how)
	if err != nil {
		return o.unnamed(ctx, how, err)
	}
	var account []reported
	if c := from.Converted; c != nil {
		for _, note := range c.Notes {
			o.Say("%s", note)
		}
		account = reportOf(c.Losses, c.Idle)
	}
	if o.To == string(convert.FormatCluster) {
		err = o.writeCluster(from)
	} else {
		var lost []convert.Loss
		lost, err = o.writeOther(from.Cluster)
		account = append(account, reportOf(lost, nil)...)
	}
	if err != nil {
		return err
	}
	return o.report(account)
}

// unnamed advises where only the machines' names are missing: cluster.yaml can have them.
func (o *convertOptions) unnamed(ctx context.Context, how convert.Options, err error) error {
	failed, is := errors.AsType[*app.Unconvertible](err)
	if !is || how.AcceptUnknownHosts || o.File == "-" {
		return err
	}
	how.AcceptUnknownHosts = true
	if _, other := o.Open(ctx, o.File, how); other != nil {
		return err
	}
	return &model.Fault{
		Code: model.CodeInput, Permanent: true, Err: failed.Err,
		Next: model.Command("convert -f", listtext.Quoted(o.File), "--accept-unknown-hosts -o DIR") +
			", then write the machines into DIR/cluster.yaml (spec.hosts) " +
			"in place of acceptUnknownHosts",
	}
}

func (o *convertOptions) writeCluster(from *app.Source) error {
	c := from.Converted
	if c == nil {
		return &model.Fault{
			Code: model.CodeUsage, Op: "convert", On: o.File, Permanent: true, Err: convert.ErrIsCluster,
			Next: model.Advice("give --to " + strings.Join(FormatsWritten()[1:], ", --to ")),
		}
	}
	if o.Dir == "" {
		if _, err := o.IO.Out.Write(append(bytes.TrimRight(c.Document, "\n"), '\n')); err != nil {
			return app.FileFault("write to", "standard output", err)
		}
		if len(c.Files) > 0 {
			o.Say("It refers to files that do not exist yet; -o DIR also writes these files: %s",
				strings.Join(slices.Sorted(maps.Keys(c.Files)), ", "))
		}
		return nil
	}
	// What stands there in words that are not ours may hold a secret of the user's.
	name := "cluster.yaml"
	if c.Format == convert.FormatNodes {
		name = "nodes.yaml"
	}
	files := []convert.File{{Path: name, Content: c.Document, Secret: foreignWords(c.Cluster)}}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		files = append(files, convert.File{Path: name, Content: c.Files[name], Secret: true})
	}
	return o.writeFiles(files)
}

// foreignWords reports whether a cluster embeds other formats, which may hold anything.
func foreignWords(c *spec.Cluster) bool {
	inline := func(d *spec.Document) bool { return d != nil && d.Inline != nil }
	s := &c.Spec
	return len(s.Overrides.InstallConfig)+len(s.Overrides.InfraEnv)+len(s.Overrides.Host) > 0 || inline(s.Discovery.Ignition) ||
		slices.ContainsFunc(s.Hosts, func(h spec.Host) bool { return inline(h.Ignition) })
}

func (o *convertOptions) writeOther(cluster *spec.Cluster) ([]convert.Loss, error) {
	files, lost, err := convert.Write(cluster, convert.Format(o.To), convert.Options{Secrets: o.WithSecrets})
	if err != nil {
		return nil, err
	}
	if o.Dir == "" { // which several files need
		if _, err := o.IO.Out.Write(files[0].Content); err != nil {
			return nil, app.FileFault("write to", "standard output", err)
		}
		return lost, nil
	}
	return lost, o.writeFiles(files)
}

func (o *convertOptions) writeFiles(files []convert.File) error {
	if err := convert.WriteFiles(o.Dir, files); err != nil {
		return &model.Fault{Code: model.CodeFailure, Err: err, Permanent: true, Next: "give -o a new or empty folder"}
	}
	if o.Report == app.StdoutName {
		return nil
	}
	return o.Saved(output.Each(files, func(f convert.File) output.Download {
		return output.Download{File: filepath.Join(o.Dir, filepath.FromSlash(f.Path)), Bytes: int64(len(f.Content))}
	}), nil)
}

type reported struct {
	convert.Loss
	// Idle: nothing is lost with it, since the format has to have it or repeats it.
	Idle bool `json:"idle,omitempty"`
}

func reportOf(losses, idle []convert.Loss) []reported {
	lost := output.Each(losses, func(l convert.Loss) reported { return reported{Loss: l} })
	return append(lost, output.Each(idle, func(l convert.Loss) reported { return reported{Loss: l, Idle: true} })...)
}

func (o *convertOptions) report(account []reported) error {
	var lost []convert.Loss
	for _, entry := range account {
		if !entry.Idle {
			lost = append(lost, entry.Loss)
		}
	}
	if len(lost) > 0 {
		o.Say("%s left behind:\n%s", listtext.CountText(len(lost), "value"), escape.Text(strings.TrimSuffix(app.LossText(lost), "\n")))
	}
	if o.Report == "" {
		return nil
	}
	text, err := json.MarshalIndent(append([]reported{}, account...), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	_, err = o.SaveTo(o.Report, app.Content(append(text, '\n')))
	return err
}
