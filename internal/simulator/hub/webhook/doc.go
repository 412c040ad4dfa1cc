// Package webhook has the verdicts of the service's and Hive's admission webhooks
// on the objects of a hub, and what they fill in.
package webhook
