// Package authority keeps the certificate authority of xDS in one Secret: the leader makes and rotates it, every replica reads it.
// Enter at [Source], which holds what is known here, [Follower], which every replica runs, and [CARotator], which the leader runs.
// It must not know how certificates are made, or who asks for them.
package authority
