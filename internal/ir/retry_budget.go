package ir

import "time"

// RetryBudget bounds how many requests to a backend may be retries, so that retries do not bury a backend that is in trouble.
type RetryBudget struct {
	// Percent of the requests of the last Interval may be retries at a time.
	Percent  uint32
	Interval time.Duration
	// Minimum is how many may always be.
	Minimum uint32
	// Origin is the object that the budget comes from.
	Origin ObjectRef
}
