package sample

import "strings"

const certificate = `-----BEGIN CERTIFICATE-----
MIIBPjCB5aADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMTA2xhYjAgFw03
MDAxMDEwMDAwMDBaGA8yMTI2MTEyMTA3MzAyMVowDjEMMAoGA1UEAxMDbGFiMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEouHwqjcdTjDR/qb5ZaKsqsIG4DE+MbyF
ajyh7ttWo8t/znJFqcvGhyqeVlZamflsFM9ES8ejYbbQwRw4zqFfDaMyMDAwDwYD
VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUErUyWFP3rSg2SfufzBe81vZFj0IwCgYI
KoZIzj0EAwIDSAAwRQIgX18NDV84E49Ny45VBL6f6hvPCC1Vg9Kqdob77NxqvDwC
IQC5mWW3egxjfyAaWWzWYJjcHBrBpszjUUWkvvBf+xt2jQ==
-----END CERTIFICATE-----
`

// Head is how a file begins.
const Head = "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"

// indented is a text as a block in YAML.
func indented(text string, spaces int) string {
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+pad) + "\n"
}

// EveryField says something in every field that a hub has a place for, save
// those that exclude each other, which EveryOtherField has.
func EveryField() string {
	return `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab, tags: [blue]}
spec:
  openshift: {version: "4.20.3", arch: multi, releaseImage: "quay.io/ocp/release:4.20.3-multi"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  hold: true
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 2, arbiters: 1, workers: 1, required: {workers: 0, within: 60m}}
  network:
    type: OVNKubernetes
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    loadBalancer: user-managed
    userManaged: false
    mtu: 1400
    ntp: [ntp.example.com]
    defaults: {gateway: 192.168.127.1, dns: [192.168.127.1], search: [example.com], mtu: 9000}
  platform: {type: baremetal}
  proxy: {http: "http://proxy.example.com:3128", https: "http://user:pass@proxy.example.com:3128", no: [.example.com, 10.0.0.0/8]}
  diskEncryption: {mode: tang, on: [control-plane, worker], tang: [{url: "http://tang.example.com", thumbprint: PLjNyRdGw03zlRoGjQYMahSZGu9}]}
  hyperthreading: [control-plane, arbiter]
  schedulableControlPlane: false
  fips: true
  boot: {method: metal3, image: minimal}
  infraEnv: {bind: late}
  registry:
    mirrors: [{source: quay.io/ocp, mirrors: [mirror.example.com/ocp], insecure: true}]
    trustBundle: |
` + indented(certificate, 6) + `  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
  discovery: {kernelArgs: [console=ttyS0], ignition: {ignition: {version: 3.2.0}}, networkDelay: 30s, osVersion: "4.21"}
  ignitionEndpoint: {url: "https://api-int.lab.example.com:22623/config", ca: {env: CA}}
  hub:
    agentLabels: {zone: a}
    nodeLabels: {example.com/site: north, example.com/row: ""}
    classifications:
    - {label: size, value: Large, query: .cpu.count > 16}
    - {label: gpu, value: "yes", query: (.gpus | length) > 0}
    ironic: {agent: true, image: "quay.io/metal3/ironic-agent:v1", ipFamilies: [v6, v4]}
    ipxe: boot-order
  ignoreValidations: {cluster: [all], hosts: [ntp-synced, mtu-valid]}
  overrides: {installConfig: {publish: External}}
  hosts:
  - name: cp-1
    role: control-plane
    match: {mac: "52:54:00:00:00:01"}
    bmc: {address: 10.0.0.2, system: "1", credentials: {username: root, password: {env: TOKEN}}, insecure: true, metal3: {bootMode: UEFISecureBoot, cleaning: metadata, inspect: false, keepManaged: true, removeNode: true, drainTimeout: 10m, agentLabels: {example.com/shelf: "3"}}}
    net: {ip: 192.168.127.11/24}
  - name: cp-0
    role: control-plane
    match: {mac: "52:54:00:00:00:00"}
    hostname: master-0
    bmc: {address: "idrac-virtualmedia://10.0.0.1/redfish/v1/Systems/System.Embedded.1", credentials: {env: BMC}}
    disk: {hints: {deviceName: /dev/sda, hctl: "0:0:0:0", model: M, vendor: V, serialNumber: S, minSizeGigabytes: 100, wwn: w, wwnWithExtension: we, wwnVendorExtension: wv, rotational: false}}
    net: {ip: 192.168.127.10/24}
    labels: {rack: a, node-role.kubernetes.io/infra: ""}
    machineConfigPool: custom
    installerArgs: ["--append-karg", "a=b"]
    ignition: {ignition: {version: 3.2.0}}
    ignitionEndpoint: {token: {env: TOKEN}, headers: {X-A: "1"}}
  - {name: vote, role: arbiter, match: {mac: "52:54:00:00:00:02"}, arch: arm64, bmc: {address: "http://10.0.0.3/redfish/v1/Systems/2", credentials: {secretRef: {name: vote-bmc}}}}
  - {name: w-0, role: worker, match: {serial: S1, hostname: w, uuid: 11111111-2222-3333-4444-555555555555, bmc: 10.0.0.9}}
`
}

// EveryOtherField says what EveryField cannot.
const EveryOtherField = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: duo}
spec:
  openshift: {version: "4.20", imageSet: img-4-20, arch: x86_64}
  baseDomain: example.com
  pullSecret: {secretRef: {name: pull}}
  topology: {controlPlane: 2, fencing: true}
  network:
    machine: [192.168.127.0/24]
    defaults: {ntp: [ntp.example.com]}
  platform: none
  diskEncryption: {mode: tpm}
  hyperthreading: none
  boot: {method: metal3}
  hosts:
  - {name: b, role: control-plane, match: {mac: "52:54:00:00:00:01"}, bmc: {address: "redfish-virtualmedia://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}}, fencing: {address: "https://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}, insecure: true}}
  - {name: a, role: control-plane, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}, fencing: {}}
`

// External is a cluster on a platform of its own, with machines of an image that
// exists.
const External = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: ext}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {secretRef: {name: pull}}
  network: {machine: [192.168.127.0/24]}
  platform: {type: external, external: {name: oci, cloudControllerManager: External}}
  infraEnv: {ref: pool}
  boot: {method: metal3}
  hosts:
  - {name: a, role: control-plane, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "redfish://[fd00::1]:8443/redfish/v1/Systems/1", credentials: {env: BMC}}}
`

// Imported is a cluster that is installed already, to which hosts are added.
const Imported = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: old}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {kubeconfig: {env: KUBECONFIG_OF_OLD}, clusterID: 11111111-2222-3333-4444-555555555555}
  discovery: {osVersion: "4.20"}
  ignitionEndpoint: {url: "https://api-int.old.example.com:22623/config/worker", ca: {env: CA}}
  hosts:
  - {name: w-0, match: {mac: "52:54:00:00:00:00"}}
`

// LaterWorker is a single node to which a worker is added once it is installed.
const LaterWorker = Head + `spec:
  openshift: {version: "4.20.1"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24], defaults: {gateway: 192.168.127.1, dns: [192.168.127.1]}}
  topology: {workers: 1, required: {workers: 0}}
  boot: {method: metal3}
  hosts:
  - {name: later, role: worker, net: {mac: "52:54:00:00:00:01", ip: 192.168.127.11/24}, bmc: {address: 192.0.2.1, system: "1", credentials: {env: BMC}}}
  - {name: node, role: control-plane, labels: {a: b}, net: {mac: "52:54:00:00:00:02", ip: 192.168.127.12/24}, bmc: {address: 192.0.2.2, system: "1", credentials: {env: BMC}}}
`

// Clusters are files that say everything, by name.
func Clusters() map[string]string {
	return map[string]string{"every-field": EveryField(), "every-other-field": EveryOtherField, "external": External, "imported": Imported}
}
