package metal3

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/host"
)

// What the Bare Metal Operator reads and writes on a BareMetalHost beside its spec and status.
const (
	finalizerHost      = "baremetalhost.metal3.io"
	annotationPaused   = "baremetalhost.metal3.io/paused"
	annotationDetached = "baremetalhost.metal3.io/detached"
	annotationStatus   = "baremetalhost.metal3.io/status"
	annotationInspect  = "inspect.metal3.io"
	annotationReboot   = "reboot.metal3.io"
)

// The states of a host's provisioning.
const (
	stateNone           = ""
	stateUnmanaged      = "unmanaged"
	stateRegistering    = "registering"
	stateInspecting     = "inspecting"
	statePreparing      = "preparing"
	stateAvailable      = "available"
	stateProvisioning   = "provisioning"
	stateProvisioned    = "provisioned"
	stateExternally     = "externally provisioned"
	stateDeprovisioning = "deprovisioning"
)

// How long a host stays in a state, on the simulation's clock.
const (
	registeringTime    = 10 * time.Second
	inspectingTime     = 3 * time.Minute
	preparingTime      = 5 * time.Second
	writingTime        = 4 * time.Minute  // of an image onto the disk
	insertingTime      = 30 * time.Second // of an ISO into the virtual drive
	deprovisioningTime = time.Minute
	secretRetry        = 10 * time.Second
)

func (o *operator) reconcileHost(ctx context.Context, k key) (time.Duration, error) {
	u := o.get(k)
	if u == nil {
		return 0, nil
	}
	notes := u.GetAnnotations()
	if _, paused := notes[annotationPaused]; paused {
		return 0, nil
	}
	if u.GetDeletionTimestamp() != nil && !apiobject.HasFinalizer(u, finalizerHost) {
		return 0, nil
	}
	if apiobject.Text(u, "status", "provisioning", "state") == stateNone && notes[annotationStatus] != "" {
		return 0, o.restore(ctx, k, u)
	}
	if u.GetDeletionTimestamp() == nil && apiobject.AddFinalizer(u, finalizerHost) {
		return 0, o.update(ctx, k, u)
	}
	h := &bareMetal{operator: o, key: k, object: u, before: u.DeepCopy()}
	if apiobject.Text(u, "spec", "bmc", "address") != "" {
		var err error
		if h.machine, err = o.config.Hardware.machineOf(apiobject.Text(u, "spec", "bootMACAddress"), k.name,
			apiobject.Text(u, "spec", "architecture")); err != nil {
			return 0, err
		}
	}
	after, err := h.look(ctx)
	if err != nil || h.gone {
		return after, err
	}
	return after, h.save(ctx)
}

// restore gives a host back the status that it was moved with, which clusterctl does not move.
func (o *operator) restore(ctx context.Context, k key, u *object) error {
	var status map[string]any
	if err := json.Unmarshal([]byte(u.GetAnnotations()[annotationStatus]), &status); err != nil {
		return fmt.Errorf("read its status from the annotation: %w", err)
	}
	set(u, status, "status")
	if err := o.updateStatus(ctx, k, u); err != nil {
		return err
	}
	now, err := o.client(k).Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	notes := now.GetAnnotations()
	delete(notes, annotationStatus)
	now.SetAnnotations(notes)
	return o.update(ctx, k, now)
}

type bareMetal struct {
	*operator
	*object

	key     key
	before  *object
	machine *machine // nil without a BMC
	gone    bool
	entered string // the state that is new
	then    func() // what is done once that is written; nil is nothing
}

func (h *bareMetal) state() string {
	return apiobject.Text(h.object, "status", "provisioning", "state")
}

func (h *bareMetal) enter(state string) {
	set(h.object, state, "status", "provisioning", "state")
	h.entered = state
}

// stays reports whether a state has still to last, and how long.
func (h *bareMetal) stays(lasts time.Duration) (time.Duration, bool) {
	left := lasts - h.clock.Now().Sub(h.begun(string(h.GetUID()), h.state()))
	return max(left, time.Millisecond), left > 0
}

func (h *bareMetal) save(ctx context.Context) error {
	for _, required := range []struct {
		name  string
		value any
	}{{"errorCount", int64(0)}, {"errorMessage", ""}, {"poweredOn", false}, {"operationalStatus", "OK"}, {"hardwareProfile", "unknown"}} {
		if _, has, _ := unstructured.NestedFieldNoCopy(h.Object, "status", required.name); !has {
			_ = unstructured.SetNestedField(h.Object, required.value, "status", required.name) // an object, as the schema has it
		}
	}
	if apiobject.Text(h.object, "status", "provisioning", "ID") == "" {
		_ = unstructured.SetNestedField(h.Object, string(h.GetUID()), "status", "provisioning", "ID")
	}
	if h.machine != nil {
		_ = unstructured.SetNestedField(h.Object, h.machine.isOn(), "status", "poweredOn")
	}
	if reflect.DeepEqual(h.Object["status"], h.before.Object["status"]) {
		return nil
	}
	set(h.object, timestamp(), "status", "lastUpdated")
	if err := h.updateStatus(ctx, h.key, h.object); err != nil {
		return err
	}
	if h.entered != "" {
		h.logf("%s is %s", h.key, h.entered)
	}
	if h.then != nil {
		h.then()
	}
	return nil
}

func (h *bareMetal) look(ctx context.Context) (time.Duration, error) {
	if h.GetDeletionTimestamp() != nil {
		return h.letGo(ctx)
	}
	_, detached := h.GetAnnotations()[annotationDetached]
	switch state := h.state(); state {
	case stateProvisioned, stateExternally, stateAvailable:
		if detached {
			set(h.object, "detached", "status", "operationalStatus")
			return 0, nil
		}
	}
	if apiobject.Text(h.object, "status", "operationalStatus") == "detached" {
		set(h.object, "OK", "status", "operationalStatus")
	}
	switch h.state() {
	case stateNone, stateUnmanaged, stateRegistering, stateInspecting, statePreparing:
		return h.enroll()
	case stateAvailable:
		if h.wantsImage() {
			h.enter(stateProvisioning)
			return time.Millisecond, nil
		}
		h.power()
	case stateProvisioning:
		return h.provision(ctx)
	case stateProvisioned:
		if h.cancelled() {
			h.enter(stateDeprovisioning)
			return time.Millisecond, nil
		}
		return 0, h.steady(ctx)
	case stateExternally:
		return 0, h.steady(ctx)
	case stateDeprovisioning:
		return h.deprovision()
	}
	return 0, nil
}

func (h *bareMetal) enroll() (time.Duration, error) {
	switch h.state() {
	case stateNone, stateUnmanaged:
		if h.machine == nil {
			set(h.object, "discovered", "status", "operationalStatus")
			h.enter(stateUnmanaged)
			return 0, nil
		}
		set(h.object, "OK", "status", "operationalStatus")
		h.enter(stateRegistering)
	case stateRegistering:
		if left, stays := h.stays(registeringTime); stays {
			return left, nil
		}
		switch {
		case apiobject.Truth(h.object, "spec", "externallyProvisioned"):
			h.enter(stateExternally)
		case h.GetAnnotations()[annotationInspect] == "disabled" || apiobject.Text(h.object, "spec", "inspectionMode") == "disabled":
			h.enter(statePreparing)
		default:
			h.enter(stateInspecting)
		}
	case stateInspecting:
		if left, stays := h.stays(inspectingTime); stays {
			return left, nil
		}
		set(h.object, h.machine.details(), "status", "hardware")
		h.enter(statePreparing)
	case statePreparing:
		if left, stays := h.stays(preparingTime); stays {
			return left, nil
		}
		h.enter(stateAvailable)
	}
	return time.Millisecond, nil
}

func (h *bareMetal) image(of string) (url, format string) {
	path := []string{of, "image"}
	if of == "status" {
		path = []string{of, "provisioning", "image"}
	}
	return apiobject.Text(h.object, append(path, "url")...), apiobject.Text(h.object, append(path, "format")...)
}

func (h *bareMetal) wantsImage() bool {
	url, _ := h.image("spec")
	has, _ := h.image("status")
	return apiobject.Truth(h.object, "spec", "online") && url != "" && has == ""
}

// cancelled reports whether what a host was provisioned with is not wanted any more.
func (h *bareMetal) cancelled() bool {
	url, _ := h.image("spec")
	has, _ := h.image("status")
	return url == "" || has != "" && has != url
}

const liveISO = "live-iso"

// provision writes the image on the disk, with the user data beside it, or puts it into the
// virtual drive; then the machine starts.
func (h *bareMetal) provision(ctx context.Context) (time.Duration, error) {
	if h.cancelled() {
		h.enter(stateDeprovisioning)
		return time.Millisecond, nil
	}
	url, format := h.image("spec")
	lasts := writingTime
	if format == liveISO {
		lasts = insertingTime
	}
	if left, stays := h.stays(lasts); stays {
		return left, nil
	}
	h.then = func() {
		h.machine.write(nil)
		h.machine.insert(url)
		h.machine.turn(true)
	}
	if format != liveISO {
		system, err := h.configDrive(ctx)
		if err != nil {
			h.then = nil
			set(h.object, "error", "status", "operationalStatus")
			set(h.object, "provisioning error", "status", "errorType")
			set(h.object, err.Error(), "status", "errorMessage")
			return secretRetry, nil
		}
		h.then = func() {
			h.machine.write(system)
			h.machine.turn(true)
		}
	}
	set(h.object, "OK", "status", "operationalStatus")
	set(h.object, nil, "status", "errorType")
	_ = unstructured.SetNestedField(h.Object, "", "status", "errorMessage")
	image, _, _ := unstructured.NestedMap(h.Object, "spec", "image")
	set(h.object, image, "status", "provisioning", "image")
	h.enter(stateProvisioned)
	return time.Millisecond, nil // to see that it is on
}

// configDrive is what stands on the disk beside the image: user data and metadata.
func (h *bareMetal) configDrive(ctx context.Context) (*host.DiskSystem, error) {
	drive := &host.DiskSystem{MetaData: map[string]string{
		"uuid": string(h.GetUID()), "metal3-namespace": h.key.namespace, "metal3-name": h.key.name,
		"local-hostname": h.key.name, "local_hostname": h.key.name, "name": h.key.name,
	}}
	var err error
	if drive.UserData, err = h.secret(ctx, "userData"); err != nil {
		return nil, err
	}
	meta, err := h.secret(ctx, "metaData")
	if err != nil || meta == nil {
		return drive, err
	}
	var said map[string]any
	if err := yaml.Unmarshal(meta, &said); err != nil {
		return nil, fmt.Errorf("failed to unmarshal metadata from secret: %w", err)
	}
	for name, value := range said {
		drive.MetaData[name] = fmt.Sprint(value)
	}
	return drive, nil
}

// secret is what a secret says that the spec names: under the field's own key, or under value.
func (h *bareMetal) secret(ctx context.Context, field string) ([]byte, error) {
	name := apiobject.Text(h.object, "spec", field, "name")
	if name == "" {
		return nil, nil
	}
	if namespace := apiobject.Text(h.object, "spec", field, "namespace"); namespace != "" && namespace != h.key.namespace {
		return nil, fmt.Errorf("%s secret must be in same namespace as host %s/%s", field, h.key.namespace, h.key.name)
	}
	found, err := h.core.CoreV1().Secrets(h.key.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("could not retrieve %s: %w", field, err)
	}
	for _, name := range []string{field, "value"} {
		if data, has := found.Data[name]; has {
			return data, nil
		}
	}
	return nil, fmt.Errorf("secret %s does not contain key %s", name, field)
}

// steady keeps a provisioned machine on or off, and restarts it where an annotation says so.
func (h *bareMetal) steady(ctx context.Context) error {
	notes := h.GetAnnotations()
	if _, reboot := notes[annotationReboot]; reboot && apiobject.Truth(h.object, "spec", "online") {
		delete(notes, annotationReboot)
		now := h.before.DeepCopy()
		now.SetAnnotations(notes)
		if err := h.update(ctx, h.key, now); err != nil {
			return err
		}
		h.logf("%s is rebooted", h.key)
		h.machine.turn(true)
		h.gone = true // the next look is at the newer object
		return nil
	}
	h.power()
	return nil
}

func (h *bareMetal) power() {
	if online := apiobject.Truth(h.object, "spec", "online"); h.machine != nil && online != h.machine.isOn() {
		h.machine.turn(online)
	}
}

// deprovision takes the machine back: it goes off, and its disk is wiped where cleaning is not disabled.
func (h *bareMetal) deprovision() (time.Duration, error) {
	if left, stays := h.stays(deprovisioningTime); stays {
		h.machine.turn(false)
		return left, nil
	}
	h.clean()
	set(h.object, nil, "status", "provisioning", "image")
	h.enter(stateAvailable)
	return time.Millisecond, nil
}

func (h *bareMetal) clean() {
	h.machine.turn(false)
	h.machine.insert("")
	if apiobject.Text(h.object, "spec", "automatedCleaningMode") != "disabled" {
		h.machine.write(nil)
	}
}

// ironicTakes is how long Ironic waits before it begins with a deleted host, in real time. clusterctl removes the
// annotation of the pause from a host that it moves, just before it deletes the host; the host is gone by then.
const ironicTakes = 2 * time.Second

// realTime is how much time passes in the simulation within a span of real time.
func (o *operator) realTime(real time.Duration) time.Duration {
	return time.Duration(float64(real) * float64(time.Second) / float64(o.config.Clock.Wall(time.Second)))
}

// letGo is the end of a host: what was provisioned is taken back, unless it is detached.
func (h *bareMetal) letGo(ctx context.Context) (time.Duration, error) {
	_, detached := h.GetAnnotations()[annotationDetached]
	switch state := h.state(); {
	case detached || h.machine == nil:
	case state == stateProvisioning || state == stateProvisioned:
		if left := ironicTakes - clock.Real().Now().Sub(h.GetDeletionTimestamp().Time); left > 0 {
			return h.realTime(left), nil
		}
		h.enter(stateDeprovisioning)
		return time.Millisecond, nil
	case state == stateDeprovisioning:
		if left, stays := h.stays(deprovisioningTime); stays {
			h.machine.turn(false)
			return left, nil
		}
		h.clean()
	default:
		h.machine.turn(false)
	}
	h.gone = true
	apiobject.DropFinalizer(h.before, finalizerHost)
	err := h.update(ctx, h.key, h.before)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return 0, err
}
