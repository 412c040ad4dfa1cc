// Package rest is the service plane over the assisted-service REST API, v2: the
// hosted service, one that runs on premises, or the one inside agent-based
// installation media.
//
// A [Plane] is an [install.Backend]. It sends no field that nobody asked for, since
// services reject fields that they do not know, and reads answers with fields that
// it does not know itself.
//
// Requests go through the generated client's parameters, models and transport.
// internal/transport deals, for all of them alike, with authorisation, retries, the
// two shapes of error that the service has, and answers that are none.
// internal/objects says which fields of the service hold which setting.
//
// Polling is cheap: an observation asks the service's event log whether
// anything happened and reads again only what an event or an own write
// concerns, under a budget of requests per minute of the service's time.
package rest
