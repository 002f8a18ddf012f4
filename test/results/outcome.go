package main

import "slices"

// failures lists what failed by itself: not the tests that failed only because a subtest did, nor the packages that failed only because
// a test did. A package that died is listed even if it was run once more and passed then: tests that had not begun were not run again.
func (r *results) failures() []id {
	var failed []id
	for _, key := range r.order {
		a := r.current(key)
		switch {
		case key.test == "":
			if r.dead(key.pkg) != nil || a.outcome == "fail" && !r.anyTestFailed(key.pkg) {
				failed = append(failed, r.lastRunning(key))
			}
		case a.outcome == "fail" && r.explains(key):
			failed = append(failed, key)
		}
	}
	return failed
}

// dead returns the first run of a package that did not get to the end of its tests, if there is one.
func (r *results) dead(pkg string) *attempt {
	for _, a := range r.attempts[id{pkg: pkg}] {
		if a.died() {
			return a
		}
	}
	return nil
}

func (r *results) anyTestFailed(pkg string) bool {
	return slices.ContainsFunc(r.order, func(key id) bool {
		return key.pkg == pkg && key.test != "" && r.current(key).outcome == "fail"
	})
}

// explains returns whether a failed test is worth a mention of its own: it printed an error, or neither a subtest of it failed nor its
// package died, which is then what explains it.
func (r *results) explains(key id) bool {
	a := r.current(key)
	if len(a.errors) > 0 || alarm(a.lines) >= 0 && r.dead(key.pkg) == nil {
		return true
	}
	return r.dead(key.pkg) == nil && !slices.ContainsFunc(r.order, func(other id) bool {
		return key.contains(other) && r.current(other).outcome == "fail"
	})
}

// lastRunning returns the one test that ran when its package died, or the package where several did.
func (r *results) lastRunning(pkg id) id {
	var running []id
	for _, key := range r.order {
		a := r.current(key)
		if key.test == "" || key.pkg != pkg.pkg || a.paused || a.outcome != "" && a.outcome != "fail" || len(a.errors) > 0 {
			continue
		}
		running = slices.DeleteFunc(running, func(other id) bool { return other.contains(key) })
		running = append(running, key)
	}
	if len(running) == 1 {
		return running[0]
	}
	return pkg
}

// flaky lists the tests that failed by themselves and passed when they were run once more.
func (r *results) flaky() []id {
	var flaky []id
	for _, key := range r.order {
		all := r.attempts[key]
		if key.test != "" && len(all) > 1 && all[0].outcome == "fail" && r.current(key).outcome == "pass" {
			flaky = append(flaky, key)
		}
	}
	return slices.DeleteFunc(slices.Clone(flaky), func(key id) bool {
		return len(r.attempts[key][0].errors) == 0 && slices.ContainsFunc(flaky, key.contains)
	})
}
