// Package iso has the commands on live images, except the server.
package iso

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/liveimage"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// NewCommand is `iso`, without what serves images.
func NewCommand(a *app.App) *cobra.Command {
	return app.Group("iso", "Customise, read, check and serve live images",
		newCustomize(a), newShow(a), newVerify(a),
		app.Group("extract", "Take something out of an image",
			newExtractIgnition(a), newExtractKargs(a), newExtractNetwork(a),
			newExtractPXE(a), newExtractMinimal(a)))
}

// reader is a verb that reads one image.
func reader(o *liveimage.Options, use, short string, run func(ctx context.Context, location string) error) *cobra.Command {
	command := &cobra.Command{
		Use: use, Short: short, Args: oneImage("IMAGE"),
		RunE: func(command *cobra.Command, given []string) error { return run(command.Context(), given[0]) },
	}
	o.Declare(command.Flags())
	return command
}

func oneImage(name string) cobra.PositionalArgs {
	return func(command *cobra.Command, given []string) error {
		if len(given) != 1 {
			return app.Usagef("%s needs one %s, a path or a URL, but got %d", app.VerbOf(command), name, len(given))
		}
		return nil
	}
}

func checkHostname(name string) error {
	if name != "" && iso.CheckHostname(name) != nil {
		return app.Usagef("--hostname %q is not a valid hostname (RFC 1123): use letters, digits and dashes, with dots in between", name)
	}
	return nil
}

func checkRootfsURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "tftp"}, u.Scheme) {
		return app.Usagef("--rootfs-url is not the http, https or tftp URL of a file")
	}
	return nil
}

func macFlags(given []string) (map[string]string, error) {
	macs := map[string]string{}
	for _, text := range given {
		name, mac, ok := strings.Cut(text, "=")
		if !ok || name == "" || mac == "" {
			return nil, app.Usagef("--mac %q is not NAME=MAC", text)
		}
		if _, twice := macs[name]; twice {
			return nil, app.Usagef("--mac names %s twice", name)
		}
		const ofGroup = 1
		address, err := net.ParseMAC(mac)
		if err != nil || len(address) != 6 || address[0]&ofGroup != 0 || slices.Max(address) == 0 {
			return nil, app.Usagef("--mac %s: %q is not the MAC address of a device, such as 52:54:00:00:00:01", name, mac)
		}
		macs[name] = mac
	}
	return macs, nil
}

func knownMACs(document string, state *nmstate.State, macs map[string]string) error {
	physical := state.Physical()
	for _, name := range slices.Sorted(maps.Keys(macs)) {
		if _, there := physical[name]; !there {
			return app.Usagef("--mac %s: %s has no physical interface with that name%s", name, document,
				before("; it lacks ", lackedMACs(state, macs)))
		}
	}
	return nil
}

func lackedMACs(state *nmstate.State, macs map[string]string) string {
	physical := state.Physical()
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(physical)) {
		if physical[name] == "" && macs[name] == "" {
			flags = append(flags, fmt.Sprintf("--mac %s=MAC", listtext.Quoted(name)))
		}
	}
	return strings.Join(flags, " ")
}

func before(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}
