package bmc

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

func (c *controller) resetSystem(w http.ResponseWriter, r *http.Request, s *System) {
	var asked struct{ ResetType string }
	if !c.body(w, r, &asked) {
		return
	}
	switch {
	case asked.ResetType == "":
		refuse(w, http.StatusBadRequest, "ActionParameterMissing", "The action ComputerSystem.Reset requires that the parameter ResetType be present in the request body.")
	case !slices.Contains(c.dialect.resets, asked.ResetType):
		refuse(w, http.StatusBadRequest, "ActionParameterNotSupported", "The parameter ResetType with the value %s is not supported.", asked.ResetType)
	case !s.reset(asked.ResetType) && c.dialect.strict:
		refuse(w, http.StatusConflict, "ResourceInUse", "The change to the requested resource failed because the machine is %s already.", strings.ToLower(s.power()))
	default:
		c.done(w)
	}
}

func (c *controller) setSystem(w http.ResponseWriter, r *http.Request, s *System) {
	var asked struct {
		Boot *struct{ BootSourceOverrideTarget, BootSourceOverrideEnabled, BootSourceOverrideMode string }
	}
	if !c.body(w, r, &asked) {
		return
	}
	boot := s.settings()
	if !boot.matches(r.Header.Get("If-Match")) {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "The ETag supplied did not match the ETag required to change this resource.")
		return
	}
	if asked.Boot == nil {
		refuse(w, http.StatusBadRequest, "PropertyUnknown", "The request body names no property that can be changed.")
		return
	}
	boot.Target = cmp.Or(asked.Boot.BootSourceOverrideTarget, boot.Target)
	boot.Enabled = cmp.Or(asked.Boot.BootSourceOverrideEnabled, boot.Enabled)
	boot.Mode = cmp.Or(asked.Boot.BootSourceOverrideMode, boot.Mode)
	if boot.Enabled == disabled {
		boot.Target = "None"
	}
	if boot.Target == "None" {
		boot.Enabled = disabled
	}
	for _, p := range []struct {
		name, value string
		allowed     []string
	}{
		{"BootSourceOverrideTarget", boot.Target, append([]string{"None"}, c.dialect.targets...)},
		{"BootSourceOverrideEnabled", boot.Enabled, []string{disabled, once, continuous}},
		{"BootSourceOverrideMode", boot.Mode, []string{"UEFI", "Legacy"}},
	} {
		if !slices.Contains(p.allowed, p.value) {
			refuse(w, http.StatusBadRequest, "PropertyValueNotInList", "The value '%s' for the property %s is not in the list of acceptable values.", p.value, p.name)
			return
		}
	}
	s.set(boot)
	c.succeeded(w, c.dialect.changed())
}

// mediaRequest is the body of InsertMedia, and of a PATCH that stands for it.
type mediaRequest struct {
	Image                    string
	Inserted, WriteProtected *bool
	TransferProtocolType     string
}

func (c *controller) insertMedia(w http.ResponseWriter, r *http.Request, s *System) {
	var asked mediaRequest
	if c.body(w, r, &asked) && c.putIn(w, r, s, asked) {
		c.done(w)
	}
}

func (c *controller) ejectMedia(w http.ResponseWriter, r *http.Request, s *System) {
	slot := r.PathValue("slot")
	if s.inserted(slot) == "" && c.dialect.strict {
		refuse(w, http.StatusConflict, "ResourceInUse", "There are no media in %s to eject.", slot)
		return
	}
	s.insert(slot, "")
	c.done(w)
}

// setMedia is how controllers without these actions take an image, and lose it.
func (c *controller) setMedia(w http.ResponseWriter, r *http.Request, s *System) {
	if !c.dialect.patchMedia {
		refuse(w, http.StatusMethodNotAllowed, "OperationNotAllowed", "The HTTP method is not allowed on this resource.")
		return
	}
	var asked mediaRequest
	if !c.body(w, r, &asked) {
		return
	}
	if asked.Image == "" || asked.Inserted != nil && !*asked.Inserted {
		s.insert(r.PathValue("slot"), "")
	} else if !c.putIn(w, r, s, asked) {
		return
	}
	c.showMedia(w, r, s)
}

// putIn inserts an image that the controller can reach; false once it has been refused.
func (c *controller) putIn(w http.ResponseWriter, r *http.Request, s *System, asked mediaRequest) bool {
	slot, _ := c.dialect.slotOf(r.PathValue("slot"))
	image, err := url.Parse(asked.Image)
	trouble := c.trouble.of(s.machine, scenario.DoBMCMediaRefused)
	switch {
	case slot.fixed:
		refuse(w, http.StatusMethodNotAllowed, "ActionNotSupported", "The action VirtualMedia.InsertMedia is not supported by %s.", slot.id)
	case asked.Image == "":
		refuse(w, http.StatusBadRequest, "ActionParameterMissing", "The action VirtualMedia.InsertMedia requires that the parameter Image be present in the request body.")
	case err != nil || image.Host == "" || image.Scheme != "http" && image.Scheme != "https":
		refuse(w, http.StatusBadRequest, "ActionParameterValueFormatError", "The parameter Image is no http or https URL.")
	case c.dialect.longestURL > 0 && len(asked.Image) > c.dialect.longestURL:
		refuse(w, http.StatusBadRequest, "StringValueTooLong", "The parameter Image is longer than %d characters.", c.dialect.longestURL)
	case c.dialect.imageOnly && (asked.Inserted != nil || asked.WriteProtected != nil):
		refuse(w, http.StatusBadRequest, "PropertyUnknown", "The property Inserted is not in the list of valid properties for the resource.")
	case c.dialect.wantsProtocol && !strings.EqualFold(asked.TransferProtocolType, image.Scheme):
		refuse(w, http.StatusBadRequest, "ActionParameterMissing", "The action VirtualMedia.InsertMedia requires that TransferProtocolType be %s.", strings.ToUpper(image.Scheme))
	case trouble != nil:
		refuse(w, trouble.args.Int("status", http.StatusInternalServerError), "InternalError", "Unable to connect the virtual media image.")
	case c.dialect.strict && s.inserted(slot.id) != "":
		refuse(w, http.StatusConflict, "ResourceInUse", "Virtual media are inserted in %s already.", slot.id)
	default:
		if _, err := s.reader.measure(r.Context(), asked.Image); err != nil {
			refuse(w, http.StatusBadRequest, "ResourceAtUriUnauthorized", "Unable to access the virtual media image: %v.", err)
			return false
		}
		s.insert(slot.id, asked.Image)
		return true
	}
	return false
}
