package app

import (
	"log/slog"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gatewright/gatewright/internal/identity"
)

// tokenKeys is where the keys are published that tokens are signed with. It is nil if the address of the API server is not known; then
// the API server reviews each token.
func tokenKeys(mgr manager.Manager, log *slog.Logger) identity.KeySource {
	address, _, err := rest.DefaultServerUrlFor(mgr.GetConfig())
	if err != nil {
		log.Warn("cannot fetch the keys that sign tokens", "error", err)
		return nil
	}
	return identity.PublishedKeys(mgr.GetHTTPClient(), address.JoinPath(identity.KeysPath).String())
}
