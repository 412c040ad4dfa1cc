package manifest

// LostBy is what a format has no place for, for the tests.
func LostBy(format string) map[string]string {
	switch format {
	case "ztp":
		return lostByZTP()
	case "agent":
		return lostByAgent()
	default:
		return lostByClusterInstance()
	}
}
