package cluster

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// An endpoint is ejected after so many failures to connect, timeouts and resets in a row, with no request sent to it in between.
	failuresInARow = 10
	// ejectionTime is how long it stays ejected, times the number of ejections in a row, up to longestEjection.
	ejectionTime, longestEjection = 10 * time.Second, time.Minute
	// ejectionInterval is how often Envoy looks for endpoints whose time is over.
	ejectionInterval = 10 * time.Second
	// mostEjected of the endpoints of a backend may be ejected: one of two, and never the only one.
	mostEjected = 50
)

// defaultOutlierDetection ejects endpoints that cannot be reached.
func defaultOutlierDetection() *clusterv3.OutlierDetection {
	return &clusterv3.OutlierDetection{
		// Only what happens on the way to an endpoint counts. What it answers, 503 included, does not.
		SplitExternalLocalOriginErrors:  true,
		ConsecutiveLocalOriginFailure:   wrapperspb.UInt32(failuresInARow),
		Interval:                        durationpb.New(ejectionInterval),
		BaseEjectionTime:                durationpb.New(ejectionTime),
		MaxEjectionTime:                 durationpb.New(longestEjection),
		MaxEjectionPercent:              wrapperspb.UInt32(mostEjected),
		EnforcingConsecutive_5Xx:        wrapperspb.UInt32(0),
		EnforcingSuccessRate:            wrapperspb.UInt32(0),
		EnforcingLocalOriginSuccessRate: wrapperspb.UInt32(0),
	}
}
