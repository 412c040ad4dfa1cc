// Package kubectl tests oaictl as a plugin of kubectl: the real kubectl, a real API
// server, the built program under its plugin names, and the simulated operators of
// a hub that the program itself plays.
package kubectl
