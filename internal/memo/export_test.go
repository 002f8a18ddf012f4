package memo

// Entries is the number of recorded reads that are kept, stale ones included.
func (g *Graph) Entries() int { return g.readers.entries }
