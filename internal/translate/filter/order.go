package filter

// order is every HTTP filter, in the order in which a request passes them. A response passes them backwards.
var order = []Filter{
	// Health checks of load balancers have no host that a route serves, and no credentials.
	healthCheck,
	// It chooses the virtual host, and so what all others are configured with.
	findHost,
	// It sees a response behind all filters that may write one of Envoy's headers.
	hideEnvoy,
	// It stands before everything that sends a request somewhere, so that one which loops reaches no authorization server.
	loops,
	// They may change which route a request takes, so they stand before the filters that are configured by the route.
	beforeRouting,
	// It sees a response behind all that may write one, authorization too.
	responseOverride,
	// It answers preflights. They come without credentials, so an authorization server would refuse them.
	cors,
	// It makes gRPC of gRPC-Web, so that what comes behind it, authorization servers too, sees gRPC alone.
	grpcWeb, grpcWebEverywhere,
	// They may change which route a request takes as well, so what the other route asks for is checked behind them. They have credentials to
	// check, which preflights do not have.
	extAuthBeforeRouting, jwtBeforeRouting,
	// What comes from another origin needs no credentials to be refused.
	csrf,
	// A request that is refused needs no session.
	externalAuth,
	// Clients prove who they are before rules look at that.
	apiKeyAuth, basicAuth, oidc, jwt, anyAuth,
	// It writes headers for the filter behind it, which no filter in between can change.
	geoIP,
	// It looks at the claims of tokens that are verified by now.
	authorization,
	// Only requests that may pass count.
	localRateLimit,
	// What a proxy refuses by itself is not asked about.
	globalRateLimit,
	// What is limited is no failure of the backend.
	admissionControl,
	// They see a response behind all that may read its body.
	firstCompressor, secondCompressor, thirdCompressor,
	// Code of users sees what is authorized, and changes what the backend gets.
	extensions,
	// It stands for faults of the backend, so it sees what a backend would see.
	fault,
	// They count what a backend gets and sends.
	requestBandwidth, responseBandwidth,
	// It holds a request that is otherwise ready to be sent.
	buffer,
	// It sees what the backend gets, and chooses the endpoint for the route that is chosen by now.
	endpointPicker,
	// It does the same, where there is no picker.
	session,
	// It sees a response before everything else: what endpoints say of their load is for proxies alone.
	loadReports,
	// It ends the chain: what stood behind it would see no request.
	router,
}
