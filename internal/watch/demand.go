package watch

// demanding starts to watch the kinds that a change needs, before it passes on the change.
func (w *Watcher) demanding(sink func(Event)) func(Event) {
	return func(e Event) {
		for _, f := range w.optional {
			if f.kind.NeededBy != nil && f.served() == "" && f.kind.NeededBy(e.Change) {
				f.setServedVersion(f.kind.Versions[0])
			}
		}
		sink(e)
	}
}
