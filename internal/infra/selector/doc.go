// Package selector keeps a headless Service for each XBackend and InferencePool that selects pods by labels, so that Kubernetes finds them
// (GEP-4894).
// Enter at [New]; the pipeline sets what is wanted, and [ServiceReconciler.Start] does it while this replica leads.
// It must not know what becomes of the endpoints, which have a lane of their own.
package selector
