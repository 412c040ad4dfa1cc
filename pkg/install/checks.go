package install

// clusterChecks explains the validations that stand in the way of the install.
func (p *planner) clusterChecks() {}
