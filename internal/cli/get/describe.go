package get

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NewDescribe is `describe`.
func NewDescribe(a *app.App) *cobra.Command {
	t := &app.Target{}
	command := &cobra.Command{
		Use:   "describe [cluster|host] NAME|ID|-f FILE",
		Short: "Show all there is to know of a cluster or a host",
		RunE: t.Then(func(ctx context.Context) error {
			if t.Kind == "host" {
				return describeHost(ctx, a, *t)
			}
			return describeCluster(ctx, a, *t)
		}, "cluster", "host"),
	}
	t.Declare(command.Flags())
	t.DeclareOfHost(command.Flags())
	return command
}

func describeCluster(ctx context.Context, a *app.App, t app.Target) error {
	service, seen, err := app.DialFor(ctx, a, t, a.ObserveCluster)
	if err != nil {
		return err
	}
	doc := describedCluster(seen)
	objects, err := service.Objects(ctx, doc.ID)
	if err != nil {
		return err
	}
	doc.Detail.Objects = output.OfObjects(objects)
	return a.Print(printer.Result{Data: doc, Names: []string{"cluster/" + doc.Name}, Text: func() string { return clusterText(a, doc) }})
}

func describedCluster(seen *install.Found) output.Cluster {
	doc := output.OfCluster(*seen.Observed.Cluster)
	doc.Hosts = len(seen.Observed.Hosts)
	doc.Detail = &output.ClusterDetail{
		OpenShiftID: seen.Observed.Cluster.OpenShiftID,
		InfraEnvs:   output.Each(seen.Observed.InfraEnvs, output.OfInfraEnv), Hosts: app.HostDocuments(seen),
		Operators:   output.OfOperators(seen.Observed.Cluster.Operators),
		Validations: output.OfValidations("", seen.Observed.Cluster.Validations),
		Manifests:   slices.AppendSeq([]string{}, maps.Keys(seen.Observed.Cluster.Manifests)),
	}
	slices.Sort(doc.Detail.Manifests)
	return doc
}

func clusterText(a *app.App, doc output.Cluster) string {
	var text strings.Builder
	app.Facts(&text, "", [][2]string{
		{"Name", doc.Name}, {"Base domain", doc.BaseDomain}, {"ID", doc.ID}, {"OpenShift id", doc.Detail.OpenShiftID},
		{"State", fmt.Sprintf("%s (%s)", doc.State, doc.Status)},
		{"Info", doc.StatusInfo}, {"Version", doc.Version}, {"Done", app.PercentText(doc.Percent)}, {"Created", a.FormatTime(doc.Created)},
		{"Install begun", a.FormatTime(doc.Started)}, {"Install ended", a.FormatTime(doc.Completed)},
	})
	app.Section(&text, "InfraEnvs", doc.Detail.InfraEnvs, func(e output.InfraEnv) string {
		return escape.Sprintf("  %s  %s  image %s %s\n", e.Name, e.ID, e.Image, e.ImageType)
	})
	app.Section(&text, "Hosts", doc.Detail.Hosts, func(h output.Host) string {
		return escape.Sprintf("  %s  %s  %s  %s\n", h.Name, h.Role, h.State, app.StageText(h))
	})
	app.Section(&text, "Operators", doc.Detail.Operators, func(o output.Operator) string {
		return strings.TrimRight(escape.Sprintf("  %s  %s  %s %s", o.Name, o.Status, o.Version, o.Info), " ") + "\n"
	})
	app.Section(&text, "Manifests", doc.Detail.Manifests, func(name string) string { return escape.Sprintf("  %s\n", name) })
	app.Section(&text, "Checks that do not pass", failing(doc.Detail.Validations), validationText)
	app.Section(&text, "Objects of the hub", doc.Detail.Objects, objectText)
	return text.String()
}

func objectText(o output.Object) string {
	var text strings.Builder
	text.WriteString(escape.Sprintf("  %s %s\n", o.Kind, o.Name))
	if o.IPXE != "" {
		text.WriteString(escape.Sprintf("    iPXE script: %s\n", o.IPXE))
	}
	for _, c := range o.Conditions {
		text.WriteString(escape.Sprintf("    %s=%s (%s) %s\n", c.Type, c.Status, c.Reason, strings.Join(strings.Fields(c.Message), " ")))
	}
	return text.String()
}

func failing(list []output.Validation) []output.Validation {
	return slices.DeleteFunc(slices.Clone(list), func(v output.Validation) bool { return !fails(v) })
}

func validationText(v output.Validation) string {
	return escape.Sprintf("  %s (%s): %s\n", v.ID, v.Status, strings.Join(strings.Fields(v.Message), " "))
}

func describeHost(ctx context.Context, a *app.App, t app.Target) error {
	_, host, err := app.DialFor(ctx, a, t, a.FindHost)
	if err != nil {
		return err
	}
	doc := output.OfHostDetail(host, "")
	return a.Print(printer.Result{Data: doc, Names: []string{"host/" + doc.Name},
		Text: func() string { return hostText(a, doc, written(&host)) }})
}

// written reports whether a host has been installed on its disk.
func written(h *model.Host) bool {
	return h.State == model.HostInstalled || h.State == model.HostAdded || h.HasRebooted()
}

func hostText(a *app.App, doc output.Host, written bool) string {
	var text strings.Builder
	memory := ""
	if doc.Memory > 0 {
		memory = fmt.Sprintf("%.0f GiB", float64(doc.Memory)/(1<<30))
	}
	cpus := ""
	if doc.CPUs > 0 {
		cpus = fmt.Sprintf("%d %s", doc.CPUs, doc.Detail.Arch)
	}
	app.Facts(&text, "", [][2]string{
		{"Name", doc.Name}, {"ID", doc.ID}, {"Role", app.RoleText(doc)}, {"State", fmt.Sprintf("%s (%s)", doc.State, doc.Status)},
		{"Info", doc.StatusInfo},
		{"Stage", app.StageText(doc)}, {"Done", app.PercentText(doc.Percent)}, {"Since", a.FormatTime(doc.Since)},
		{"Last heard of", a.FormatTime(doc.CheckedIn)},
		{"Registered", a.FormatTime(doc.Registered)}, {"Cluster", doc.ClusterID}, {"InfraEnv", doc.InfraEnvID},
		{"Machine", strings.TrimSpace(doc.Detail.Manufacturer + " " + doc.Detail.Product)}, {"Serial", doc.Serial}, {"BMC", doc.BMC},
		{"CPUs", cpus}, {"Memory", memory}, {"TPM", doc.Detail.TPM},
	})
	app.Section(&text, "Interfaces", doc.Detail.Interfaces, func(i output.Interface) string {
		link := "up"
		if !i.Up {
			link = "down"
		}
		return escape.Sprintf("  %s  %s  %s  %s\n", i.Name, i.MAC, link, strings.Join(i.Addresses, ","))
	})
	app.Section(&text, "Disks", doc.Detail.Disks, func(d output.Disk) string { return diskText(d, written) })
	app.Section(&text, "Checks that do not pass", failing(doc.Detail.Validations), validationText)
	return text.String()
}

func diskText(d output.Disk, written bool) string {
	line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", d.Path, bytesize.Text(d.SizeBytes), d.Type, d.Vendor, d.Model)), " ")
	var notes []string
	switch {
	case d.Install && written:
		notes = append(notes, "installed on")
	case d.Install:
		notes = append(notes, "to be installed on")
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
	text := escape.Sprintf("  %s\n", line)
	for _, name := range []string{d.ByID, d.ByPath} {
		if name != "" {
			text += escape.Sprintf("    %s\n", name)
		}
	}
	return text
}
