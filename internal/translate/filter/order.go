package filter

// order is every HTTP filter, in the order in which a request passes them. A response passes them backwards.
var order = []Filter{
	// It chooses the virtual host, and so what all others are configured with.
	findHost,
	// It sees a response behind all filters that may write one of Envoy's headers.
	hideEnvoy,
	// It stands before everything that sends a request somewhere, so that one which loops reaches no authorization server.
	loops,
	// They may change which route a request takes, so they stand before the filters that are configured by the route.
	beforeRouting,
	// It answers preflights. They come without credentials, so an authorization server would refuse them.
	cors,
	// It makes gRPC of gRPC-Web, so that what comes behind it, authorization servers too, sees gRPC alone.
	grpcWeb,
	// A request that is refused needs no session.
	externalAuth,
	// It chooses the endpoint for the route that is chosen by now.
	session,
	// It ends the chain: what stood behind it would see no request.
	router,
}
