package bmc

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// drive is a virtual drive. It is read by hand and not through gofish: whether
// Inserted is false or not there at all makes a difference.
type drive struct {
	Path       string `json:"@odata.id"`
	ID         string `json:"Id"`
	Image      string
	ImageName  string
	Inserted   *bool
	MediaTypes []string
	Actions    struct {
		Insert common.ActionTarget `json:"#VirtualMedia.InsertMedia"`
		Eject  common.ActionTarget `json:"#VirtualMedia.EjectMedia"`
	}
	iso *isoConfig // Supermicro's older way, nil otherwise
	// OEM is HPE's own: iLO boots from the drive at the next reset.
	OEM struct {
		Hpe *struct {
			BootOnNextServerReset *bool
		}
	} `json:"Oem"`
}

// holds is the URL of what is in the drive, "" for nothing.
func (d *drive) holds() string {
	if d.Inserted != nil && !*d.Inserted {
		return ""
	}
	return cmp.Or(d.Image, d.ImageName)
}

// isOwnImage reports whether the drive holds the image of a URL. Some BMCs keep only the last part of the URL, which is
// enough: that part cannot be guessed.
func isOwnImage(held, ours string) bool {
	if held == "" || ours == "" {
		return false
	}
	return held == ours || lastPart(held) == lastPart(ours) && lastPart(ours) != ""
}

func lastPart(text string) string {
	if u, err := url.Parse(text); err == nil {
		text = u.Path
	}
	if base := path.Base(strings.ReplaceAll(text, `\`, "/")); base != "." && base != "/" {
		return base
	}
	return ""
}

// nextReset reports whether iLO will boot from the drive at the next reset.
func (d *drive) nextReset() (set, known bool) {
	if d.OEM.Hpe == nil || d.OEM.Hpe.BootOnNextServerReset == nil {
		return false, false
	}
	return *d.OEM.Hpe.BootOnNextServerReset, true
}

// findDrive chooses the drive for our image: the one that holds it, else the
// best that takes one. A machine's own drives go before those of its manager.
func (c *connection) findDrive(s *system, ours string) (*drive, error) {
	collections, err := c.driveCollections(s)
	if err != nil {
		return nil, err
	}
	var best *drive
	for _, collection := range collections {
		members, err := common.GetCollection(c, collection)
		if err != nil {
			if missing(err) {
				continue
			}
			return nil, c.explain(err)
		}
		for _, member := range members.ItemLinks {
			d, err := c.readDrive(member)
			if err != nil {
				return nil, err
			}
			if isOwnImage(d.holds(), ours) {
				return d, nil
			}
			optical := len(d.MediaTypes) == 0 || slices.Contains(d.MediaTypes, "CD") || slices.Contains(d.MediaTypes, "DVD")
			if rank := s.vendor.rank(d.ID); optical && rank >= 0 && (best == nil || better(s, d, best)) {
				best = d
			}
		}
		if best != nil && best.Actions.Insert.Target != "" {
			break
		}
	}
	if best == nil && s.vendor.isoConfig {
		if best, err = c.findISOConfig(s); err != nil {
			return nil, err
		}
	}
	if best == nil {
		return nil, &bmcError{kind: model.TroubleNoVirtualMedia, text: "its BMC has no virtual CD drive"}
	}
	return best, nil
}

// better reports whether a drive is to be taken rather than another: first one with an action for it; then one with an
// image in it, even another owner's, since of two images the machine might boot the other; then the maker's best.
func better(s *system, a, b *drive) bool {
	bit := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(bit(a.Actions.Insert.Target != ""), bit(b.Actions.Insert.Target != "")),
		cmp.Compare(bit(a.holds() != ""), bit(b.holds() != "")),
		cmp.Compare(s.vendor.rank(a.ID), s.vendor.rank(b.ID)),
	) < 0
}

func (c *connection) driveCollections(s *system) ([]string, error) {
	var paths []string
	if s.media != "" {
		paths = append(paths, s.media)
	}
	for _, manager := range s.manager {
		var parts struct{ VirtualMedia common.Link }
		if err := c.read(manager, &parts); err != nil {
			return nil, c.explain(err)
		}
		if media := parts.VirtualMedia.String(); media != "" {
			paths = append(paths, media)
		}
	}
	return paths, nil
}

func (c *connection) readDrive(at string) (*drive, error) {
	d := &drive{}
	if err := c.read(at, d); err != nil {
		return nil, c.explain(err)
	}
	d.Path = cmp.Or(d.Path, at)
	d.ID = cmp.Or(d.ID, path.Base(at))
	return d, nil
}

func missing(err error) bool {
	var status *common.Error
	return errors.As(err, &status) && (status.HTTPReturnedStatusCode == http.StatusNotFound ||
		status.HTTPReturnedStatusCode == http.StatusMethodNotAllowed)
}

// isoConfig is the virtual CD drive of Supermicro's boards of the X10 and X11
// generations, which have none in Redfish's sense: server and path are set, then
// mounted.
type isoConfig struct {
	path    string
	Host    string
	Path    string
	Actions struct {
		Mount   common.ActionTarget `json:"#IsoConfig.Mount"`
		UnMount common.ActionTarget `json:"#IsoConfig.UnMount"`
	}
}

func (c *connection) findISOConfig(s *system) (*drive, error) {
	for _, manager := range s.manager {
		config := &isoConfig{path: manager + "/VM1/CfgCD"}
		err := c.read(config.path, config)
		switch {
		case err == nil && config.Actions.Mount.Target != "":
			d := &drive{Path: config.path, ID: "CfgCD", iso: config}
			if config.Path != "" {
				d.Image = config.Host + config.Path
			}
			return d, nil
		case err != nil && !missing(err):
			return nil, c.explain(err)
		}
	}
	return nil, nil
}

// mountISO makes the board read an image. If the mount is refused, the board keeps the configuration, and it is removed
// then: it is all that the next look would see.
func (c *connection) mountISO(config *isoConfig, image string) error {
	u, err := url.Parse(image)
	if err != nil {
		return err
	}
	set := map[string]string{"Host": u.Scheme + "://" + u.Host, "Path": u.RequestURI()}
	if err := c.write(http.MethodPatch, config.path, set); err != nil {
		return err
	}
	if err := c.write(http.MethodPost, config.Actions.Mount.Target, map[string]any{}); err != nil {
		_ = c.write(http.MethodPatch, config.path, map[string]string{"Host": "", "Path": ""}) // the refusal is the error
		return err
	}
	return nil
}

func (c *connection) unmountISO(config *isoConfig) error {
	if err := c.write(http.MethodPost, config.Actions.UnMount.Target, map[string]any{}); err != nil {
		return err
	}
	return c.write(http.MethodPatch, config.path, map[string]string{"Host": "", "Path": ""})
}
