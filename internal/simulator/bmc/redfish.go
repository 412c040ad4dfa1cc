package bmc

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

func (c *controller) serviceRoot() object {
	out := object{
		"@odata.type": "#ServiceRoot.v1_11_0.ServiceRoot", "@odata.id": root + "/", "Id": "RootService", "Name": "Root Service",
		"RedfishVersion": "1.11.0", "UUID": c.systems[0].machine.UUID,
		"Systems": ref(root + "/Systems"), "Managers": ref(root + "/Managers"), "Links": object{},
	}
	if c.dialect.Vendor != "" {
		out["Vendor"] = c.dialect.Vendor
	}
	if c.dialect.Product != "" {
		out["Product"] = c.dialect.Product
	}
	if c.dialect.Emulator {
		delete(out, "Links")
	}
	if c.dialect.Tasks {
		out["Tasks"] = ref(taskServicePath)
	}
	if c.dialect.Sessions > 0 {
		out["SessionService"], out["Links"] = ref(sessionServicePath), object{"Sessions": ref(sessionsPath)}
	}
	return out
}

func (c *controller) listSystems(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, collection("ComputerSystem", root+"/Systems", "Systems", c.systems, (*System).path))
}

func (c *controller) listManagers(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, collection("Manager", root+"/Managers", "Managers", c.systems, (*System).managerPath))
}

func (s *System) path() string        { return root + "/Systems/" + s.id }
func (s *System) managerPath() string { return root + "/Managers/" + s.manager }

func (s *System) mediaPath() string {
	if s.dialect.MediaInSystem {
		return s.path() + "/VirtualMedia"
	}
	return s.managerPath() + "/VirtualMedia"
}

func (c *controller) showSystem(w http.ResponseWriter, _ *http.Request, s *System) {
	boot := s.settings()
	power := s.power()
	if t := c.trouble.of(s.machine, scenario.DoBMCPowerLies); t != nil {
		power = t.Args.String("says", "On")
	}
	out := object{
		"@odata.type": "#ComputerSystem.v1_16_0.ComputerSystem", "@odata.id": s.path(), "@odata.etag": boot.etag(),
		"Id": s.id, "Name": s.name(), "SystemType": "Physical", "HostName": s.machine.Name,
		"UUID": s.machine.UUID, "SerialNumber": s.machine.Serial, "Manufacturer": c.dialect.Manufacturer, "Model": c.dialect.Model,
		"PowerState": power, "Status": object{"State": "Enabled", "Health": "OK"},
		"Boot": object{
			"BootSourceOverrideTarget": boot.Target, "BootSourceOverrideEnabled": boot.Enabled, "BootSourceOverrideMode": boot.Mode,
			"BootSourceOverrideTarget@Redfish.AllowableValues": c.dialect.bootTargets(boot.Mode),
		},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": s.path() + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": c.dialect.Resets,
		}},
		"Links": object{"ManagedBy": []object{ref(s.managerPath())}},
	}
	if c.dialect.MediaInSystem && c.troubled(scenario.DoBMCNoVirtualMedia) == nil {
		out["VirtualMedia"] = ref(s.mediaPath())
	}
	if c.dialect.Emulator { // which says nothing of these
		for _, unknown := range []string{"@odata.etag", "SystemType", "HostName", "SerialNumber", "Model"} {
			delete(out, unknown)
		}
	} else {
		w.Header().Set("ETag", boot.etag())
	}
	writeJSON(w, http.StatusOK, out)
}

// bootTargets are what a system allows in a boot mode: the emulator has no UefiHttp without UEFI.
func (d *dialect) bootTargets(mode string) []string {
	if !d.Emulator || mode == "UEFI" {
		return d.Targets
	}
	return slices.DeleteFunc(slices.Clone(d.Targets), func(t string) bool { return t == "UefiHttp" })
}

// name is the system's: sushy-tools gives it that of the machine.
func (s *System) name() string {
	if s.dialect.Emulator {
		return s.machine.Name
	}
	return "System"
}

// etag tells one state of the settings from another.
func (o override) etag() string {
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s %s %s", o.Target, o.Enabled, o.Mode)
	return fmt.Sprintf(`W/"%08x"`, sum.Sum32())
}

func (o override) matches(header string) bool {
	bare := func(tag string) string { return strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`) }
	return header == "" || header == "*" || bare(header) == bare(o.etag())
}

func (c *controller) showManager(w http.ResponseWriter, _ *http.Request, s *System) {
	out := object{
		"@odata.type": "#Manager.v1_11_0.Manager", "@odata.id": s.managerPath(), "Id": s.manager, "Name": "Manager",
		"ManagerType": "BMC", "Model": c.dialect.Product, "FirmwareVersion": "1.0.0", "PowerState": "On",
		"Status": object{"State": "Enabled", "Health": "OK"}, "Links": object{"ManagerForServers": []object{ref(s.path())}},
	}
	if c.dialect.Emulator {
		out["UUID"] = s.machine.UUID
	}
	if (!c.dialect.MediaInSystem || c.dialect.Emulator) && c.troubled(scenario.DoBMCNoVirtualMedia) == nil {
		out["VirtualMedia"] = ref(s.mediaPath())
	}
	writeJSON(w, http.StatusOK, out)
}

func (c *controller) listMedia(w http.ResponseWriter, _ *http.Request, s *System) {
	writeJSON(w, http.StatusOK, collection(
		"VirtualMedia", s.mediaPath(), "Virtual Media", c.dialect.Slots, func(slot slot) string { return s.mediaPath() + "/" + slot.ID },
	))
}

func (c *controller) showMedia(w http.ResponseWriter, r *http.Request, s *System) {
	slot, _ := c.dialect.slotOf(r.PathValue("slot"))
	path, url := s.mediaPath()+"/"+slot.ID, s.inserted(slot.ID)
	out := object{
		"@odata.type": "#VirtualMedia.v1_4_0.VirtualMedia", "@odata.id": path, "Id": slot.ID, "Name": slot.Name, "MediaTypes": slot.Types,
		"Inserted": url != "", "WriteProtected": true, "ConnectedVia": "NotConnected", "Image": nil, "ImageName": nil,
	}
	if url != "" {
		out["Image"], out["ImageName"], out["ConnectedVia"] = url, url[strings.LastIndex(url, "/")+1:], "URI"
	}
	if c.dialect.Emulator {
		emulatedDrive(out, url)
	}
	if !slot.Fixed && !c.dialect.PatchMedia {
		out["Actions"] = object{
			"#VirtualMedia.InsertMedia": object{"target": path + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  object{"target": path + "/Actions/VirtualMedia.EjectMedia"},
		}
	}
	writeJSON(w, http.StatusOK, out)
}

type object = map[string]any

func ref(path string) object { return object{"@odata.id": path} }

const contentType = "Content-Type"

func collection[T any](kind, path, name string, members []T, pathOf func(T) string) object {
	refs := make([]object, 0, len(members))
	for _, member := range members {
		refs = append(refs, ref(pathOf(member)))
	}
	return object{
		"@odata.type": "#" + kind + "Collection." + kind + "Collection", "@odata.id": path, "Name": name,
		"Members": refs, "Members@odata.count": len(refs),
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	if w.Header().Get(contentType) == "" {
		w.Header().Set(contentType, "application/json;odata.metadata=minimal;charset=utf-8")
	}
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_ = json.NewEncoder(w).Encode(body) // the client is gone if this fails
	}
}

// refuse answers with an error in the shape of DSP0266, 8.6.
func refuse(w http.ResponseWriter, status int, id, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	writeJSON(w, status, object{"error": object{
		"code": "Base.1.12.GeneralError", "message": text,
		"@Message.ExtendedInfo": []object{{
			"@odata.type": "#Message.v1_1_1.Message", "MessageId": "Base.1.12." + id, "Message": text, "Severity": "Critical",
			"MessageSeverity": "Critical",
			"Resolution":      "None.",
		}},
	}})
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "ResourceMissingAtURI", "The resource at the URI %s was not found.", r.URL.Path)
}

func (c *controller) done(w http.ResponseWriter) { c.succeeded(w, c.dialect.Done) }

func (c *controller) succeeded(w http.ResponseWriter, status int) {
	text := "The request completed successfully."
	writeJSON(w, status, object{"error": object{
		"code": "Base.1.12.Success", "message": text,
		"@Message.ExtendedInfo": []object{{"MessageId": "Base.1.12.Success", "Message": text, "Severity": "OK"}},
	}})
}

// body reads a request's JSON, if there is any; false once it has been refused.
func (c *controller) body(w http.ResponseWriter, r *http.Request, into any) bool {
	const most = 64 << 10
	err := json.NewDecoder(io.LimitReader(r.Body, most)).Decode(into)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return true
	case c.dialect.Emulator:
		fault(w, http.StatusBadRequest, "400 Bad Request: The browser (or proxy) sent a request that this server could not understand.")
	default:
		refuse(w, http.StatusBadRequest, "MalformedJSON", "The request body submitted was malformed JSON and could not be parsed: %v.", err)
	}
	return false
}

func (c *controller) resetSystem(w http.ResponseWriter, r *http.Request, s *System) {
	var asked struct{ ResetType string }
	if !c.body(w, r, &asked) {
		return
	}
	switch {
	case asked.ResetType == "":
		refuse(w, http.StatusBadRequest, "ActionParameterMissing",
			"The action ComputerSystem.Reset requires that the parameter ResetType be present in the request body.")
	case !slices.Contains(c.dialect.Resets, asked.ResetType):
		refuse(w, http.StatusBadRequest, "ActionParameterNotSupported", "The parameter ResetType with the value %s is not supported.",
			asked.ResetType)
	case !s.reset(asked.ResetType) && c.dialect.Strict:
		refuse(w, http.StatusConflict, "ResourceInUse", "The change to the requested resource failed because the machine is %s already.",
			strings.ToLower(s.power()))
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
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed",
			"The ETag supplied did not match the ETag required to change this resource.")
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
		{"BootSourceOverrideTarget", boot.Target, append([]string{"None"}, c.dialect.Targets...)},
		{"BootSourceOverrideEnabled", boot.Enabled, []string{disabled, once, continuous}},
		{"BootSourceOverrideMode", boot.Mode, []string{"UEFI", "Legacy"}},
	} {
		if !slices.Contains(p.allowed, p.value) {
			refuse(w, http.StatusBadRequest, "PropertyValueNotInList", "The value '%s' for the property %s is not in the list of acceptable values.",
				p.value, p.name)
			return
		}
	}
	s.set(boot)
	c.succeeded(w, c.dialect.changed())
}

// mediaRequest is the body of InsertMedia, and of the PATCH that some makers have in its place.
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
	if s.inserted(slot) == "" && c.dialect.Strict {
		refuse(w, http.StatusConflict, "ResourceInUse", "There are no media in %s to eject.", slot)
		return
	}
	s.insert(slot, "")
	c.done(w)
}

// setMedia is how controllers without these actions take an image, and lose it.
func (c *controller) setMedia(w http.ResponseWriter, r *http.Request, s *System) {
	if !c.dialect.PatchMedia {
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
	case slot.Fixed:
		refuse(w, http.StatusMethodNotAllowed, "ActionNotSupported", "The action VirtualMedia.InsertMedia is not supported by %s.", slot.ID)
	case asked.Image == "":
		refuse(w, http.StatusBadRequest, "ActionParameterMissing",
			"The action VirtualMedia.InsertMedia requires that the parameter Image be present in the request body.")
	case err != nil || image.Host == "" || image.Scheme != "http" && image.Scheme != "https":
		refuse(w, http.StatusBadRequest, "ActionParameterValueFormatError", "The parameter Image is no http or https URL.")
	case c.dialect.LongestURL > 0 && len(asked.Image) > c.dialect.LongestURL:
		refuse(w, http.StatusBadRequest, "StringValueTooLong", "The parameter Image is longer than %d characters.", c.dialect.LongestURL)
	case c.dialect.ImageOnly && (asked.Inserted != nil || asked.WriteProtected != nil):
		refuse(w, http.StatusBadRequest, "PropertyUnknown", "The property Inserted is not in the list of valid properties for the resource.")
	case c.dialect.WantsProtocol && !strings.EqualFold(asked.TransferProtocolType, image.Scheme):
		refuse(w, http.StatusBadRequest, "ActionParameterMissing",
			"The action VirtualMedia.InsertMedia requires that TransferProtocolType be %s.", strings.ToUpper(image.Scheme))
	case trouble != nil:
		refuse(
			w, trouble.Args.Int("status", http.StatusInternalServerError), "InternalError", "%s",
			trouble.Args.String("says", "Unable to connect the virtual media image."),
		)
	case c.dialect.Strict && s.inserted(slot.ID) != "":
		refuse(w, http.StatusConflict, "ResourceInUse", "Virtual media are inserted in %s already.", slot.ID)
	default:
		if _, err := s.reader.measure(r.Context(), asked.Image); err != nil {
			refuse(w, http.StatusBadRequest, "ResourceAtUriUnauthorized", "Unable to access the virtual media image: %v.", err)
			return false
		}
		s.insert(slot.ID, asked.Image)
		return true
	}
	return false
}
