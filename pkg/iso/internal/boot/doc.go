// Package boot proves that customised media boot: its tests make a small live
// image from Debian's packages, give it an Ignition config, network files and
// kernel arguments, and boot it on emulated machines in every way that firmware
// knows.
package boot
