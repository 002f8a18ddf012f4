package ir

import "time"

// LocalRateLimit bounds how many requests pass each proxy.
type LocalRateLimit struct {
	Rules []RateRule
	// Guard is Broken where the limits cannot be served, so that no request may pass.
	Guard Guard `json:",omitempty"`
}

// RateRule lets so many requests pass in each unit of time: those that meet all conditions.
type RateRule struct {
	Requests uint32
	Unit     time.Duration
	Matches  []RateMatch
	// Shadow lets all requests pass.
	Shadow bool
	// Cost is how much a request counts, nil for 1.
	Cost *RateCost
	// Headers tell clients how much is left.
	Headers bool
}

// RateCost is a number, or Format is a format of Envoy for it.
type RateCost struct {
	Number uint64
	Format string
}

// RateMatch is one condition. Exactly one of Header, Query and CIDR is set.
type RateMatch struct {
	Header, Query, CIDR string
	Match               StringMatch
	// Distinct has a limit for each value.
	Distinct, Invert bool
}

// Fault delays or aborts a part of the requests. Parts are of a million.
type Fault struct {
	Delay      time.Duration
	DelayPart  uint32
	HTTPStatus uint32
	// GRPCStatus is nil where there is none.
	GRPCStatus *uint32
	AbortPart  uint32
}

// Compressor compresses responses of at least MinLength bytes. Type is Gzip, Brotli or Zstd.
type Compressor struct {
	Type      string
	MinLength uint32
}

// Bandwidth is how many KiB of bodies pass in each second, 0 for no limit.
type Bandwidth struct {
	Request, Response uint64
	// Trailers tell clients by how much a response was delayed; their names begin with TrailerPrefix.
	Trailers      bool
	TrailerPrefix string
}

// AdmissionControl rejects a part of the requests while many of them fail. Rates are in percent.
type AdmissionControl struct {
	Window                       time.Duration
	MinSuccess, MaxRejection     uint32
	Aggression, RequestsInSecond uint32
	// Codes and GRPCCodes are a success, none for Envoy's own choice.
	Codes, GRPCCodes []uint32
}
