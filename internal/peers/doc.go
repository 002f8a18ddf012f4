// Package peers lets every replica of the control plane know what the proxies of the others have acknowledged and refused: each shows a board of its own proxies
// ([Board]), and follows those of the others ([Follower]). The boards travel as resources of delta xDS, in the message that Envoy's client status
// service uses for the same purpose.
// It must not know what is done with that knowledge.
package peers
