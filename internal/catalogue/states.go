package catalogue

// states are the statuses of clusters and hosts.
func states() []StateEntry {
	all := clusterStates()
	for _, part := range [][]StateEntry{hostsBeforeInstall(), hostsFromInstall(), hostsOfPools()} {
		all = append(all, part...)
	}
	return all
}
