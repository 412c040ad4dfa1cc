// Package assisted speaks to the assisted-service behind a simulated hub: its
// client, and what the operators read of its answers.
package assisted
