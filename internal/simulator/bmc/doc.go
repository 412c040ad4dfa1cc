// Package bmc simulates the management controllers of machines: Redfish (DMTF
// DSP0266) over HTTP and HTTPS, in the dialects of several makers, with their
// sessions, power, boot overrides and virtual media. A machine (package host)
// sees nothing of Redfish: it is told when it is switched, and what its firmware
// finds to boot, which the controller reads over HTTP in ranges.
//
// One listener answers for all controllers. It is a forward proxy that leads to
// nothing but them, so that a file with the addresses of real ones works as it is.
package bmc
