package listener

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// connectionFields are what is said of a connection that never came to a request.
var connectionFields = map[string]string{
	"time":           "%START_TIME%",
	"client":         "%DOWNSTREAM_REMOTE_ADDRESS%",
	"listener":       "%LISTENER_NAME%",
	"server_name":    "%REQUESTED_SERVER_NAME%",
	"tls_version":    "%DOWNSTREAM_TLS_VERSION%",
	"tls_failure":    "%DOWNSTREAM_TRANSPORT_FAILURE_REASON%",
	"client_subject": "%DOWNSTREAM_PEER_SUBJECT%",
	"details":        "%CONNECTION_TERMINATION_DETAILS%",
	"response_flags": "%RESPONSE_FLAGS%",
	"duration_ms":    "%DURATION%",
}

const connectionLine = `[%START_TIME%] "%LISTENER_NAME%" "%REQUESTED_SERVER_NAME%" %RESPONSE_FLAGS% %DURATION% ` +
	`"%DOWNSTREAM_REMOTE_ADDRESS%" "%DOWNSTREAM_TRANSPORT_FAILURE_REASON%" "%CONNECTION_TERMINATION_DETAILS%"`

// connectionLogs writes down the connections of a port with TLS that fail before a request. Nothing else would tell of them.
func connectionLogs(port ir.Port) []*accesslogv3.AccessLog {
	if !port.Protocol.ChoosesByName() {
		return nil
	}
	return logs(port, func(ir.AccessLog) line {
		return line{fields: connectionFields, text: connectionLine, only: failedConnection}
	})
}
