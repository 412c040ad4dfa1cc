// Package iso9660 reads the structures of a bootable ISO image, and says which bytes to change so that one file lies
// elsewhere. It never rebuilds a filesystem: boot code, partition tables and boot catalogs hold places of the image,
// and only an image whose other bytes stay where they are keeps booting everywhere.
//
// It knows the volume descriptors, directory records and Joliet names of ECMA-119, the names of Rock Ridge (IEEE
// P1281/P1282), the El Torito boot catalog, the MBR and the GPT. All offsets are 64-bit and in bytes unless they are
// called sectors (2048 bytes) or blocks (512 bytes). Directories that Rock Ridge moved because they lie deeper than
// eight levels (its CL entry) are not followed.
//
// An image is untrusted: what it says of places and sizes is held against its length before it is used, and an error
// names the place that is wrong.
package iso9660
