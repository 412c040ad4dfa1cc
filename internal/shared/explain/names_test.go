package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/explain"
)

// operatorNames are the operators that a service of August 2026 checks, on
// hosts and on the cluster.
const operatorNames = `amd-gpu authorino cluster-observability cnv fence-agents-remediation kmm kube-descheduler loki lso lvm
	mce metallb mtv nmstate node-feature-discovery node-healthcheck node-maintenance numa-resources nvidia-gpu oadp ocs odf
	openshift-ai openshift-logging osc pipelines self-node-remediation serverless servicemesh`

const hostChecks = `api-domain-name-resolved-correctly api-int-domain-name-resolved-correctly
	apps-domain-name-resolved-correctly belongs-to-machine-cidr belongs-to-majority-group compatible-agent
	compatible-with-cluster-platform connected container-images-available disk-encryption-requirements-satisfied
	dns-wildcard-not-configured has-cpu-cores-for-role has-default-route has-inventory has-memory-for-role has-min-cpu-cores
	has-min-memory has-min-valid-disks hostname-unique hostname-valid ignition-downloadable inventory-not-fully-truncated
	inventory-not-partially-truncated machine-cidr-defined media-connected mtu-valid no-ip-collisions-in-network
	no-iscsi-nic-belongs-to-machine-cidr no-skip-installation-disk no-skip-missing-disk non-overlapping-subnets ntp-synced
	release-domain-name-resolved-correctly sufficient-installation-disk-speed
	sufficient-network-latency-requirement-for-role sufficient-packet-loss-requirement-for-role
	spec-synced time-synced-between-host-and-service valid-platform-network-settings vsphere-disk-uuid-enabled`

const clusterChecks = `all-hosts-are-ready-to-install api-vips-defined api-vips-valid cluster-cidr-defined
	custom-manifests-requirements-satisfied dns-domain-defined ingress-vips-defined ingress-vips-valid machine-cidr-defined
	machine-cidr-equals-to-calculated-cidr network-prefix-valid network-type-valid networks-same-address-families
	no-cidrs-overlapping ntp-server-configured openshift-ai-gpu-requirements-satisfied platform-requirements-satisfied
	pull-secret-set service-cidr-defined spec-synced sufficient-masters-count`

const clusterStatuses = `adding-hosts cancelled error finalizing installed installing installing-pending-user-action insufficient
	pending-for-input preparing-for-installation ready unmonitored`

const hostStatuses = `added-to-existing-cluster binding cancelled disabled disabled-unbound disconnected disconnected-unbound
	discovering discovering-unbound error installed installing installing-in-progress installing-pending-user-action insufficient
	insufficient-unbound known known-unbound pending-for-input preparing-failed preparing-for-installation preparing-successful
	reclaiming reclaiming-rebooting resetting resetting-pending-user-action unbinding unbinding-pending-user-action`

// eventNames are the 80 of today and cluster_registration_failed of before.
const eventNames = `after_inactivity_cluster_deregistered api_ingress_vip_timed_out api_ingress_vip_updated
	cancel_install_commit_failed cancel_install_start_failed cancel_installation_failed cluster_degraded_OLM_operators_failed
	cluster_deregister_failed cluster_deregistered cluster_finalizing_stage_updated cluster_installation_canceled
	cluster_installation_completed cluster_installation_failed cluster_installation_reset cluster_logs_uploaded
	cluster_operator_report cluster_operator_status cluster_prepare_installation_started cluster_registration_failed
	cluster_registration_succeeded cluster_status_updated cluster_validation_failed cluster_validation_fixed
	clusters_permanently_deleted disk_speed_slower_than_supported existing_image_reused expired_image_deleted
	finalizing_stage_timed_out generate_image_fetch_failed generate_image_format_failed generate_minimal_iso_failed
	host_approved_updated host_bind_failed host_bind_succeeded host_boot_logs_uploaded host_bootstrap_set
	host_cancel_installation_failed host_deregistered host_discovery_ignition_config_applied host_install_progress_updated
	host_installation_cancelled host_installation_reset host_installation_reset_failed host_installation_started
	host_installer_args_applied host_logs_uploaded host_media_disconnected host_registration_failed
	host_registration_setting_properties_failed host_registration_succeeded host_reset_fetch_failed host_role_updated
	host_set_status_failed host_stage_timed_out host_status_updated host_unbind_failed host_unbind_succeeded
	host_validation_failed host_validation_fixed ignition_config_image_generated image_info_updated image_status_updated
	inactive_clusters_deregistered infra_env_deregister_failed infra_env_deregistered infra_env_registered
	infra_env_registration_failed install_config_applied installation_preparing_timed_out prepare_installation_failed
	proxy_settings_changed quick_disk_format_performed quick_disk_format_skipped reboots_for_node reset_installation_failed
	upgrade_agent_failed upgrade_agent_finished upgrade_agent_started upload_image_failed
	user_required_complete_installation_reset validations_ignored`

func TestNames(t *testing.T) {
	var operators []string
	for _, name := range strings.Fields(operatorNames) {
		operators = append(operators, name+"-requirements-satisfied")
	}
	cases := []struct {
		name    string
		kind    explain.Kind
		subject explain.Subject
		want    []string
	}{
		{"checks of a host", explain.KindValidation, explain.SubjectHost, append(strings.Fields(hostChecks), operators...)},
		{"checks of a cluster", explain.KindValidation, explain.SubjectCluster, append(strings.Fields(clusterChecks), operators...)},
		{"states of a cluster", explain.KindState, explain.SubjectCluster, strings.Fields(clusterStatuses)},
		{"states of a host", explain.KindState, explain.SubjectHost, strings.Fields(hostStatuses)},
		{"stages of a host", explain.KindStage, explain.SubjectHost, []string{
			"Starting installation", "Installing", "Writing image to disk", "Copying registry data to disk",
			"Waiting for control plane", "Waiting for bootkube", "Waiting for controller", "Rebooting", "Waiting for ignition",
			"Configuring", "Joined", "Done", "Failed",
		}},
		{"stages of finalizing", explain.KindStage, explain.SubjectCluster, []string{
			"Waiting for cluster operators", "Adding router ca", "Applying olm manifests",
			"Waiting for olm operators csv initialization", "Waiting for olm operators csv",
			"Waiting for OLM operator setup jobs", "Done",
		}},
		{"events", explain.KindEvent, "", strings.Fields(eventNames)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range explain.All(c.kind) {
				if c.kind == explain.KindState && e.Name != strings.ToLower(e.Name) {
					continue // a state of oaictl
				}
				if c.subject == "" || e.Subject == c.subject {
					got = append(got, e.Name)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}
