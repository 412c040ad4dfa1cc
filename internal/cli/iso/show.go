package iso

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/liveimage"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

func newShow(a *app.App) *cobra.Command {
	o := &liveimage.Options{App: a}
	return reader(o, "show IMAGE", "Show what an image is, and all that was put into it", func(ctx context.Context, location string) error {
		report, err := inspect(ctx, o, location)
		if err != nil {
			return err
		}
		return a.Print(printer.Result{Data: report, Names: []string{report.VolumeID}, Text: func() string { return reportText(report) }})
	})
}

func inspect(ctx context.Context, o *liveimage.Options, location string) (*iso.Report, error) {
	file, err := o.FetchImage(ctx, location)
	if err != nil {
		return nil, err
	}
	live, err := metered(o, "reading", location, file.Path)
	if err != nil {
		return nil, errors.Join(liveimage.SourceFault(location, err), file.Close())
	}
	report, err := live.Inspect(ctx)
	if err := errors.Join(live.close(), file.Close()); err != nil {
		o.Warn("%v", err)
	}
	if err != nil {
		return nil, liveimage.Fault(err)
	}
	return report, nil
}

type meteredImage struct {
	*iso.Base
	file  *os.File
	shown *liveimage.Meter
}

func (m *meteredImage) close() error {
	m.shown.End()
	return m.file.Close()
}

func metered(o *liveimage.Options, doing, location, path string) (*meteredImage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, liveimage.MissingFault(location, app.FileFault("open the image", path, err))
	}
	size, err := iso.SizeOf(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	name := path
	if app.IsURL(location) { // where it lies in the cache does not matter to the user
		name = fetch.Redact(location)
	}
	shown := liveimage.NewMeter(o.App, doing+" "+name)
	live, err := iso.OpenReader(name, &countedReader{from: file, shown: shown}, size)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &meteredImage{live, file, shown}, nil
}

// countedReader shows how many bytes were read; some may be twice.
type countedReader struct {
	from  io.ReaderAt
	shown *liveimage.Meter
	done  atomic.Int64
}

func (r *countedReader) ReadAt(into []byte, off int64) (int, error) {
	n, err := r.from.ReadAt(into, off)
	r.shown.Show(r.done.Add(int64(n)), -1)
	return n, err
}

func reportText(r *iso.Report) string {
	var text strings.Builder
	row := func(name, format string, args ...any) {
		escape.Fprintf(&text, "%-12s%s\n", name, escape.Sprintf(format, args...))
	}
	row("Image", "%s, %s, %s", r.VolumeID, orUnknown(r.Arch), bytesize.Text(r.Size))
	row("System", "%s", strings.TrimSpace(orUnknown(r.OS)+" "+r.Version))
	row("Boots as", "%s", bootText(r.Boot))
	if len(r.Ignition.Members) == 0 && r.Ignition.Bytes == 0 {
		row("Ignition", "none; room for %s", bytesize.Text(r.Ignition.AreaBytes))
	} else {
		row("Ignition", "%s of %s, %s", bytesize.Text(r.Ignition.Bytes), bytesize.Text(r.Ignition.AreaBytes), r.Ignition.Compression)
	}
	members(&text, r.Ignition.Members)
	switch {
	case r.Kargs.Limit == 0:
		row("Kernel", "its arguments cannot be changed")
	case r.Kargs.Current == r.Kargs.Default:
		row("Kernel", "%s", r.Kargs.Current)
	default:
		row("Kernel", "%s", r.Kargs.Current)
		row("", "built with: %s", r.Kargs.Default)
	}
	for _, ramdisk := range r.Ramdisks {
		row("Ramdisk", "%s, %s", ramdisk.Path, ramdisk.Compression)
		members(&text, ramdisk.Members)
	}
	for i, f := range r.Network {
		row(onlyFirst(i, "Network"), "%s (in %s, %s)", f.Name, f.In, bytesize.Text(f.Bytes))
	}
	for i, s := range r.Secrets {
		row(onlyFirst(i, "Secrets"), "%s: %s (in %s)", s.Kind, s.Path, s.In)
	}
	row("Features", "%s", featuresText(r.Features))
	row("Live", "%s", liveText(r.Live))
	for i, p := range r.Problems {
		row(onlyFirst(i, "Problems"), "%s", p)
	}
	return text.String()
}

func members(text *strings.Builder, list []iso.Member) {
	for _, m := range list {
		escape.Fprintf(text, "%-12s%s  %s, %s\n", "", m.Mode, m.Name, bytesize.Text(m.Bytes))
	}
}

func onlyFirst(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

func orUnknown(text string) string { return cmp.Or(text, "unknown") }

func bootText(b iso.Boot) string {
	var ways []string
	for _, way := range []struct {
		can  bool
		name string
	}{{b.BIOSCD, "BIOS CD"}, {b.BIOSDisk, "BIOS disk"}, {b.UEFICD, "UEFI CD"}, {b.UEFIDisk, "UEFI disk"}} {
		if way.can {
			ways = append(ways, way.name)
		}
	}
	if len(ways) == 0 {
		return "nothing that PCs know"
	}
	return strings.Join(ways, ", ")
}

func featuresText(features map[string]any) string {
	var names []string
	for name, value := range features {
		if value != false && value != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none that it tells of"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func liveText(l iso.LiveReport) string {
	switch {
	case l.RootfsID == "":
		return "a root filesystem that is fetched when it boots"
	case l.Match:
		return "initrd and root filesystem are of the same build"
	default:
		return fmt.Sprintf("initrd (%s) and root filesystem (%s) are of different builds: the image does not boot",
			orUnknown(l.InitrdID), l.RootfsID)
	}
}

type verified struct {
	Image   string       `json:"image"`
	Sound   bool         `json:"sound"`
	Rebuilt bool         `json:"rebuilt"` // by another tool, which is no damage
	Damage  []iso.Damage `json:"damage"`
}

func newVerify(a *app.App) *cobra.Command {
	o := &liveimage.Options{App: a}
	return reader(o, "verify IMAGE", "Check an image for damage", func(ctx context.Context, location string) error {
		found, err := verify(ctx, o, location)
		if err != nil {
			return err
		}
		return printVerified(o, found)
	})
}

func verify(ctx context.Context, o *liveimage.Options, location string) (verified, error) {
	file, err := o.FetchImage(ctx, location)
	if err != nil {
		return verified{}, err
	}
	defer func() { _ = file.Close() }() // it was only read from
	found := verified{Image: location, Damage: []iso.Damage{}}
	live, err := metered(o, "checking", location, file.Path)
	switch {
	case app.Is[*fs.PathError](err), app.Is[*model.Fault](err):
		return verified{}, err
	case iso.IsNotLive(err):
		return verified{}, liveimage.SourceFault(location, err)
	case err != nil:
		problem := strings.TrimPrefix(strings.TrimPrefix(err.Error(), file.Path+": "), fetch.Redact(location)+": ")
		found.Damage = append(found.Damage, iso.Damage{Problem: problem})
		return found, nil
	}
	defer func() { _ = live.close() }()
	damage, err := live.Verify(ctx)
	if err != nil {
		return verified{}, err
	}
	found.Sound, found.Rebuilt, found.Damage = len(damage) == 0, live.Rebuilt(), append(found.Damage, damage...)
	return found, nil
}

func printVerified(o *liveimage.Options, found verified) error {
	err := o.Print(printer.Result{Data: found, Names: []string{found.Image}, Text: found.text})
	if err != nil || found.Sound {
		return err
	}
	return &model.Fault{Code: model.CodeFailure, Op: "verify", On: found.Image, Permanent: true,
		Err: errors.New(plural(len(found.Damage), "damaged place", "damaged places")), Next: "download or make the image again"}
}

func (v verified) text() string {
	lines := output.Each(v.Damage, iso.Damage.String)
	switch {
	case v.Sound && v.Rebuilt:
		lines = append(lines, v.Image+" is sound; "+iso.ErrRebuilt.Error())
	case v.Sound:
		lines = append(lines, v.Image+" is sound")
	case v.Rebuilt:
		lines = append(lines, iso.ErrRebuilt.Error())
	}
	return strings.Join(lines, "\n") + "\n"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
