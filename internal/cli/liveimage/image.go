// Package liveimage reads and writes live images for the commands of packages iso and media, and shows the progress.
package liveimage

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// Options are what it takes to read a live image.
type Options struct {
	*app.App
	SHA256 string
}

// Declare declares --sha256.
func (o *Options) Declare(flags *pflag.FlagSet) {
	flags.StringVar(&o.SHA256, "sha256", "", "`DIGEST` that the image must have, in hexadecimal")
}

// Live is a live image, and where it comes from.
type Live struct {
	*iso.Base
	location string
	File     *fetch.File
}

// Close ends the reading.
func (i *Live) Close() error { return errors.Join(i.Base.Close(), i.File.Close()) }

// Fault is bad input where an image is wrong: no machine has failed.
func (i *Live) Fault(err error) error { return Fault(Named(i.location, i.File.Path, err)) }

// Lacks is the fault that the image does not have what is asked of it.
func (i *Live) Lacks(what string) error {
	name := fetch.Redact(i.location)
	return &model.Fault{
		Code: model.CodeNotFound, Op: "extract from", On: name, Permanent: true, Err: errors.New("it carries no " + what),
		Next: model.Command("iso show", listtext.Quoted(name)),
	}
}

// FetchImage brings the image at a path or URL to this machine.
func (o *Options) FetchImage(ctx context.Context, location string) (*fetch.File, error) {
	if err := app.CheckSource(location, o.SHA256); err != nil {
		return nil, err
	}
	return o.fetchSource(ctx, o.source(location))
}

func (o *Options) source(location string) fetch.Source {
	return fetch.Source{Location: location, SHA256: o.SHA256}
}

// fetchSource uses a path as it is, and a URL through the cache.
func (o *Options) fetchSource(ctx context.Context, source fetch.Source) (*fetch.File, error) {
	dir, location := "", source.Location
	if app.IsURL(location) { // a path needs no cache, and may be all that there is
		var err error
		if dir, err = o.ImageCacheDir(); err != nil {
			return nil, err
		}
	}
	client, err := rest.HTTPClient(o.Globals.CAFile, o.Globals.Insecure)
	if err != nil {
		return nil, err
	}
	if o.Globals.Insecure && strings.HasPrefix(location, "https:") {
		o.Warn("--insecure: the certificate of %s is not verified, so an attacker on the network can change the image", app.HostOf(location))
	}
	shown := NewMeter(o.App, "reading "+fetch.Redact(location))
	defer shown.End()
	defer shown.wait(ctx)()
	file, err := fetch.New(fetch.Config{Dir: dir, Cap: fetch.DefaultCap, Client: client, Clock: o.Clock, Again: shown.again,
		Begins: iso.CheckStart}).
		Get(ctx, source, shown.Show)
	if err != nil {
		return nil, fetchFault(location, err)
	}
	if file.Warning != "" {
		o.Warn("%s", file.Warning)
	}
	return file, nil
}

func fetchFault(location string, err error) error {
	var next model.Advice
	switch {
	case iso.IsNotLive(err):
		return SourceFault(location, err)
	case app.Is[*net.OpError](err):
		next = "see that the server answers and run the same command again, or give the path of an image"
	case app.Is[*fetch.StatusError](err):
		next = "see that the URL is right and that this machine may fetch it, or give the path of an image"
	case app.Is[*fetch.ChecksumError](err):
		next = "see that the digest is that of this image, or get the image again"
	default:
		return MissingFault(location, err)
	}
	return &model.Fault{Code: model.CodeFailure, Err: err, Next: next}
}

// SourceFault is about an image that was read and is of no use.
func SourceFault(location string, err error) error {
	coded := Fault(err)
	fault, is := errors.AsType[*model.Fault](coded)
	switch {
	case !is || fault.Next != "":
	case iso.IsNotLive(err):
		fault.Next = "name a live image of CoreOS, by its path or URL"
	case app.IsURL(location):
		fault.Next = "name another image, or see that the server has a sound one"
	default:
		fault.Next = model.Command("iso verify", listtext.Quoted(location)) + " lists what is damaged; download or make the image again"
	}
	return coded
}

// MissingFault is bad input where a local image is missing or may not be read.
func MissingFault(location string, err error) error {
	wrong := func(cause error) bool { return errors.Is(err, cause) }
	if app.IsURL(location) || !slices.ContainsFunc([]error{fs.ErrNotExist, fs.ErrPermission, syscall.EISDIR, syscall.ENOTDIR}, wrong) {
		return err
	}
	return &model.Fault{Code: model.CodeInput, Permanent: true, Err: err, Next: "name a live image that can be read, by its path or URL"}
}

// OpenImage reads a live image.
func (o *Options) OpenImage(ctx context.Context, location string) (*Live, error) {
	if err := app.CheckSource(location, o.SHA256); err != nil {
		return nil, err
	}
	return o.OpenSource(ctx, o.source(location))
}

// OpenSource reads a live image whose digest is given with it.
func (o *Options) OpenSource(ctx context.Context, source fetch.Source) (*Live, error) {
	file, err := o.fetchSource(ctx, source)
	if err != nil {
		return nil, err
	}
	live, err := iso.Open(file.Path)
	if err != nil {
		return nil, errors.Join(SourceFault(source.Location, MissingFault(source.Location, Named(source.Location, file.Path, err))), file.Close())
	}
	return &Live{live, source.Location, file}, nil
}

// Named calls a cached image by its URL in what is wrong with it.
func Named(location, path string, err error) error {
	if !app.IsURL(location) {
		return err
	}
	return &cachedError{url: fetch.Redact(location), path: path, err: err}
}

type cachedError struct {
	url, path string
	err       error
}

func (e *cachedError) Error() string {
	text := strings.TrimPrefix(e.err.Error(), e.path+": ")
	return e.url + ": " + strings.ReplaceAll(text, e.path, e.url)
}

func (e *cachedError) Unwrap() error { return e.err }

// Fault gives an error about an image its exit code: a wrong file is not a
// machine that fails.
func Fault(err error) error {
	coded := ContentFault(err)
	if err == nil || app.Is[*model.Fault](coded) || app.Is[*fs.PathError](err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return coded
	}
	return &model.Fault{Code: model.CodeInput, Permanent: true, Err: err}
}

// ContentFault gives an error about what goes into an image its exit code.
func ContentFault(err error) error {
	switch {
	case err == nil, app.Is[*model.Fault](err):
		return err
	case errors.Is(err, iso.ErrCustomized):
		return &model.Fault{Code: model.CodeUsage, Permanent: true, Err: err,
			Next: "keep what the image carries with --merge, or drop it with --replace"}
	case app.Is[*ignition.Invalid](err), app.Is[nmstate.Problems](err), app.Is[*iso.TooLargeError](err):
		return &model.Fault{Code: model.CodeInput, Permanent: true, Err: err}
	}
	return err
}
