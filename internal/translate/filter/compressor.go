package filter

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	brotliv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/brotli/compressor/v3"
	gzipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/gzip/compressor/v3"
	zstdv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/zstd/compressor/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	compressorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/compressor/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Compressor is the first part of the names of the filters that compress responses, one for each that a policy can ask for. Envoy takes
// from no route how long a response must be, so a route brings the filter along.
const Compressor = "gatewright.compressor."

var (
	firstCompressor  = compressor(0, "first")
	secondCompressor = compressor(1, "second")
	thirdCompressor  = compressor(2, "third")
)

func compressor(place int, name string) Filter {
	return byPolicy(Filter{Name: Compressor + name, OnDemand: true, Listener: everywhere(&compositev3.Composite{})},
		func(p *ir.RequestPolicy) (proto.Message, bool) {
			if place >= len(p.Compressors) {
				return nil, false
			}
			return runs("envoy.filters.http.compressor", compress(p.Compressors[place], place == 0)), true
		})
}

func compress(c ir.Compressor, first bool) *compressorv3.Compressor {
	common := &compressorv3.Compressor_CommonDirectionConfig{}
	if c.MinLength > 0 {
		common.MinContentLength = wrapperspb.UInt32(c.MinLength)
	}
	config := &compressorv3.Compressor{
		ChooseFirst:             first,
		ResponseDirectionConfig: &compressorv3.Compressor_ResponseDirectionConfig{CommonConfig: common},
	}
	library := &corev3.TypedExtensionConfig{Name: "gzip", TypedConfig: wire.Any(&gzipv3.Gzip{})}
	switch c.Type {
	case "Brotli":
		library = &corev3.TypedExtensionConfig{Name: "brotli", TypedConfig: wire.Any(&brotliv3.Brotli{})}
	case "Zstd":
		library = &corev3.TypedExtensionConfig{Name: "zstd", TypedConfig: wire.Any(&zstdv3.Zstd{})}
	}
	config.CompressorLibrary = library
	return config
}
