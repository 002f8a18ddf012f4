package xds

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errOtherOwner ends and rejects the streams of a proxy whose Gateway is not the one that has the name now.
var errOtherOwner = status.Error(codes.PermissionDenied, "the proxy belongs to an earlier Gateway of this name, which is gone")

// Own sets the owner of a group, by the UID of the Gateway that has its name. Streams of proxies with another owner end, and they open no
// more. Call it before changes of the new owner: a group is found by name, so they would get these. Without an owner all streams stay,
// which is for Gateways that are gone: their proxies learn that nothing is left.
func (c *Cache) Own(id GroupID, owner string) {
	g := c.lockGroup(id)
	defer c.unlockGroup(g)
	g.owner = owner
	for s := range g.streams {
		if !g.ownedLike(s) {
			delete(g.streams, s)
			s.close()
			s.end(errOtherOwner)
		}
	}
}

// ownedLike reports whether the proxy of a stream belongs to the owner of the group. It is called with the group locked.
func (g *group) ownedLike(s *stream) bool { return g.owner == "" || g.owner == s.owner }
