package bmc

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
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
	if c.dialect.vendor != "" {
		out["Vendor"] = c.dialect.vendor
	}
	if c.dialect.product != "" {
		out["Product"] = c.dialect.product
	}
	if c.dialect.emulator {
		delete(out, "Links")
	}
	if c.dialect.sessions > 0 {
		out["SessionService"], out["Links"] = ref(sessionServicePath), object{"Sessions": ref(sessionsPath)}
	}
	return out
}

func (c *controller) listSystems(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, collection("ComputerSystem", root+"/Systems", "Systems", c.systems, (*System).path))
}

func (c *controller) listManagers(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, collection("Manager", root+"/Managers", "Managers", c.systems, (*System).managerPath))
}

func (s *System) path() string        { return root + "/Systems/" + s.id }
func (s *System) managerPath() string { return root + "/Managers/" + s.manager }

func (s *System) mediaPath() string {
	if s.dialect.mediaInSystem {
		return s.path() + "/VirtualMedia"
	}
	return s.managerPath() + "/VirtualMedia"
}

func (c *controller) showSystem(w http.ResponseWriter, _ *http.Request, s *System) {
	boot := s.settings()
	power := s.power()
	if t := c.trouble.of(s.machine, scenario.DoBMCPowerLies); t != nil {
		power = t.args.String("says", "On")
	}
	out := object{
		"@odata.type": "#ComputerSystem.v1_16_0.ComputerSystem", "@odata.id": s.path(), "@odata.etag": boot.etag(),
		"Id": s.id, "Name": s.name(), "SystemType": "Physical", "HostName": s.machine.Name,
		"UUID": s.machine.UUID, "SerialNumber": s.machine.Serial, "Manufacturer": c.dialect.manufacturer, "Model": c.dialect.model,
		"PowerState": power, "Status": object{"State": "Enabled", "Health": "OK"},
		"Boot": object{
			"BootSourceOverrideTarget": boot.Target, "BootSourceOverrideEnabled": boot.Enabled, "BootSourceOverrideMode": boot.Mode,
			"BootSourceOverrideTarget@Redfish.AllowableValues": c.dialect.bootTargets(boot.Mode),
		},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": s.path() + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": c.dialect.resets,
		}},
		"Links": object{"ManagedBy": []object{ref(s.managerPath())}},
	}
	if c.dialect.mediaInSystem && c.troubled(scenario.DoBMCNoVirtualMedia) == nil {
		out["VirtualMedia"] = ref(s.mediaPath())
	}
	if c.dialect.emulator { // which says nothing of these
		for _, unknown := range []string{"@odata.etag", "SystemType", "HostName", "SerialNumber", "Model"} {
			delete(out, unknown)
		}
	} else {
		w.Header().Set("ETag", boot.etag())
	}
	answer(w, http.StatusOK, out)
}

// bootTargets are what a system allows in a boot mode: the emulator has no UefiHttp without UEFI.
func (d *dialect) bootTargets(mode string) []string {
	if !d.emulator || mode == "UEFI" {
		return d.targets
	}
	return slices.DeleteFunc(slices.Clone(d.targets), func(t string) bool { return t == "UefiHttp" })
}

// name is the system's: sushy-tools gives it that of the machine.
func (s *System) name() string {
	if s.dialect.emulator {
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
		"ManagerType": "BMC", "Model": c.dialect.product, "FirmwareVersion": "1.0.0", "PowerState": "On",
		"Status": object{"State": "Enabled", "Health": "OK"}, "Links": object{"ManagerForServers": []object{ref(s.path())}},
	}
	if c.dialect.emulator {
		out["UUID"] = s.machine.UUID
	}
	if (!c.dialect.mediaInSystem || c.dialect.emulator) && c.troubled(scenario.DoBMCNoVirtualMedia) == nil {
		out["VirtualMedia"] = ref(s.mediaPath())
	}
	answer(w, http.StatusOK, out)
}

func (c *controller) listMedia(w http.ResponseWriter, _ *http.Request, s *System) {
	answer(w, http.StatusOK, collection("VirtualMedia", s.mediaPath(), "Virtual Media", c.dialect.slots, func(slot slot) string { return s.mediaPath() + "/" + slot.id }))
}

func (c *controller) showMedia(w http.ResponseWriter, r *http.Request, s *System) {
	slot, _ := c.dialect.slotOf(r.PathValue("slot"))
	path, url := s.mediaPath()+"/"+slot.id, s.inserted(slot.id)
	out := object{
		"@odata.type": "#VirtualMedia.v1_4_0.VirtualMedia", "@odata.id": path, "Id": slot.id, "Name": slot.name, "MediaTypes": slot.types,
		"Inserted": url != "", "WriteProtected": true, "ConnectedVia": "NotConnected", "Image": nil, "ImageName": nil,
	}
	if url != "" {
		out["Image"], out["ImageName"], out["ConnectedVia"] = url, url[strings.LastIndex(url, "/")+1:], "URI"
	}
	if c.dialect.emulator {
		emulatedDrive(out, url)
	}
	if !slot.fixed && !c.dialect.patchMedia {
		out["Actions"] = object{
			"#VirtualMedia.InsertMedia": object{"target": path + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  object{"target": path + "/Actions/VirtualMedia.EjectMedia"},
		}
	}
	answer(w, http.StatusOK, out)
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

func answer(w http.ResponseWriter, status int, body any) {
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
	answer(w, status, object{"error": object{
		"code": "Base.1.12.GeneralError", "message": text,
		"@Message.ExtendedInfo": []object{{
			"@odata.type": "#Message.v1_1_1.Message", "MessageId": "Base.1.12." + id, "Message": text, "Severity": "Critical", "MessageSeverity": "Critical",
			"Resolution": "None.",
		}},
	}})
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "ResourceMissingAtURI", "The resource at the URI %s was not found.", r.URL.Path)
}

func (c *controller) done(w http.ResponseWriter) { c.succeeded(w, c.dialect.done) }

func (c *controller) succeeded(w http.ResponseWriter, status int) {
	text := "The request completed successfully."
	answer(w, status, object{"error": object{
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
	case c.dialect.emulator:
		fault(w, http.StatusBadRequest, "400 Bad Request: The browser (or proxy) sent a request that this server could not understand.")
	default:
		refuse(w, http.StatusBadRequest, "MalformedJSON", "The request body submitted was malformed JSON and could not be parsed: %v.", err)
	}
	return false
}
