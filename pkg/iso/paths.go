package iso

// Where the files of a live image stand, since 2020 in all generations that have them.
const (
	igninfoPath  = "coreos/igninfo.json"
	kargsPath    = "coreos/kargs.json"
	featuresPath = "coreos/features.json"
	minisoPath   = "coreos/miniso.dat"

	ignitionPath  = "images/ignition.img"
	initrdPath    = "images/pxeboot/initrd.img"
	rootfsPath    = "images/pxeboot/rootfs.img"
	kernelPath    = "images/pxeboot/vmlinuz"
	kernelPathZ   = "images/pxeboot/kernel.img" // s390x
	cdbootPath    = "images/cdboot.img"         // s390x: kernel, arguments, initrd and Ignition area in one
	customPath    = "images/assisted_installer_custom.img"
	nmstatectlImg = "images/nmstate.img"
)

// Where the live system looks in the archives that the kernel unpacked.
const (
	configMember   = "config.ign"
	keyfileDir     = "etc/coreos-firstboot-network/"
	initrdIDMember = "etc/coreos-live-initramfs"
	rootfsIDMember = "etc/coreos-live-rootfs"
	rootfsHashes   = "etc/coreos-live-want-rootfs"
)
