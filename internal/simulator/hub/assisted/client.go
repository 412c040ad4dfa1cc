// Package assisted is a simulated hub's client of the assisted-service behind it.
package assisted

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// RestBase is the path below which the service's API is found.
const RestBase = "/api/assisted-install"

// Client speaks to the simulated service.
type Client struct {
	Url    string // without a path
	client *http.Client
	token  string // "" where the service asks for none
}

// New speaks to the service at an address, with a token where callers are asked for one.
func New(service string, callers *auth.Service) (*Client, error) {
	b := &Client{Url: strings.TrimSuffix(strings.TrimSuffix(service, "/"), RestBase), client: &http.Client{Timeout: time.Minute}}
	if callers == nil || callers.Mode() == auth.None {
		return b, nil
	}
	var err error
	b.token, err = callers.Mint(auth.Grant{Scheme: auth.UserAuth})
	return b, err
}

type restError struct {
	status int
	reason string
}

func (e *restError) Error() string { return e.reason }

// IsGone reports whether the service does not know what was asked for.
func IsGone(err error) bool {
	var refusal *restError
	return errors.As(err, &refusal) && refusal.status == http.StatusNotFound
}

// IsInput reports whether only the user can cure an error: the service refused what it was sent.
func IsInput(err error) bool {
	var input *InputError
	if errors.As(err, &input) {
		return true
	}
	var refusal *restError
	return errors.As(err, &refusal) && refusal.status >= 400 && refusal.status < 500
}

// InputError is a fault of a custom resource that was found before the service was asked.
type InputError struct{ text string }

func (e *InputError) Error() string { return e.text }

// InputFault is a fault of a custom resource that only the user can cure.
func InputFault(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Do sends a request and reads its answer into a value; nil for either is none.
func (b *Client) Do(ctx context.Context, method, path string, send, into any) error {
	data, err := b.Raw(ctx, method, path, send)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the service's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// Raw sends a request and gives the answer as it came.
func (b *Client) Raw(ctx context.Context, method, path string, send any) ([]byte, error) {
	var body io.Reader
	if send != nil {
		data, err := json.Marshal(send)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, b.Url+RestBase+path, body)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", method, path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if b.token != "" {
		request.Header.Set("Authorization", b.token)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	const most = 64 << 20
	data, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, fmt.Errorf("read the service's answer to %s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		return nil, refusal(response.StatusCode, data)
	}
	return data, nil
}

func refusal(status int, data []byte) error {
	var said struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(data, &said) // of a text that is no JSON nothing is known but the status
	return &restError{status, cmp.Or(said.Reason, said.Message, fmt.Sprintf("the service answers %d %s", status, http.StatusText(status)))}
}

// Cluster is what the controllers read of a cluster.
type Cluster struct {
	ID                 string    `json:"id"`
	Status             string    `json:"status"`
	StatusInfo         string    `json:"status_info"`
	ValidationsInfo    string    `json:"validations_info"`
	OpenshiftID        string    `json:"openshift_cluster_id"`
	APIVIPs            []Address `json:"api_vips"`
	IngressVIPs        []Address `json:"ingress_vips"`
	MachineNetworks    []Address `json:"machine_networks"`
	ConnectivityGroups string    `json:"connectivity_majority_groups"`
	UserManaged        bool      `json:"user_managed_networking"`
	Overrides          string    `json:"install_config_overrides"`
	ControllerLogsAt   time.Time `json:"controller_logs_collected_at"`
	Platform           *struct {
		Type string `json:"type"`
	} `json:"platform"`
	Progress *struct {
		Total int64 `json:"total_percentage"`
	} `json:"progress"`
	Preparation *struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
	} `json:"last-installation-preparation"`
}

// Address is one of a cluster's virtual addresses, or of its networks.
type Address struct {
	IP   string `json:"ip"`
	CIDR string `json:"cidr"`
}

// InfraEnv is what the controllers read of an infra-env.
type InfraEnv struct {
	ID        string    `json:"id"`
	ClusterID string    `json:"cluster_id"`
	Arch      string    `json:"cpu_architecture"`
	Version   string    `json:"openshift_version"`
	URL       string    `json:"download_url"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Host is what the controllers read of a host.
type Host struct {
	ID               string        `json:"id"`
	InfraEnvID       string        `json:"infra_env_id"`
	ClusterID        string        `json:"cluster_id"`
	Kind             string        `json:"kind"`
	Status           string        `json:"status"`
	StatusInfo       string        `json:"status_info"`
	Role             string        `json:"role"`
	SuggestedRole    string        `json:"suggested_role"`
	Bootstrap        bool          `json:"bootstrap"`
	Hostname         string        `json:"requested_hostname"`
	DiskID           string        `json:"installation_disk_id"`
	InstallerArgs    string        `json:"installer_args"`
	Ignition         string        `json:"ignition_config_overrides"`
	NodeLabels       string        `json:"node_labels"`
	Pool             string        `json:"machine_config_pool_name"`
	Fencing          string        `json:"fencing_credentials"`
	Inventory        string        `json:"inventory"`
	NtpSources       string        `json:"ntp_sources"`
	ValidationsInfo  string        `json:"validations_info"`
	LogsAt           time.Time     `json:"logs_collected_at"`
	EndpointTokenSet bool          `json:"ignition_endpoint_token_set"`
	Progress         *HostProgress `json:"progress"`
	ProgressStages   []any         `json:"progress_stages"`
	Raw              string        `json:"-"` // as it came, to see whether it changed
}

// HostProgress is how far a host is.
type HostProgress struct {
	Stage     string    `json:"current_stage"`
	Percent   int64     `json:"installation_percentage"`
	Info      string    `json:"progress_info"`
	StartedAt time.Time `json:"stage_started_at"`
	UpdatedAt time.Time `json:"stage_updated_at"`
}

// EffectiveRole is what the host will be: the service's suggestion until the user decides.
func (h *Host) EffectiveRole() string { return cmp.Or(h.SuggestedRole, h.Role) }

// Stage is the stage that the host has reached.
func (h *Host) Stage() string {
	if h.Progress == nil {
		return ""
	}
	return h.Progress.Stage
}

// Check is one validation as the service prints it.
type Check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// ChecksOf reads validations_info; nothing where it is empty or unreadable.
func ChecksOf(text string) map[string][]Check {
	var checks map[string][]Check
	if text == "" || json.Unmarshal([]byte(text), &checks) != nil {
		return nil
	}
	return checks
}

// Ignored are the validations that do not hinder, each kind as a list in a text.
type Ignored struct {
	Cluster string `json:"cluster-validation-ids"`
	Host    string `json:"host-validation-ids"`
}
