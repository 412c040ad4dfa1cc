package explain

// Lookup returns the first of the entries that Find finds.
func Lookup(kind Kind, name string) (Entry, bool) {
	found := Find(kind, name)
	if len(found) == 0 {
		return Entry{}, false
	}
	return found[0], true
}

// Stages are the stages of a path in their order. Copying registry data to
// disk is on most paths and is passed over at once where there is no registry
// on the discovery image.
func Stages(path Path) []StageEntry {
	stages, err := of(KindStage).readPaths(texts)
	if err != nil {
		panic("catalogue: " + err.Error())
	}
	var found []StageEntry
	for _, name := range stages[path] {
		if s, ok := Stage(name); ok {
			found = append(found, s)
		}
	}
	return found
}
