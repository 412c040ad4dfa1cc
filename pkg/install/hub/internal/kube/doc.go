// Package kube speaks to the API server of a hub. It knows the kinds of objects that
// an install consists of and who owns their fields, and nothing of what is decided.
package kube
