// Package selector has Kubernetes find the pods that XBackends choose by labels, by means of headless Services that nobody else uses (GEP-4894).
// Enter at [New]; the pipeline says what is wanted, and [Keeper.Start] does it while this replica leads.
// It must not know what becomes of the endpoints, which have a lane of their own.
package selector
