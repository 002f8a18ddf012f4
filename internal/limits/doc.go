// Package limits is how much a tenant may take of what all tenants share. The operator may change every number.
// Enter at [Defaults] and [Limits.Set]; [Find] says who is beyond a budget.
// It must not know what is counted, or where.
package limits
