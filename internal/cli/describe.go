package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

func (a *app) describeCommand() *cobra.Command {
	t := &target{}
	command := &cobra.Command{
		Use:   "describe [cluster|host] NAME|ID|-f FILE",
		Short: "Show all there is to know of a cluster or a host",
		Long: `Show a cluster with its hosts, images, operators and failing checks, or a host with
its hardware, stages and failing checks.`,
		Example: `  oaictl describe lab
  oaictl describe -f cluster.yaml -o yaml
  oaictl describe host cp-0 --cluster lab`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.read(command, given, "cluster", "host"); err != nil {
				return err
			}
			if t.Kind == "host" {
				return a.describeHost(command.Context(), *t)
			}
			return a.describeCluster(command.Context(), *t)
		},
	}
	t.declare(command.Flags())
	t.declareOfHost(command.Flags())
	return command
}

func (a *app) describeCluster(ctx context.Context, t target) error {
	service, err := a.dial(ctx)
	if err != nil {
		return err
	}
	seen, err := a.look(ctx, service, t)
	if err != nil {
		return err
	}
	doc := describedCluster(seen)
	return a.print(printer.Result{Data: doc, Names: []string{"cluster/" + doc.Name}, Text: func(w io.Writer) error {
		_, err := io.WriteString(w, a.clusterText(doc))
		return err
	}})
}

// describedCluster is the form of a cluster with everything in it.
func describedCluster(seen *install.Found) document.Cluster {
	doc := document.OfCluster(*seen.Observed.Cluster)
	doc.Hosts = len(seen.Observed.Hosts)
	detail := &document.ClusterDetail{
		InfraEnvs: []document.InfraEnv{}, Hosts: hostsSeen(seen), Operators: document.OfOperators(seen.Observed.Cluster.Operators),
		Validations: document.OfValidations("", seen.Observed.Cluster.Validations), Manifests: []string{},
	}
	for _, env := range seen.Observed.InfraEnvs {
		detail.InfraEnvs = append(detail.InfraEnvs, document.OfInfraEnv(env))
	}
	for name := range seen.Observed.Cluster.Manifests {
		detail.Manifests = append(detail.Manifests, name)
	}
	slices.Sort(detail.Manifests)
	doc.Detail = detail
	return doc
}

func (a *app) clusterText(doc document.Cluster) string {
	var text strings.Builder
	facts(&text, "", []fact{
		{"Name", doc.Name}, {"Base domain", doc.BaseDomain}, {"ID", doc.ID}, {"State", fmt.Sprintf("%s (%s)", doc.State, doc.Status)},
		{"Info", doc.StatusInfo}, {"Version", doc.Version}, {"Done", percentText(doc.Percent)}, {"Created", a.when(doc.Created)},
		{"Install begun", a.when(doc.Started)}, {"Install ended", a.when(doc.Completed)},
	})
	section(&text, "InfraEnvs", doc.Detail.InfraEnvs, func(e document.InfraEnv) string {
		return escape.Sprintf("  %s  %s  image %s %s\n", e.Name, e.ID, e.Image, e.ImageType)
	})
	section(&text, "Hosts", doc.Detail.Hosts, func(h document.Host) string {
		return escape.Sprintf("  %s  %s  %s  %s\n", h.Name, h.Role, h.State, stageText(h))
	})
	section(&text, "Operators", doc.Detail.Operators, func(o document.Operator) string {
		return strings.TrimRight(escape.Sprintf("  %s  %s  %s %s", o.Name, o.Status, o.Version, o.Info), " ") + "\n"
	})
	section(&text, "Manifests", doc.Detail.Manifests, func(name string) string { return escape.Sprintf("  %s\n", name) })
	section(&text, "Checks that do not pass", failing(doc.Detail.Validations), validationText)
	return text.String()
}

// facts writes names and values under each other, those without a value left
// out.
func facts(text *strings.Builder, indent string, list []fact) {
	longest := 0
	for _, f := range list {
		if f.value != "" {
			longest = max(longest, len(f.name))
		}
	}
	for _, f := range list {
		if f.value != "" {
			escape.Fprintf(text, "%s%-*s  %s\n", indent, longest+1, f.name+":", f.value)
		}
	}
}

func failing(list []document.Validation) []document.Validation {
	var out []document.Validation
	for _, v := range list {
		if fails(v) {
			out = append(out, v)
		}
	}
	return out
}

func validationText(v document.Validation) string {
	return escape.Sprintf("  %s (%s): %s\n", v.ID, v.Status, strings.Join(strings.Fields(v.Message), " "))
}

func (a *app) describeHost(ctx context.Context, t target) error {
	service, err := a.dial(ctx)
	if err != nil {
		return err
	}
	host, err := a.findHost(ctx, service, t)
	if err != nil {
		return err
	}
	doc := document.OfHostDetail(host, "")
	return a.print(printer.Result{Data: doc, Names: []string{"host/" + doc.Name}, Text: func(w io.Writer) error {
		_, err := io.WriteString(w, a.hostText(doc))
		return err
	}})
}

func (a *app) hostText(doc document.Host) string {
	var text strings.Builder
	role := string(doc.Role)
	if doc.Bootstrap {
		role += " (bootstrap)"
	}
	memory := ""
	if doc.Memory > 0 {
		memory = fmt.Sprintf("%.0f GiB", float64(doc.Memory)/(1<<30))
	}
	cpus := ""
	if doc.CPUs > 0 {
		cpus = fmt.Sprintf("%d %s", doc.CPUs, doc.Detail.Arch)
	}
	facts(&text, "", []fact{
		{"Name", doc.Name}, {"ID", doc.ID}, {"Role", role}, {"State", fmt.Sprintf("%s (%s)", doc.State, doc.Status)}, {"Info", doc.StatusInfo},
		{"Stage", stageText(doc)}, {"Done", percentText(doc.Percent)}, {"Since", a.when(doc.Since)}, {"Last heard of", a.when(doc.CheckedIn)},
		{"Registered", a.when(doc.Registered)}, {"Cluster", doc.ClusterID}, {"InfraEnv", doc.InfraEnvID},
		{"Machine", strings.TrimSpace(doc.Detail.Manufacturer + " " + doc.Detail.Product)}, {"Serial", doc.Serial}, {"BMC", doc.BMC}, {"CPUs", cpus}, {"Memory", memory},
	})
	section(&text, "Interfaces", doc.Detail.Interfaces, func(i document.Interface) string {
		link := "up"
		if !i.Up {
			link = "down"
		}
		return escape.Sprintf("  %s  %s  %s  %s\n", i.Name, i.MAC, link, listText(i.Addresses))
	})
	section(&text, "Disks", doc.Detail.Disks, diskText)
	section(&text, "Checks that do not pass", failing(doc.Detail.Validations), validationText)
	return text.String()
}

// diskText is a disk and what becomes of it.
func diskText(d document.Disk) string {
	line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", d.Path, sizeText(d.SizeBytes), d.Type, d.Vendor, d.Model)), " ")
	var notes []string
	if d.Install {
		notes = append(notes, "installed on")
	}
	if d.Formatted {
		notes = append(notes, "formatted")
	}
	if !d.Eligible {
		notes = append(notes, "not eligible: "+strings.Join(d.Reasons, "; "))
	}
	if len(notes) > 0 {
		line += " (" + strings.Join(notes, ", ") + ")"
	}
	if name := d.ByID; name != "" {
		return escape.Sprintf("  %s\n    %s\n", line, name)
	}
	return escape.Sprintf("  %s\n", line)
}
