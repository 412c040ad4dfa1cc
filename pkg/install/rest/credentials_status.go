package rest

// handsOutNoIngress says whether the first kubeconfig and the password exist in
// a status: from the moment that the install runs. They may be there in a
// failed or cancelled install too, but need not.
func handsOutNoIngress(status string) bool {
	switch status {
	case "installing", "installing-pending-user-action", "finalizing", "installed", "adding-hosts":
		return true
	}
	return false
}
