// Package serve is the media server: it hands every machine its own image over
// HTTP or HTTPS, and knows who has fetched what, and how far.
//
//	/i/ID.iso                     a host's ISO
//	/n/ID/kernel, initrd, rootfs  a host's netboot files
//	/n/ID/ipxe                    the iPXE script that boots them
//	/n/ID/generic.ins, generic.prm, initrd.addrsize   what s390x wants beside them
//	/rootfs/ID.img                a root filesystem that minimal ISOs share
//	/ipxe/ID?mac=MAC              the script of the host with that MAC; without one, a script that asks for it
//	/metrics                      counters for Prometheus
//
// An ID is an HMAC of the host's name: short, because some BMCs refuse long
// URLs, the same after a restart under the same key, and not to be guessed.
// Whatever is not found, the answer is the same 404.
//
// Images are extents over a base file: a server of fifty hosts holds one base
// on disk and some kilobytes a host in memory.
package serve
