package manifest

func (r *reader) ztp(in *input)              {}
func (r *reader) clusterInstances(in *input) {}
func (r *reader) aicli(in *input)            {}
func (r *reader) capi(in *input)             {}
func isAICLI(n *node) bool                   { return false }
