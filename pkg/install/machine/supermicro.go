package machine

import (
	"net/http"
	"net/url"

	"github.com/stmcginnis/gofish/common"
)

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

// findISOConfig makes a drive of it, nil where there is none.
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

// mountISO has the board read an image. What is set stays set where the mount is
// refused, and is taken back then: it is all that the next look sees.
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

// unmountISO takes the image out and forgets where it was.
func (c *connection) unmountISO(config *isoConfig) error {
	if err := c.write(http.MethodPost, config.Actions.UnMount.Target, map[string]any{}); err != nil {
		return err
	}
	return c.write(http.MethodPatch, config.path, map[string]string{"Host": "", "Path": ""})
}
