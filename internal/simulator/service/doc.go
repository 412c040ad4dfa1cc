// Package service is the service half of the simulator: an assisted-service
// (REST v2) that lives in the process. It keeps its clusters, infra-envs and
// hosts in memory, speaks HTTP exactly as the real service does, and knows
// nothing of the machines but what they post.
//
// All state hangs on one Service under one lock. A handler runs under the lock
// and returns values that are encoded after it is released; the monitor (Run)
// takes the same lock once per tick.
package service
