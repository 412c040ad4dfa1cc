// Package validate judges clusters and hosts as the service does: its
// validations, and what they rest on, which are the needs of roles, the networks
// of hosts, and who reaches whom. It looks at the model and writes no event.
package validate
