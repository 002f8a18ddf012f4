package listener

import (
	"slices"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// TestEveryValueOfTheAPIIsTranslated: a value that is not known would silently mean the default.
func TestEveryValueOfTheAPIIsTranslated(t *testing.T) {
	t.Parallel()
	prototest.CheckAPIValues(t, map[string]func(value string) bool{
		"EscapedSlashesAction":  func(v string) bool { _, ok := escapedSlashes[v]; return ok },
		"WithUnderscoresAction": func(v string) bool { _, ok := underscores[v]; return ok },
		"XFCCMode":              func(v string) bool { _, ok := forwardModes[v]; return ok },
		"XFCCCertData": func(v string) bool {
			manager := &hcmv3.HttpConnectionManager{}
			forwardCertificates(manager, &ir.ClientHeaders{ForwardedDetails: []string{v}})
			return proto.Size(manager.GetSetCurrentClientCertDetails()) > 0
		},
		// Auto is not in the IR.
		"TLSVersion": func(v string) bool { _, ok := tlsVersions[v]; return ok || v == string(v1alpha1.TLSAuto) },
		"RequestIDAction": func(v string) bool {
			return slices.Contains([]string{
				ir.RequestIDGenerate, ir.RequestIDPreserve, ir.RequestIDPreserveOrGenerate, ir.RequestIDDisable,
			}, v)
		},
		"AccessLogType": func(v string) bool {
			return slices.Contains([]ir.AccessLogType{ir.LogJSON, ir.LogText, ir.LogOTLP}, ir.AccessLogType(v))
		},
	})
}
