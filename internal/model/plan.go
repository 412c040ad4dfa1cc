package model

// Scope says what an action, a wait or a blocker is about: "cluster",
// "infraenv/NAME", "host/NAME" or "node/NAME".
type Scope string

// ScopeCluster is the scope of the cluster as a whole.
const ScopeCluster Scope = "cluster"

// HostScope is the scope of one host by its name in cluster.yaml.
func HostScope(name string) Scope { return Scope("host/" + name) }

// InfraEnvScope is the scope of one InfraEnv.
func InfraEnvScope(name string) Scope { return Scope("infraenv/" + name) }

// Who must act for a wait to end.
type Who string

// Who a wait is for.
const (
	WhoService Who = "service"
	WhoMachine Who = "machine"
	WhoUser    Who = "user"
)

// Cure says who can remove a blocker, which decides how long it is waited for.
type Cure string

// The cures of a blocker.
const (
	CureFile   Cure = "file"   // only a changed cluster.yaml: exit 6 after standing five minutes
	CureNow    Cure = "now"    // only a changed cluster.yaml or flag, and known at once: exit 3
	CurePerson Cure = "person" // somebody at a machine or the network: exit 9 after --user-timeout
	CureOwner  Cure = "owner"  // the object is someone else's or ambiguous: exit 5
	CureAuth   Cure = "auth"   // credentials: exit 4
	CureNone   Cure = "none"   // nothing will cure it by itself: exit 1
)
