package command

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, wrong := range map[string]string{
		"100%% plain":                       "",
		"%RESPONSE_CODE% %REQ(x-a?y-b):40%": "",
		"%START_TIME(%Y/%m/%dT%H:%M:%S%z)% %START_TIME(%s.%3f)%":                "",
		"%GRPC_STATUS% %GRPC_STATUS(NUMBER)% %GRPC_STATUS_NUMBER%":              "",
		"%DOWNSTREAM_TRANSPORT_FAILURE_REASON%":                                 "",
		"%UPSTREAM_WIRE_BYTES_SENT%":                                            "",
		"%PATH(NQ:ORIG)% %PATH(WQ):80% %PATH%":                                  "",
		"%QUERY_PARAM(page):10%":                                                "",
		"%DYNAMIC_METADATA(envoy.filters.http.ext_authz:user):20%":              "",
		"%COMMON_DURATION(US_TX_BEG:US_RX_BEG:ms)%":                             "",
		"%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT(24)%":                          "",
		"%REQUESTED_SERVER_NAME(SNI_FIRST:HOST)%":                               "",
		"%ENVIRONMENT(TOKEN)%":                                                  "is not served",
		"%FILE_CONTENT(/etc/passwd)%":                                           "is not served",
		"%SECRET(key)%":                                                         "is not served",
		"%CEL(request.headers)%":                                                "is not served",
		`%COALESCE({"operators": [{"command": "ENVIRONMENT", "param": "A"}]})%`: "is not served",
		"%DOWNSTREAM_TLS_SESSION_ID%":                                           "is not served",
		"%REQ%":                                                                 "is not served",
		"%REQ(a b)%":                                                            "is not served",
		"%RESPONSE_CODE(1)%":                                                    "is not served",
		"%RESPONSE_CODE:3%":                                                     "is not served",
		"%START_TIME(%n)%":                                                      "is not served",
		"%PATH(XQ)%":                                                            "is not served",
		"%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT(129)%":                         "is not served",
		"%COMMON_DURATION(A:B:ms)%":                                             "is not served",
		"%BOGUS%":                                                               "is not served",
		"%BOGUS(%":                                                              "is not complete",
		"50% off":                                                               "is not complete",
		"%":                                                                     "is not complete",
	} {
		got := Check("accessLogs[0].format", format)
		if (got == "") != (wrong == "") || !strings.Contains(got, wrong) {
			t.Errorf("%q: %q, want %q", format, got, wrong)
		}
	}
}

func TestCommandsDiffer(t *testing.T) {
	t.Parallel()
	for name, command := range ir.LogCommands {
		if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || command.Needed && command.Argument == "" {
			t.Errorf("%s: %v", name, command)
		}
	}
}

func TestFormatOfTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                                "plain",
		"<b style='width: 100%; height: 50%'>": "<b style='width: 100%%; height: 50%%'>",
		"%REQ(x-a)% and %%":                    "%REQ(x-a)% and %%",
		"50% off %RESPONSE_CODE%":              "50%% off %RESPONSE_CODE%",
		"%20%2F":                               "%%20%%2F",
		"%":                                    "%%",
		"%ENVIRONMENT(TOKEN)%":                 "",
		"%FILE_CONTENT(/etc/passwd)%":          "",
		"%REQ(a":                               "",
		"%BOGUS%":                              "",
	} {
		got, message := Format("body", text)
		if got != want || (message == "") != (want != "") {
			t.Errorf("%q: %q, %q", text, got, message)
		}
		if wrong := Check("body", got); wrong != "" {
			t.Errorf("%q becomes %q, which Envoy does not take: %s", text, got, wrong)
		}
	}
}
