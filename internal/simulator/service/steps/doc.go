// Package steps tells the agents of hosts what to do next: what to find out, what
// to prepare, and how to install.
package steps
